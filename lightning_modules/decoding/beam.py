"""Beam search, batched over sentences."""

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from typing_extensions import override

from datamodules.tokenization import BOS, EOS
from lightning_modules.decoding.search import (
    Backpointers,
    Ends,
    HypothesisEnd,
    Search,
    best_tokens,
    removes_ended,
)
from lightning_modules.variants.base import EncoderDecoder, select_batch


class Beams(NamedTuple):
    """The beams of the sentences in the batch, on the device; places beyond the last are empty."""

    sentences: Tensor  # number of the sentence in the first batch, `(sentences,)`
    limits: Tensor  # length limit in tokens, `(sentences,)`
    last_penalty: Tensor  # length penalty at the length limit, `(sentences,)`
    places: Tensor  # number of places not taken by finished hypotheses, `(sentences,)`
    totals: Tensor  # log-probability of each prefix, `(sentences, beam)`; -inf for no prefix
    best: Tensor
    """Scores of the best finished hypotheses, best first, ``(sentences, n_best)``; -inf for none.
    """

    def with_prefix(self) -> tuple[Tensor, Tensor]:
        """Return which sentences have a prefix left, and which rows of these sentences' beams.

        The processor waits for the device once.
        """
        present = self.totals.isfinite().cpu().numpy()
        kept = np.flatnonzero(present.any(1))
        indices = kept, np.flatnonzero(present[kept])
        sentences, rows = (torch.from_numpy(index).to(self.totals.device) for index in indices)
        return sentences, rows


class BeamSearch(Search):
    """Keep the ``beam_size`` most probable prefixes of each sentence.

    A prefix that ends with EOS is a finished hypothesis. Each finished hypothesis makes the beam of
    its sentence one place narrower, and the other prefixes go on in the narrower beam (as in the
    code of Bahdanau et al. 2015). So a finished hypothesis never stops a more probable prefix.
    Finished hypotheses are ranked by ``log p / ((5 + tokens) / 6)^α`` (Wu et al. 2016, arXiv
    1609.08144, eq. 14).

    The search of a sentence ends in one of three ways:

    - ``beam_size`` hypotheses are finished, so that no place is left;
    - ``n_best`` hypotheses are finished, and no prefix can still become one of the ``n_best``;
    - the length limit of the sentence is reached: all prefixes then count as finished hypotheses.

    Args:
        beam_size: 1 gives the greedy translation.
        length_penalty: α; 0 ranks by log-probability.
        n_best: number of hypotheses returned for each sentence, at most ``beam_size``.
        limits: see ``Search``.
    """

    def __init__(self, beam_size: int, length_penalty: float, n_best: int, **limits: Any) -> None:
        super().__init__(**limits)
        if n_best > beam_size:
            raise ValueError(f"decoding.n_best={n_best}: must be at most beam_size={beam_size}")
        self.beam_size = beam_size
        self.length_penalty = length_penalty
        self.n_best = n_best

    @override
    def search(
        self, model: EncoderDecoder, memory: Any, limits: Tensor, backpointers: Backpointers
    ) -> list[list[HypothesisEnd]]:
        beams = self._first_beams(limits)
        rows = beams.sentences.unsqueeze(1).expand(-1, self.beam_size)
        tokens = torch.full_like(rows, BOS)
        state = select_batch(model.initial_state(memory), rows)
        rows_with_prefix: Tensor | None = beams.sentences * self.beam_size
        ends = Ends(len(limits))
        for position in range(int(limits.max())):
            features, state, weights = model.step(memory, state, tokens.flatten())
            backpointers.add(tokens.flatten(), rows.flatten(), weights)
            totals, rows, tokens = self._continue(model, beams, features, rows_with_prefix)
            at_limit = (beams.limits == position + 1).unsqueeze(1)
            ended = totals.isfinite() & ((tokens == EOS) | at_limit)
            ends.add(ended, beams.sentences.unsqueeze(1).expand_as(rows), rows, tokens, totals)
            beams = self._after_step(beams, totals, ended, position)
            rows_with_prefix = None
            if removes_ended(position, limits.device):
                kept, rows_with_prefix = beams.with_prefix()
                if not len(kept):
                    break
                if len(kept) < len(rows):
                    beams, rows, tokens, memory = select_batch((beams, rows, tokens, memory), kept)
            state = select_batch(state, rows)
        return [self._ranked(found) for found in ends.by_sentence()]

    def _first_beams(self, limits: Tensor) -> Beams:
        """Return beams with one empty prefix each; ``limits`` is ``(sentences,)``."""
        sentences = torch.arange(len(limits), device=limits.device)
        totals = torch.full((len(limits), self.beam_size), -math.inf, device=limits.device)
        totals[:, 0] = 0.0
        return Beams(
            sentences,
            limits,
            self.penalty(limits),
            torch.full_like(limits, self.beam_size),
            totals,
            totals.new_full((len(limits), self.n_best), -math.inf),
        )

    def _continue(
        self, model: EncoderDecoder, beams: Beams, features: Tensor, with_prefix: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the best continuations of each sentence, best first, one for each place.

        ``features`` are ``(sentences × beam, features)``. Logits are computed for the rows
        ``with_prefix`` alone; None for all rows. Returns log-probabilities (-inf beyond the last
        place), rows of the continued prefixes, and tokens, each ``(sentences, beam)``.
        """
        count, totals = len(beams.totals), beams.totals.view(-1, 1)
        read = features if with_prefix is None else features.index_select(0, with_prefix)
        best, tokens = best_tokens(model, read, self.beam_size)
        if with_prefix is not None:
            shape = len(totals), best.shape[1]
            best = best.new_zeros(shape).index_copy_(0, with_prefix, best)
            tokens = tokens.new_zeros(shape).index_copy_(0, with_prefix, tokens)
        scores = (totals + best).masked_fill_(~totals.isfinite(), -math.inf)
        continued, index = scores.view(count, -1).topk(self.beam_size)
        ranks = torch.arange(self.beam_size, device=index.device)
        continued = continued.masked_fill(ranks >= beams.places.unsqueeze(1), -math.inf)
        first = torch.arange(count, device=index.device).unsqueeze(1) * self.beam_size
        rows = first + index // best.shape[1]
        return continued, rows, tokens.view(count, -1).gather(1, index)

    def _after_step(self, beams: Beams, totals: Tensor, ended: Tensor, position: int) -> Beams:
        """Return the beams without ``ended`` hypotheses, and without prefixes that cannot matter.

        The log-probability of a prefix, in ``totals`` ``(sentences, beam)``, can only fall: the
        score of its hypotheses is at most this log-probability divided by the penalty at the length
        limit. If ``n_best`` hypotheses are at least as good, the search of the sentence ends.
        """
        finished = (totals / self.penalty(position + 1)).masked_fill(~ended, -math.inf)
        best = torch.cat([beams.best, finished], 1).topk(self.n_best).values
        totals = totals.masked_fill(ended, -math.inf)
        decided = totals.amax(1, keepdim=True) / beams.last_penalty.unsqueeze(1) <= best[:, -1:]
        totals = totals.masked_fill(decided, -math.inf)
        return beams._replace(places=beams.places - ended.sum(1), totals=totals, best=best)

    def _ranked(self, found: list[HypothesisEnd]) -> list[HypothesisEnd]:
        """Return the ``n_best`` of a sentence's hypotheses, whose scores are log-probabilities."""
        scored = [end._replace(score=end.score / self.penalty(end.step + 1)) for end in found]
        return sorted(scored, key=lambda end: -end.score)[: self.n_best]

    def penalty(self, tokens: Any) -> Any:
        """Return Wu et al. 2016, eq. 14, for a number of tokens or a tensor of such numbers."""
        return ((5 + tokens) / 6) ** self.length_penalty
