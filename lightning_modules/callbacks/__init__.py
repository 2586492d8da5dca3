"""What happens around the training loop: budget, history, progress, example translations."""

from lightning_modules.callbacks.budget import TokenBudget
from lightning_modules.callbacks.examples import ExampleTranslations
from lightning_modules.callbacks.history import History
from lightning_modules.callbacks.progress import ProgressFile, ProgressLines

__all__ = ["ExampleTranslations", "History", "ProgressFile", "ProgressLines", "TokenBudget"]
