"""Read corpora and make padded batches of token numbers."""
