"""Inputs of the decoder in training: tokens of the reference, or predictions of the model.

Teacher forcing, scheduled sampling (Bengio et al. 2015, arXiv 1506.03099) and free running are one
schedule with different shares at the start and the end.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from datamodules.tokenization import PAD
from lightning_modules.decoding.search import best_tokens
from lightning_modules.variants.base import EncoderDecoder

Decay = Literal["linear", "exponential", "inverse_sigmoid"]

EXPONENTIAL_RATE = 5.0
"""Rate of the exponential decay: unscaled, the decay ends at exp(-5), under 0.01."""
SIGMOID_STEEPNESS = 10.0
"""Steepness of the inverse sigmoid: unscaled, its ends are less than 0.01 from 1 and 0."""

# Bengio et al. 2015, section 2.4, as functions of the progress, from 0 to 1.
UNSCALED: dict[Decay, Callable[[float], float]] = {
    "linear": lambda progress: 1 - progress,
    "exponential": lambda progress: math.exp(-EXPONENTIAL_RATE * progress),
    "inverse_sigmoid": lambda progress: 1 / (1 + math.exp(SIGMOID_STEEPNESS * (progress - 0.5))),
}


@dataclass(frozen=True)
class TeacherForcing:
    """Share of reference tokens that the decoder reads; built from ``conf/teacher_forcing``."""

    start: float  # share of reference tokens at the first update
    end: float  # share of reference tokens at the last update and later
    decay: Decay  # curve from `start` to `end`
    total_updates: int
    """Number of updates of the schedule; may be an estimate, since later shares are ``end``."""

    @property
    def always(self) -> bool:
        """Whether the decoder always reads the reference."""
        return self.start == self.end == 1

    def share(self, update: int) -> float:
        """Return the share of reference tokens at an update, counted from 0.

        Update 0 has ``start``; the last update, ``total_updates - 1``, has ``end``.
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
    """With probability ``1 - share``, replace a reference token by the model's prediction.

    The model is rolled out without dropout and without gradients. Decoding the returned inputs once
    repeats the steps of the rollout, so this is scheduled sampling for any variant. As in the
    paper, no gradient passes through the predictions. A predicted EOS does not end a sentence: the
    decoder reads EOS like any other token while the reference goes on.

    ``memory`` serves the loss too: encoding the source again without dropout would cost a second
    pass of the encoder for a slightly better rollout. ``tgt_in``, ``(batch, tgt)``, begins with
    BOS, which stays; the inputs returned, ``(batch, tgt)``, are PAD where ``tgt_mask`` is False.
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
        predicted = best_tokens(model, step.features, 1)[1].squeeze(1).to(tgt_in.device)
        mixed[:, position] = torch.where(kept[:, position], tgt_in[:, position], predicted)
    model.train(training)
    return mixed.masked_fill(~tgt_mask, PAD)
