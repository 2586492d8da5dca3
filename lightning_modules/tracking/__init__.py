"""Weights & Biases: online where that works at once, else offline, and never in training's way."""

from lightning_modules.tracking.attention_maps import AttentionMaps
from lightning_modules.tracking.results import log_test
from lightning_modules.tracking.start import wandb_logger
from lightning_modules.tracking.tracker import Tracker

__all__ = ["AttentionMaps", "Tracker", "log_test", "wandb_logger"]
