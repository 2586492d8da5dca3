"""Corpora in, padded batches of token numbers out."""
