"""Comparison of several runs: labels, conditions of fairness, learning curves, costs."""
