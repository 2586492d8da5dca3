"""The import of W&B, before the packages that make it slow."""

from importlib import import_module

WANDB = "lightning_modules.tracking.trackers.wandb_tracker.WandbTracker"
"""The logger that makes W&B runs and takes reports."""


def import_wandb_early(logger: str | None) -> None:
    """Import what W&B imports at the start of a run, if ``logger`` is the class for W&B.

    Classes of W&B look for their own source among all loaded modules. So the import takes 0.6 s
    before torch and Lightning, and 0.9 to 1.2 s after them.
    """
    if logger == WANDB:
        import_module("wandb.sdk.launch.inputs.internal")
