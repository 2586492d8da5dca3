"""Words and n-grams that a system gets right."""
