"""Floating-point operations of training: what an update costs on any machine.

torch's ``FlopCounterMode`` counts the products of matrices, forward and backward, two operations
for each multiplication and its addition. Only real positions count: padding depends on the batches,
and target tokens leave padding out too.

A sentence pair of s source and t target tokens costs ``c · (1, s, t, s·t, s², t²)``. A few small
updates give the coefficients c exactly, so that training itself needs no counter.
"""

import logging
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from omegaconf import DictConfig
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from datamodules.batching import EncodedPairs, Sequences, collate
from datamodules.tokenization import EOS
from lightning_modules.kernels import precision
from lightning_modules.kernels.choice import equations_alone
from lightning_modules.training.teacher_forcing import mixed_inputs
from lightning_modules.variants import EncoderDecoder

log = logging.getLogger(__name__)


EXTRA_FORMULAS: dict[Any, Callable[..., int]] = {
    torch.ops.aten.addmm_: lambda onto, left, right, **_: 2 * math.prod(left) * right[1],
    torch.ops.aten.mv: lambda matrix, vector, **_: 2 * math.prod(matrix),
}
"""FLOPs of products that torch's counter leaves out, from the shapes of their arguments."""
PROBES = [(2, 2), (3, 2), (2, 3), (3, 3), (4, 2), (2, 4), (4, 4)]
"""Source and target tokens of each probe, EOS counted; one probe more than coefficients, so that a
misfit shows."""
FAR = (40, 40)
"""Source and target tokens of a probe beyond the others, for a user's classes: their cost may grow
otherwise for long sentences, as when they compute only a part of the positions."""
PART = 2**20  # pairs whose FLOPs are added at once, so that memory does not grow with the corpus
MISFIT = 0.01  # largest relative error of the fit that passes without a warning


class Flops(NamedTuple):
    """FLOPs of sentence pairs, forward and backward."""

    coefficients: NDArray[np.float64]  # factors of the columns of `_powers`

    def of_lengths(self, src: NDArray[Any], tgt: NDArray[Any]) -> NDArray[np.float64]:
        """Return the FLOPs of each pair, ``(pairs,)``, from its tokens, EOS not counted."""
        return _powers(src + 1, tgt + 1) @ self.coefficients

    def per_target_token(self, pairs: EncodedPairs) -> float:
        """Return the mean FLOPs of a target token of these pairs, EOS counted."""
        flops = 0.0
        for start in range(0, len(pairs), PART):
            part = slice(start, start + PART)
            flops += self.of_lengths(pairs.src.lengths[part], pairs.tgt.lengths[part]).sum()
        return float(flops) / pairs.tokens


def count_flops(model: EncoderDecoder, teacher_forcing: DictConfig) -> Flops:
    """Count the FLOPs of a variant; global random state and the model stay as they are.

    Free running and scheduled sampling also pay for the tokens that the decoder predicts.
    """
    rolled_out = not teacher_forcing.start == teacher_forcing.end == 1
    probes = [*PROBES, *_far(model)]
    with torch.random.fork_rng(devices=[]):
        counts = np.array([_count_pair(model, *lengths, rolled_out) for lengths in probes])
    powers, fitted = _powers(*np.array(probes).T), slice(len(PROBES))
    coefficients = np.linalg.lstsq(powers[fitted], counts[fitted], rcond=None)[0]
    misfit = np.abs(powers @ coefficients / counts - 1).max()
    if misfit > MISFIT:  # the cost of a user's class may grow otherwise
        log.warning("FLOPs do not follow sentence lengths: counts may be %.0f%% off", 100 * misfit)
    return Flops(coefficients)


def _far(model: EncoderDecoder) -> list[tuple[int, int]]:
    """Return ``FAR``, within the limit of a model, if a user's class is part of the model."""
    known = ("lightning_modules.", "torch.")
    if all(type(module).__module__.startswith(known) for module in model.modules()):
        return []
    limit = model.limit()
    most = FAR if limit is None else (limit.src_tokens or FAR[0], limit.tgt_tokens or FAR[1])
    return [(min(FAR[0], most[0]), min(FAR[1], most[1]))]


def _powers(src: NDArray[Any], tgt: NDArray[Any]) -> NDArray[np.float64]:
    src, tgt = src.astype(np.float64), tgt.astype(np.float64)
    return np.stack([np.ones_like(src), src, tgt, src * tgt, src**2, tgt**2], 1)


def _count_pair(model: EncoderDecoder, src: int, tgt: int, rolled_out: bool) -> float:
    """Count the FLOPs of one pair in an update of two equal pairs, which have no padding."""
    sides = (Sequences.of([[EOS] * (length - 1)] * 2) for length in (src, tgt))
    batch = collate(EncodedPairs(np.arange(2), *sides))
    rollout, update = (
        FlopCounterMode(display=False, custom_mapping=EXTRA_FORMULAS) for _ in range(2)
    )
    with _plain_kernels():
        if rolled_out:
            with torch.no_grad():  # the counter fails if gradients are switched off inside
                memory = model.encode(*batch.source)
            with rollout:
                mixed_inputs(model, memory, batch.tgt_in, batch.tgt_mask, 0.0)
        with update:
            memory = model.encode(*batch.source)
            features = model.decode(memory, batch.tgt_in).features.flatten(0, 1)
            model.loss(features, batch.tgt_out.flatten()).backward()
    model.zero_grad()
    return (rollout.get_total_flops() + update.get_total_flops()) / 2


@contextmanager
def _plain_kernels() -> Iterator[None]:
    """Switch off fused kernels, which the counter does not know, and oneDNN, which pads products.

    Linear recurrences compute one position after the other, so that their costs follow the form.
    Use one thread: for such small products, several threads wait for each other.
    """
    threads = torch.get_num_threads()
    before = torch.backends.mkldnn.set_flags(_enabled=False)
    torch.set_num_threads(1)
    try:
        with sdpa_kernel(SDPBackend.MATH), precision.products_by_torch(), equations_alone():
            yield
    finally:
        torch.backends.mkldnn.set_flags(_enabled=before[0])
        torch.set_num_threads(threads)
