"""Random numbers that depend on what they are for, never on what was drawn before."""

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, NonNegativeInt


class Seeds(BaseModel):
    """One for each purpose, so that one can change while the others stay."""

    model_config = ConfigDict(frozen=True)

    initial_weights: NonNegativeInt = 1
    data_order: NonNegativeInt = 1
    """Order of the training batches."""
    dropout: NonNegativeInt = 1
    """All that is drawn in an update; the coins of scheduled sampling too."""
    decoding: NonNegativeInt = 1
    """All that is drawn in validation and in the test."""


ALL_ONE = Seeds()


def seed_draws(seed: int, update: int = 0, piece: int = 0) -> None:
    """Begin the generators of the CPU and of CUDA anew, for a piece of an update.

    Random state then needs no place in checkpoints, and whatever happens between two updates, as a
    validation or an interruption, changes nothing in the second.
    """
    [mixed] = np.random.SeedSequence((seed, update, piece)).generate_state(1, np.uint64)
    # torch.manual_seed alone takes ten times as long where CUDA is not in use.
    torch.default_generator.manual_seed(int(mixed))
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(int(mixed))
