"""Callbacks of the training loop: budget, waiting, history, progress, checkpoints, examples."""

from lightning_modules.training.callbacks.budget import TrainingBudget, budget_of
from lightning_modules.training.callbacks.divergence import DivergedError, StopOnDivergence
from lightning_modules.training.callbacks.examples import ExampleTranslations
from lightning_modules.training.callbacks.history import History
from lightning_modules.training.callbacks.progress import ProgressFile, ProgressLines, enter_phase
from lightning_modules.training.callbacks.resume_checkpoint import ResumeCheckpoint
from lightning_modules.training.callbacks.waiting import Waiting
