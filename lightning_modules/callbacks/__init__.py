"""What happens around the training loop: budget, history, progress, checkpoints, examples."""

from lightning_modules.callbacks.budget import TrainingBudget, budget_of
from lightning_modules.callbacks.examples import ExampleTranslations
from lightning_modules.callbacks.finite import DivergedError, FiniteLoss
from lightning_modules.callbacks.history import History
from lightning_modules.callbacks.last import LastCheckpoint
from lightning_modules.callbacks.progress import ProgressFile, ProgressLines

__all__ = [
    "DivergedError",
    "ExampleTranslations",
    "FiniteLoss",
    "History",
    "LastCheckpoint",
    "ProgressFile",
    "ProgressLines",
    "TrainingBudget",
    "budget_of",
]
