"""Words, n-grams and groups of sentences that systems get right."""
