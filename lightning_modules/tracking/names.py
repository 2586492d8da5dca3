"""Names of the logged metrics, and the x-axis of each metric."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lightning_modules.runs.job import label_of, label_with_changes
from lightning_modules.runs.settings import labelling_overrides

if TYPE_CHECKING:  # slow to import, and not every run is tracked
    import wandb

    from lightning_modules.metrics.bootstrap import Estimate
    from lightning_modules.runs.schema import Data

STEP = "trainer/global_step"
CURVE = "bleu_by_length"
LENGTH = f"{CURVE}/length"
BY_STEP = (
    "train/loss",
    "train/learning_rate",
    "train/teacher_forcing",
    "train/gradient_norm",
    "train/target_tokens",
    "train/target_tokens_per_second",
    "train/peak_memory_mib",
    "train/peak_device_memory_mib",
    "data/waited",
    "val/loss",
    "val/bleu",
    "learning/val_loss",
    "attention/validation",
)
BY_LENGTH = (f"{CURVE}/bleu", f"{CURVE}/sentences")

TRIAL_BLEU = "trial/bleu"  # name of a trial's BLEU in the summary of its run
MEASURES = {
    "val/bleu": "validation BLEU",
    "learning/val_loss": "learning curve: validation loss (nats per token)",
    "val/loss": "validation loss (nats per token)",
    "train/loss": "training loss (nats per token)",
    "train/learning_rate": "learning rate",
    "train/gradient_norm": "gradient norm",
    "train/target_tokens_per_second": "target tokens/s",
}
"""Measures of the runs that a W&B report draws against updates, with their titles."""
FAILURES = {
    "failures/long": "too long or looping",
    "failures/short": "too short",
    "failures/unknown": "unknown word",
    "failures/wrong": "wrong words",
}
"""Shares of the test translations that fail, in %, by the kinds of ``metrics.failures``."""
UPLOADED = (
    "settings, scores, curves, figures, the log, and the page, with sentences of validation and "
    "test set and their translations; no code, and of the training text only examples of cleaning"
)
"""What a server of W&B gets of runs and comparisons; docs/how_to/tracking.md has the list."""
MEDIA = {
    "attention/test": "where each model looks when it translates",
    "attention/validation": "attention as it forms, at each validation",
}
"""Heat maps of the runs that a W&B report shows side by side, with their titles."""
WANDB = "lightning_modules.tracking.wandb_logger.FailsafeWandbLogger"
"""Class of the logger that makes W&B runs; it alone takes comparisons and reports."""
PICTURES, TABLES, PAGE = "figures", "tables", "report"
"""Names under which the figures, the tables and the page of a report are logged."""
LONGEST_TAG = 64  # W&B refuses longer tags


def is_wandb(logger: Mapping[str, Any]) -> bool:
    """Return whether the group ``logger`` of the configuration names W&B's logger."""
    return logger.get("_target_") == WANDB


def tracked_system(variant: str, overrides: Sequence[str], config: Mapping[str, Any]) -> str:
    """Return ``system`` of a run's configuration in the tracker, equal for all seeds of a system.

    That is the variant's label, and the overrides that affect its results.
    """
    label = label_of(variant, overrides, config)
    return label_with_changes(label, overrides, labelling_overrides(overrides, variant))


def tag_of(comparison: str) -> str:
    """Return the tag by which the runs of a comparison are found; its end is a hash."""
    return comparison[-LONGEST_TAG:]


def with_interval(name: str, estimate: "Estimate", bucket: str = "") -> dict[str, float]:
    """Return a score and the ends of its interval, if known, by the names of metrics.

    ``bucket`` is the name of a length bucket: ``test/bleu_low/11–20 words``.
    """
    parts = {"": estimate.value, "_low": estimate.low, "_high": estimate.high}
    at = f"/{bucket}" if bucket else ""
    return {f"{name}{part}{at}": value for part, value in parts.items() if value is not None}


def define_metrics(run: "wandb.Run") -> None:
    """Set the x-axis of each metric. Names are exact: W&B may use any pattern that matches."""
    run.define_metric(STEP, hidden=True)
    for name in BY_STEP:
        run.define_metric(name, step_metric=STEP, step_sync=False)
    # Without a summary: the last value of a curve means nothing.
    run.define_metric(LENGTH, hidden=True, summary="none")
    for name in BY_LENGTH:
        run.define_metric(name, step_metric=LENGTH, step_sync=False, summary="none")


def data_values(data: "Data") -> dict[str, float]:
    """Return the numbers that sum up a corpus, by the names of metrics; none without statistics.

    Padding and unknown tokens are shares, from 0 to 1.
    """
    found = data.statistics
    if found is None:
        return {}
    return {
        "data/pairs_read": found.pairs_read,
        "data/pairs_per_second": found.pairs_per_second,
        "data/leaked": found.leaked,
        **{f"data/{split}/pairs": count for split, count in data.pairs.items()},
        **{f"data/padding/{side}": share for side, share in data.padding.items()},
        **{
            f"data/{split}/{name}/{side}": value
            for split, sides in found.splits.items()
            for side, each in sides.items()
            for name, value in (
                ("mean_words", each.in_words.mean),
                ("types", each.types),
                ("unknown", each.unknown_share),
            )
        },
    }
