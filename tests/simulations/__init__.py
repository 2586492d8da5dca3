"""Claims of known truth."""
