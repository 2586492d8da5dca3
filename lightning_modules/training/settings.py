"""The plain values at the top of the configuration, typed and checked."""

from typing import Literal

from omegaconf import DictConfig, OmegaConf
from pydantic import BaseModel, Field, NonNegativeInt, PositiveInt

from datamodules.errors import validated
from lightning_modules.kernels.precision import MatmulPrecision, Products
from lightning_modules.training.budgets import Budget
from lightning_modules.training.process import Seeds
from lightning_modules.training.sizes import Match
from lightning_modules.training.word_vectors import VectorFiles


class TrainingSettings(BaseModel):
    """Top-level settings that Hydra does not pass to any class."""

    budget: Budget
    seed: NonNegativeInt
    seeds: Seeds
    scale: float = Field(gt=0, allow_inf_nan=False)
    fine_scale: float = Field(gt=0, allow_inf_nan=False)
    match: Match
    vectors: VectorFiles
    label_smoothing: float = Field(ge=0, lt=1)
    threads: PositiveInt | None
    products: Products = "torch"
    """Default: as runs multiplied that do not record the setting."""
    matmul_precision: MatmulPrecision = "highest"
    """Default: as runs multiplied that do not record the setting."""
    keep_memory: bool
    compile: Literal["default", "reduce-overhead", "max-autotune"] | None
    activation_checkpointing: bool


def training_settings(config: DictConfig) -> TrainingSettings:
    """Check the plain values. Raises ``UserError`` with the override to change."""
    plain = OmegaConf.masked_copy(config, list(TrainingSettings.model_fields))
    return validated(TrainingSettings, plain)
