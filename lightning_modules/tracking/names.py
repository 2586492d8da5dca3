"""What is logged, and against what each metric is drawn."""

from collections.abc import Iterable

import wandb

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
    "val/loss",
    "val/bleu",
    "attention/validation",
)
BY_LENGTH = (f"{CURVE}/bleu", f"{CURVE}/sentences")

TRIAL_BLEU = "trial/bleu"
"""In the summary of a trial of a study."""


def define_metrics(run: wandb.Run) -> None:
    """Say against what each metric is drawn. By exact names: of patterns, W&B takes any."""
    run.define_metric(STEP, hidden=True)
    for name in BY_STEP:
        run.define_metric(name, step_metric=STEP, step_sync=False)
    define_curves(run, BY_LENGTH)


def define_curves(run: wandb.Run, names: Iterable[str]) -> None:
    """Draw metrics against length; their last value says nothing about a run."""
    run.define_metric(LENGTH, hidden=True, summary="none")
    for name in names:
        run.define_metric(name, step_metric=LENGTH, step_sync=False, summary="none")
