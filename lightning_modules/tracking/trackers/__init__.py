"""Trackers: what each can take, W&B's, and that of any Lightning logger."""
