"""What a decoder reads in training: the reference, or what it has written itself.

Teacher forcing, scheduled sampling (Bengio et al. 2015, arXiv 1506.03099) and free running are one
schedule with different ends.
"""

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal

import torch
from pydantic import Field, PositiveInt
from pydantic.dataclasses import dataclass
from torch import Tensor

from datamodules.tokenization import PAD
from lightning_modules.decoding.search import best_tokens
from lightning_modules.variants.base import EncoderDecoder

Share = Annotated[float, Field(ge=0, le=1)]
Decay = Literal["linear", "exponential", "inverse_sigmoid"]

EXPONENTIAL_RATE = 5.0
"""An unscaled exponential decay ends at exp(-5), under a hundredth."""
SIGMOID_STEEPNESS = 10.0
"""An unscaled inverse sigmoid begins and ends under a hundredth from 1 and 0."""

# Section 2.4, as functions of the part of the training that is over.
UNSCALED: dict[Decay, Callable[[float], float]] = {
    "linear": lambda progress: 1 - progress,
    "exponential": lambda progress: math.exp(-EXPONENTIAL_RATE * progress),
    "inverse_sigmoid": lambda progress: 1 / (1 + math.exp(SIGMOID_STEEPNESS * (progress - 0.5))),
}


@dataclass(frozen=True)
class TeacherForcing:
    """How much of the reference is read; instantiated from ``conf/teacher_forcing``."""

    start: Share
    """Share of target positions that read the reference, at the first update."""
    end: Share
    """The same at the last, and beyond."""
    decay: Decay
    """The way from ``start`` to ``end``."""
    total_updates: PositiveInt
    """May be an estimate: beyond it the share stays at ``end``."""

    @property
    def always(self) -> bool:
        """Whether nothing but the reference is ever read."""
        return self.start == self.end == 1

    def share(self, update: int) -> float:
        """Return the share of positions that read the reference at an update, from 0.

        Update 0 has ``start``, update ``total_updates - 1`` is the last and has ``end``.
        """
        decay = UNSCALED[self.decay]
        last_update = self.total_updates - 1
        progress = 1.0 if update >= last_update else update / last_update
        first, last = decay(0.0), decay(1.0)
        return self.end + (self.start - self.end) * (decay(progress) - last) / (first - last)


ALWAYS = TeacherForcing(start=1, end=1, decay="linear", total_updates=1)


@torch.no_grad()
def mixed_inputs(
    model: EncoderDecoder, memory: Any, tgt_in: Tensor, tgt_mask: Tensor, share: float
) -> Tensor:
    """Replace, by coins, tokens of the reference by what the model writes in their place.

    The model is rolled out without dropout and without gradients. Decoding the result once, which
    gives the numbers of the rollout's steps, is then scheduled sampling for any variant: as in the
    paper, no gradient passes through the choices. An EOS of the model's own does not end a
    sentence; where the reference goes on, it is read like any other token.

    Args:
        model: in any mode, which it keeps.
        memory: the encoded source that the loss is taken on. Encoding it again without dropout
            would cost as much as a training update's encoder, for a slightly better rollout.
        tgt_in: ``(batch, tgt)``, the reference; begins with BOS.
        tgt_mask: ``(batch, tgt)``, True where a token is real.
        share: probability of each token, but for BOS, to stay.

    Returns:
        ``(batch, tgt)``.
    """
    if share == 1:
        return tgt_in
    kept = torch.rand(tgt_in.shape, device=tgt_in.device) < share
    mixed = tgt_in.clone()
    training = model.training
    model.eval()
    state = model.initial_state(memory)
    for position in range(1, tgt_in.shape[1]):
        step = model.step(memory, state, mixed[:, position - 1])
        state = step.state
        own = best_tokens(model, step.features, 1)[1].squeeze(1).to(tgt_in.device)
        mixed[:, position] = torch.where(kept[:, position], tgt_in[:, position], own)
    model.train(training)
    return mixed.masked_fill(~tgt_mask, PAD)
