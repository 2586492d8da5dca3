"""Scores by sentence, length, word and n-gram; word alignments (NumPy and sacreBLEU only)."""
