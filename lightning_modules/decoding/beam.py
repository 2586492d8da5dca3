"""Beam search, batched over sentences."""

from typing import Any

import torch
from pydantic import PositiveInt, validate_call
from torch import Tensor

from datamodules.tokenization import BOS, EOS
from lightning_modules.decoding.search import (
    NonNegativeFloat,
    NonNegativeInt,
    Search,
    log_probabilities,
)
from lightning_modules.decoding.trellis import End, Trellis
from lightning_modules.variants.base import EncoderDecoder, select_batch


class BeamSearch(Search):
    """Keep the ``beam_size`` most probable beginnings of each sentence.

    A beginning that takes EOS is finished; a sentence is done, and leaves the batch, once
    ``beam_size`` of its hypotheses are finished or it reaches its length limit. Finished ones are
    ranked by ``log p / ((5 + tokens) / 6)^α`` (Wu et al. 2016, arXiv 1609.08144, eq. 14).

    Args:
        beam_size: 1 gives the greedy translation.
        length_penalty: α; 0 ranks by log-probability.
        n_best: hypotheses returned for each sentence, at most ``beam_size``.
        max_ratio: see ``Search``.
        max_extra: see ``Search``.
    """

    @validate_call
    def __init__(
        self,
        beam_size: PositiveInt = 4,
        length_penalty: NonNegativeFloat = 0.6,
        n_best: PositiveInt = 1,
        max_ratio: NonNegativeFloat = 1.5,
        max_extra: NonNegativeInt = 10,
    ) -> None:
        super().__init__(max_ratio, max_extra)
        if n_best > beam_size:
            raise ValueError(f"decoding.n_best={n_best}: must be at most beam_size={beam_size}")
        self.beam_size = beam_size
        self.length_penalty = length_penalty
        self.n_best = n_best

    def search(
        self, model: EncoderDecoder, memory: Any, limits: Tensor, trellis: Trellis
    ) -> list[list[End]]:
        """See the base class."""
        beams, device = self.beam_size, limits.device
        sentences = torch.arange(len(limits), device=device)
        rows = sentences.repeat_interleave(beams)
        memory = select_batch(memory, rows)
        state = model.initial_state(memory)
        tokens = torch.full_like(rows, BOS)
        totals = torch.full((len(limits), beams), float("-inf"), device=device)
        totals[:, 0] = 0.0  # all beams begin alike: let one of them speak
        ends: list[list[End]] = [[] for _ in limits]
        for position in range(int(limits.max())):
            logits, state, weights = model.step(memory, state, tokens)
            trellis.add(tokens, rows, weights)
            totals, origins, chosen = self._candidates(totals, log_probabilities(logits))
            at_limit = limits == position + 1
            leading = torch.arange(2 * beams, device=device) < beams
            finished = ((chosen == EOS) | at_limit.unsqueeze(1)) & leading
            self._collect(ends, sentences, position, finished, totals, origins, chosen)
            done = at_limit | torch.tensor(
                [len(ends[sentence]) >= beams for sentence in sentences.tolist()], device=device
            )
            if done.all():
                break
            going_on = (~done).nonzero().squeeze(1)
            sentences, limits = sentences[going_on], limits[going_on]
            # Each beam offers EOS at most once: of 2 × beams candidates, beams go on.
            order = (chosen == EOS).int().sort(stable=True).indices[going_on, :beams]
            totals, rows = totals[going_on].gather(1, order), origins[going_on].gather(1, order)
            tokens, rows = chosen[going_on].gather(1, order).flatten(), rows.flatten()
            state = select_batch(state, rows)
            if len(going_on) < len(done):  # all beams of a sentence share its memory
                memory = select_batch(memory, rows)
        return [self._best(sentence) for sentence in ends]

    def _candidates(self, totals: Tensor, scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the 2 × beams best continuations of each sentence, best first.

        Args:
            totals: log-probabilities so far, ``(sentences, beams)``.
            scores: of the next token, ``(sentences × beams, vocabulary)``.

        Returns:
            Log-probabilities, the rows they continue and the tokens, ``(sentences, 2 × beams)``.
        """
        vocabulary = scores.shape[-1]
        joint = (totals.view(-1, 1) + scores).view(len(totals), -1)
        totals, index = joint.topk(2 * self.beam_size)
        first = torch.arange(len(totals), device=index.device).unsqueeze(1) * self.beam_size
        return totals, first + index // vocabulary, index % vocabulary

    def _collect(
        self,
        ends: list[list[End]],
        sentences: Tensor,
        position: int,
        finished: Tensor,
        totals: Tensor,
        origins: Tensor,
        chosen: Tensor,
    ) -> None:
        """Note the candidates that are ``finished`` ``(sentences, 2 × beams)``."""
        penalty = ((5 + position + 1) / 6) ** self.length_penalty
        where = (finished & totals.isfinite()).nonzero(as_tuple=True)
        for sentence, row, token, total in zip(
            sentences[where[0]].tolist(),
            origins[where].tolist(),
            chosen[where].tolist(),
            totals[where].tolist(),
            strict=True,
        ):
            ends[sentence].append(End(position, row, token, total / penalty))

    def _best(self, ends: list[End]) -> list[End]:
        return sorted(ends, key=lambda end: -end.score)[: self.n_best]
