"""Floating-point operations of training: what an update costs, whatever machine makes it.

Counted are the products of matrices, forward and backward, two operations for each multiplication
and its addition, by torch's ``FlopCounterMode``. They are counted on real positions: padding, which
depends on the batches, costs nothing here, as it counts for nothing in target tokens.

A sentence pair of s source and t target tokens costs ``c · (1, s, t, s·t, s², t²)``, which a few
small updates reveal exactly; nothing is counted while a model trains.
"""

import logging
import math
from collections.abc import Callable, Iterator, Sequence
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
from lightning_modules.building import build_model, build_settings
from lightning_modules.forcing import mixed_inputs
from lightning_modules.kernels import output_loss
from lightning_modules.variants import EncoderDecoder
from lightning_modules.vectors import freeze

log = logging.getLogger(__name__)

FURTHER: dict[Any, Callable[..., int]] = {
    torch.ops.aten.addmm_: lambda onto, left, right, **_: 2 * math.prod(left) * right[1],
    torch.ops.aten.mv: lambda matrix, vector, **_: 2 * math.prod(matrix),
}
"""Products that torch's counter leaves out, by the shapes of what they take."""
PROBES = [(2, 2), (3, 2), (2, 3), (3, 3), (4, 2), (2, 4), (4, 4)]
"""Source and target tokens, EOS counted; more than the coefficients, so that a misfit shows."""
MISFIT = 0.01


class Flops(NamedTuple):
    """What pairs of sentences cost, forward and backward."""

    coefficients: NDArray[np.float64]
    """Of ``_powers``."""

    def of_each(self, pairs: EncodedPairs) -> NDArray[np.float64]:
        """What each pair costs."""
        return _powers(pairs.src.lengths + 1, pairs.tgt.lengths + 1) @ self.coefficients

    def by_id(self, pairs: EncodedPairs) -> NDArray[np.float64]:
        """The same, to be looked up by ``Batch.ids``."""
        found = np.zeros(int(pairs.ids.max()) + 1)
        found[pairs.ids] = self.of_each(pairs)
        return found

    def a_target_token(self, pairs: EncodedPairs) -> float:
        """What a target token of these pairs costs, EOS counted."""
        return float(self.of_each(pairs).sum() / (pairs.tgt.lengths + 1).sum())


def count_flops(config: DictConfig, sizes: Sequence[int]) -> Flops:
    """Count for the variant of a configuration, on a copy of its own; no random number is drawn.

    ``sizes`` are those of the vocabularies. Free running and scheduled sampling cost the decoder's
    own tokens too.
    """
    with torch.random.fork_rng(devices=[]):
        model = build_to_count(config, sizes)
        rolled_out = not config.teacher_forcing.start == config.teacher_forcing.end == 1
        counted = [_counted(model, *lengths, rolled_out) for lengths in PROBES]
    powers = _powers(*np.array(PROBES).T)
    coefficients = np.linalg.lstsq(powers, np.array(counted), rcond=None)[0]
    misfit = np.abs(powers @ coefficients / counted - 1).max()
    if misfit > MISFIT:  # as with a score function of one's own
        log.warning("FLOPs do not follow sentence lengths: counts may be %.0f%% off", 100 * misfit)
    return Flops(coefficients)


def build_to_count(config: DictConfig, sizes: Sequence[int]) -> EncoderDecoder:
    """Build a variant on the device of the context, whatever ``model.placement`` says.

    Frozen word vectors are frozen.
    """
    config = config.copy()
    config.model.placement = None
    model = build_model(config, *sizes)
    freeze(model, build_settings(config).vectors)
    return model


def _powers(src: NDArray[Any], tgt: NDArray[Any]) -> NDArray[np.float64]:
    src, tgt = src.astype(np.float64), tgt.astype(np.float64)
    return np.stack([np.ones_like(src), src, tgt, src * tgt, src**2, tgt**2], 1)


def _counted(model: EncoderDecoder, src: int, tgt: int, rolled_out: bool) -> float:
    """Operations of one pair in an update of two, which have no padding."""
    sides = (Sequences.of([[EOS] * (length - 1)] * 2) for length in (src, tgt))
    batch = collate(EncodedPairs(np.arange(2), *sides))
    own, update = (FlopCounterMode(display=False, custom_mapping=FURTHER) for _ in range(2))
    with _plain_kernels():
        if rolled_out:
            with torch.no_grad():  # the counter trips over gradients that are switched off midway
                memory = model.encode(batch.src, batch.src_mask)
            with own:
                mixed_inputs(model, memory, batch.tgt_in, batch.tgt_mask, 0.0)
        with update:
            memory = model.encode(batch.src, batch.src_mask)
            features = model.decode(memory, batch.tgt_in).features.flatten(0, 1)
            head, tgt_out = model.output, batch.tgt_out.flatten()
            output_loss(features, head.weight, head.bias, tgt_out, 0.0).backward()
    model.zero_grad()
    return (own.get_total_flops() + update.get_total_flops()) / 2


@contextmanager
def _plain_kernels() -> Iterator[None]:
    """Do without the kernels of several products at once, of which the counter knows nothing.

    On one thread: those of products as small as these would only wait for one another.
    """
    threads = torch.get_num_threads()
    before = torch.backends.mkldnn.set_flags(_enabled=False)
    torch.set_num_threads(1)
    try:
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.backends.mkldnn.set_flags(_enabled=before[0])
        torch.set_num_threads(threads)
