"""The morphology of each language."""
