"""Padded batches of a few dozen shapes, for updates that are recorded once for each shape."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from datamodules.tokenization import BOS, EOS, PAD

DIGITS = 5
"""Binary digits of the sizes of a shape: to 32 all, then 34, 36, … 64, 68, …, at most 1/16 more."""
NO_TARGET = -1  # in `tgt_out`, where there is no token


class Longest(NamedTuple):
    """The longest sentences that a model can read, in tokens; None for no limit."""

    src_tokens: int | None = None
    tgt_tokens: int | None = None


class RoundedBatch(NamedTuple):
    """Sentence pairs, padded further than a ``Batch``: both sides to one length, and by rows.

    The length is that of the longest sentence. It and the number of rows are rounded up. A row of
    padding reads EOS and BOS, and has no target.
    """

    src: Tensor  # `(rows, src)` int64, PAD after each sentence
    tgt_in: Tensor  # `(rows, tgt)` int64
    tgt_out: Tensor  # `(rows, tgt)` int64; NO_TARGET where there is no token

    @property
    def src_mask(self) -> Tensor:
        """True where a source token is real, ``(rows, src)``."""
        return self.src != PAD

    @property
    def tgt_tokens(self) -> Tensor:
        """Number of target tokens, ``()``."""
        return (self.tgt_out != NO_TARGET).sum()

    def pin_memory(self) -> "RoundedBatch":
        """Return a copy in pinned memory, from which a GPU reads while the processor continues."""
        return RoundedBatch(*(part.pin_memory() for part in self))


def rounded_form(
    longest: Longest,
    src: NDArray[np.int64],
    tgt_in: NDArray[np.int64],
    tgt_out: NDArray[np.int64],
    tgt_mask: NDArray[np.bool_],
) -> RoundedBatch:
    """Return the rounded form of the arrays of a ``Batch``."""
    rows, (src_size, tgt_size) = rounded_shape(
        len(src), max(src.shape[1], tgt_in.shape[1]), longest
    )
    source = _grown(src, (rows, src_size), PAD)
    source[len(src) :, 0] = EOS
    inputs = _grown(tgt_in, (rows, tgt_size), PAD)
    inputs[len(src) :, 0] = BOS
    targets = _grown(np.where(tgt_mask, tgt_out, NO_TARGET), (rows, tgt_size), NO_TARGET)
    return RoundedBatch(*map(torch.from_numpy, (source, inputs, targets)))


def largest(sentences: int, length: int, longest: Longest) -> RoundedBatch:
    """Return a batch of ``sentences`` sentences of ``length`` tokens, all of them EOS."""
    rows, (src_size, tgt_size) = rounded_shape(sentences, length, longest)
    targets = torch.full((rows, tgt_size), EOS)
    return RoundedBatch(torch.full((rows, src_size), EOS), targets, targets.clone())


def rounded_shape(sentences: int, length: int, longest: Longest) -> tuple[int, tuple[int, int]]:
    """Return the rows, and the lengths of both sides, of a rounded batch."""
    length = rounded(length)
    src, tgt = (length if most is None else min(length, most) for most in longest)
    return rounded(sentences), (src, tgt)


def rounded(number: int) -> int:
    """Round a positive number up to ``DIGITS`` binary digits."""
    step = 1 << max(0, number.bit_length() - DIGITS)
    return -(-number // step) * step


def _grown(array: NDArray[np.int64], shape: tuple[int, int], filling: int) -> NDArray[np.int64]:
    grown = np.full(shape, filling, np.int64)
    grown[: array.shape[0], : array.shape[1]] = array
    return grown
