"""What a run may leave beside its results: the weights of single heads on a few translations."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lightning_modules.run_folder import HEAD_ATTENTION, BrokenFileError, read_arrays, write_arrays

HeadWeights = dict[int, NDArray[np.float64]]
"""By the sentence's number: of words, ``(layers, heads, target words, source words)``."""


def write_head_attention(folder: Path, weights: HeadWeights) -> None:
    """Keep the weights, in 16 bits; no file for none."""
    if weights:
        arrays = {str(number): part.astype(np.float16) for number, part in weights.items()}
        write_arrays(folder / HEAD_ATTENTION, arrays)


def read_head_attention(folder: Path) -> HeadWeights:
    """Weights by the sentence's number, empty when not recorded. Raises ``BrokenFileError``."""
    arrays = read_arrays(folder / HEAD_ATTENTION) or {}
    for name, part in arrays.items():
        if not name.isdecimal() or part.ndim != 4:
            raise BrokenFileError(f"{HEAD_ATTENTION} cannot be read: {name} holds no heads")
    return {int(name): part.astype(float) for name, part in arrays.items()}
