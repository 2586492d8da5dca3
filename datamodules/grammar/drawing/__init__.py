"""Random sentences, as meanings."""
