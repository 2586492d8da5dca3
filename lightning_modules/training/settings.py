"""The plain values at the top of the configuration, which Hydra passes to no class."""

from typing import Literal

from omegaconf import DictConfig, OmegaConf
from pydantic import BaseModel

from datamodules.errors import validated
from lightning_modules.kernels.precision import MatmulPrecision, Products
from lightning_modules.training.budgets import Budget
from lightning_modules.training.process import Seeds
from lightning_modules.training.sizes import Match
from lightning_modules.training.word_vectors import VectorFiles


class TrainingSettings(BaseModel):
    """Settings at the top; types alone, since the table of settings has checked the values."""

    budget: Budget
    seed: int
    seeds: Seeds
    scale: float
    fine_scale: float
    match: Match
    vectors: VectorFiles
    label_smoothing: float
    threads: int | None
    products: Products
    matmul_precision: MatmulPrecision
    keep_memory: bool
    compile: Literal["default", "reduce-overhead", "max-autotune"] | None
    activation_checkpointing: bool


def training_settings(config: DictConfig) -> TrainingSettings:
    """Return the plain values of a configuration. Raises ``UserError`` for a mistake."""
    plain = OmegaConf.masked_copy(config, list(TrainingSettings.model_fields))
    return validated(TrainingSettings, plain)
