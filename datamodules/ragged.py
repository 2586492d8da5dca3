"""Sequences of unequal length in one flat array."""

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Integers = NDArray[np.integer]
"""Numbers of any width."""
Ragged = tuple[Numbers, Numbers]
"""Values of several sequences in one array, and the length of each sequence."""


def flat(sequences: Sequence[Sequence[int]]) -> Ragged:
    """Return the values of all sequences in one array, and the length of each sequence."""
    lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
    return np.fromiter(chain.from_iterable(sequences), np.int64, lengths.sum()), lengths


def ranges(starts: Integers, lengths: Integers) -> Numbers:
    """Return ``starts[i], starts[i] + 1, …``, ``lengths[i]`` numbers for each *i*."""
    before = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) + np.repeat(starts - before, lengths)


def sums(values: Integers, lengths: Integers) -> Numbers:
    """Return the sum of each sequence."""
    until = np.concatenate(([0], np.cumsum(values)))
    ends = np.cumsum(lengths)
    return until[ends] - until[ends - lengths]
