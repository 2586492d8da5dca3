"""Seeds by purpose: random numbers never depend on earlier draws."""

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, NonNegativeInt


class Seeds(BaseModel):
    """One seed for each purpose, so that one seed can change while the others stay."""

    model_config = ConfigDict(frozen=True)

    initial_weights: NonNegativeInt = 1
    data_order: NonNegativeInt = 1
    """Seed of the order of the training batches."""
    dropout: NonNegativeInt = 1
    """Seed of all draws in an update, scheduled sampling included."""
    decoding: NonNegativeInt = 1
    """Seed of all draws in validation and in the test."""


ALL_ONE = Seeds()


def seed_draws(seed: int, update: int = 0, piece: int = 0) -> None:
    """Seed the generators of the CPU and of CUDA for a piece of an update.

    Checkpoints then need no random state, and a validation or an interruption between two updates
    does not change the second update.
    """
    [mixed] = np.random.SeedSequence((seed, update, piece)).generate_state(1, np.uint64)
    # torch.manual_seed alone takes ten times as long where CUDA is not in use.
    torch.default_generator.manual_seed(int(mixed))
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(int(mixed))
