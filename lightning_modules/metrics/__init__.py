"""Translation scores, scores by sentence length, and word alignments (NumPy and sacreBLEU only)."""
