"""Callbacks of the training loop: budget, history, progress, checkpoints, examples."""

from lightning_modules.training.callbacks.budget import TrainingBudget, budget_of
from lightning_modules.training.callbacks.progress import (
    ExampleTranslations,
    History,
    ProgressFile,
    ProgressLines,
    enter_phase,
)
from lightning_modules.training.callbacks.resume import ResumeCheckpoint
from lightning_modules.training.losses import DivergedError, StopOnDivergence
