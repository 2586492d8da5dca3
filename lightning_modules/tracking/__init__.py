"""Weights & Biases: online where that works at once, else offline, and never in training's way."""
