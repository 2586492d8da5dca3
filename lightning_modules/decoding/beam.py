"""Beam search, batched over sentences."""

import math
from bisect import insort
from typing import Any

import torch
from pydantic import PositiveInt, validate_call
from torch import Tensor

from datamodules.tokenization import BOS, EOS
from lightning_modules.decoding.search import (
    NonNegativeFloat,
    NonNegativeInt,
    Search,
    best_tokens,
)
from lightning_modules.decoding.trellis import End, Trellis
from lightning_modules.variants.base import EncoderDecoder, select_batch


class BeamSearch(Search):
    """Keep the ``beam_size`` most probable beginnings of each sentence.

    A beginning that takes EOS is finished and keeps its place in the beam, so that the others go
    on in a narrower one (as in Bahdanau et al. 2015's own code) and an improbable end never stops
    a better beginning. Finished ones are ranked by ``log p / ((5 + tokens) / 6)^α`` (Wu et al.
    2016, arXiv 1609.08144, eq. 14). A sentence leaves the batch when its beam is full of finished
    hypotheses, when no beginning can still enter its ``n_best``, or at its length limit.

    Args:
        beam_size: 1 gives the greedy translation.
        length_penalty: α; 0 ranks by log-probability.
        n_best: hypotheses returned for each sentence, at most ``beam_size``.
        max_ratio: see ``Search``.
        max_extra: see ``Search``.
        bf16: see ``Search``.
    """

    @validate_call
    def __init__(
        self,
        beam_size: PositiveInt = 4,
        length_penalty: NonNegativeFloat = 0.6,
        n_best: PositiveInt = 1,
        max_ratio: NonNegativeFloat = 1.5,
        max_extra: NonNegativeInt = 10,
        bf16: bool = False,
    ) -> None:
        super().__init__(max_ratio, max_extra, bf16)
        if n_best > beam_size:
            raise ValueError(f"decoding.n_best={n_best}: must be at most beam_size={beam_size}")
        self.beam_size = beam_size
        self.length_penalty = length_penalty
        self.n_best = n_best

    def search(
        self, model: EncoderDecoder, memory: Any, limits: Tensor, trellis: Trellis
    ) -> list[list[End]]:
        """See the base class."""
        sentences = torch.arange(len(limits), device=limits.device)
        rows = sentences.repeat_interleave(self.beam_size)
        state = select_batch(model.initial_state(memory), rows)
        tokens = torch.full_like(rows, BOS)
        places = torch.full_like(limits, self.beam_size)  # not taken by finished hypotheses
        # A row without a beginning has probability 0. All rows begin alike: let one speak.
        totals = torch.full((len(limits), self.beam_size), float("-inf"), device=limits.device)
        totals[:, 0] = 0.0
        ends: list[list[End]] = [[] for _ in limits]
        for position in range(int(limits.max())):
            features, state, weights = model.step(memory, state, tokens)
            trellis.add(tokens, rows, weights)
            totals, rows, tokens = self._continue(model, totals, features, places)
            over = totals.isfinite() & ((tokens == EOS) | (limits == position + 1).unsqueeze(1))
            self._collect(ends, sentences, position, over, totals, rows, tokens)
            places = places - over.sum(1)
            totals = totals.masked_fill(over, float("-inf"))
            going_on = self._undecided(ends, sentences, totals, limits)
            if not len(going_on):
                break
            if len(going_on) < len(sentences):
                memory = select_batch(memory, going_on)
            sentences, limits, places = sentences[going_on], limits[going_on], places[going_on]
            totals, rows = totals[going_on], rows[going_on].flatten()
            tokens = tokens[going_on].flatten()
            state = select_batch(state, rows)
        return [ranked[: self.n_best] for ranked in ends]

    def _continue(
        self, model: EncoderDecoder, totals: Tensor, features: Tensor, places: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return each sentence's best continuations, best first, as many as it has places.

        Args:
            model: has the output layer, which sees only what has a beginning.
            totals: log-probabilities of the beginnings, ``(sentences, beam)``.
            features: what the next token is chosen by, ``(sentences × beam, features)``.
            places: ``(sentences,)``.

        Returns:
            Log-probabilities (-inf past the last place), the rows continued and the tokens, each
            ``(sentences, beam)``.
        """
        alive = totals.flatten().isfinite().nonzero().squeeze(1)
        best, tokens = best_tokens(model, features[alive], self.beam_size)
        count = best.shape[1]
        scores = totals.new_full((totals.numel(), count), float("-inf"))
        scores[alive] = totals.flatten()[alive].unsqueeze(1) + best
        chosen = torch.zeros_like(scores, dtype=tokens.dtype).index_copy(0, alive, tokens)
        totals, index = scores.view(len(totals), -1).topk(self.beam_size)
        ranks = torch.arange(self.beam_size, device=index.device)
        totals = totals.masked_fill(ranks >= places.unsqueeze(1), float("-inf"))
        first = torch.arange(len(totals), device=index.device).unsqueeze(1) * self.beam_size
        return totals, first + index // count, chosen.view(len(totals), -1).gather(1, index)

    def _collect(
        self,
        ends: list[list[End]],
        sentences: Tensor,
        position: int,
        over: Tensor,
        totals: Tensor,
        rows: Tensor,
        tokens: Tensor,
    ) -> None:
        """Add the hypotheses that are ``over`` ``(sentences, beam)`` to ``ends``, best first."""
        penalty = self._penalty(position + 1)
        where = over.nonzero(as_tuple=True)
        for sentence, row, token, total in zip(
            sentences[where[0]].tolist(),
            rows[where].tolist(),
            tokens[where].tolist(),
            totals[where].tolist(),
            strict=True,
        ):
            insort(ends[sentence], End(position, row, token, total / penalty), key=_worst_last)

    def _undecided(
        self, ends: list[list[End]], sentences: Tensor, totals: Tensor, limits: Tensor
    ) -> Tensor:
        """Return the indices of the sentences whose ``n_best`` may still change.

        A beginning's log-probability can only fall, so that its score is at most what it would be
        if it ended at the length limit for nothing more.
        """
        hopes = (totals.max(1).values / self._penalty(limits)).tolist()
        undecided = [
            index
            for index, (sentence, hope) in enumerate(zip(sentences.tolist(), hopes, strict=True))
            if hope > -math.inf
            and (len(ends[sentence]) < self.n_best or hope > ends[sentence][self.n_best - 1].score)
        ]
        return torch.tensor(undecided, device=sentences.device, dtype=torch.long)

    def _penalty(self, tokens: Any) -> Any:
        """Wu et al. 2016, eq. 14, for a number of tokens or a tensor of numbers."""
        return ((5 + tokens) / 6) ** self.length_penalty


def _worst_last(end: End) -> float:
    return -end.score
