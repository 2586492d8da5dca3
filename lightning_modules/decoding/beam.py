"""Beam search, batched over sentences."""

import math
from bisect import insort
from typing import Any

import torch
from pydantic import PositiveInt, validate_call
from torch import Tensor
from typing_extensions import override

from datamodules.tokenization import BOS, EOS
from lightning_modules.decoding.backpointers import Backpointers, HypothesisEnd
from lightning_modules.decoding.search import NonNegativeFloat, Search, best_tokens
from lightning_modules.variants.base import EncoderDecoder, select_batch


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

    @validate_call
    def __init__(
        self,
        beam_size: PositiveInt = 4,
        length_penalty: NonNegativeFloat = 0.6,
        n_best: PositiveInt = 1,
        **limits: Any,
    ) -> None:
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
        sentences = torch.arange(len(limits), device=limits.device)
        rows = sentences.repeat_interleave(self.beam_size)
        state = select_batch(model.initial_state(memory), rows)
        tokens = torch.full_like(rows, BOS)
        places = torch.full_like(limits, self.beam_size)  # not taken by finished hypotheses
        # A row without a prefix has probability 0: at first, all rows but one of each sentence.
        totals = torch.full((len(limits), self.beam_size), float("-inf"), device=limits.device)
        totals[:, 0] = 0.0
        ends: list[list[HypothesisEnd]] = [[] for _ in limits]
        for position in range(int(limits.max())):
            features, state, weights = model.step(memory, state, tokens)
            backpointers.add(tokens, rows, weights)
            totals, rows, tokens = self._continue(model, totals, features, places)
            ended = totals.isfinite() & ((tokens == EOS) | (limits == position + 1).unsqueeze(1))
            self._collect(ends, sentences, position, ended, totals, rows, tokens)
            places = places - ended.sum(1)
            totals = totals.masked_fill(ended, float("-inf"))
            undecided = self._undecided(ends, sentences, totals, limits)
            if not len(undecided):
                break
            if len(undecided) < len(sentences):
                memory = select_batch(memory, undecided)
            sentences, limits, places = sentences[undecided], limits[undecided], places[undecided]
            totals, rows = totals[undecided], rows[undecided].flatten()
            tokens = tokens[undecided].flatten()
            state = select_batch(state, rows)
        return [ranked[: self.n_best] for ranked in ends]

    def _continue(
        self, model: EncoderDecoder, totals: Tensor, features: Tensor, places: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the best continuations of each sentence, best first, one for each place.

        Args:
            model: provides the logits, computed only for rows with a prefix.
            totals: log-probabilities of the prefixes, ``(sentences, beam)``.
            features: argument of ``logits``, ``(sentences × beam, features)``.
            places: number of free places in the beam, ``(sentences,)``.

        Returns:
            Log-probabilities (-inf beyond the last place), rows of the continued prefixes, and
            tokens, each ``(sentences, beam)``.
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
        ends: list[list[HypothesisEnd]],
        sentences: Tensor,
        position: int,
        ended: Tensor,
        totals: Tensor,
        rows: Tensor,
        tokens: Tensor,
    ) -> None:
        """Add the ``ended`` hypotheses ``(sentences, beam)`` to ``ends``, best first."""
        penalty = self.penalty(position + 1)
        where = ended.nonzero(as_tuple=True)
        for sentence, row, token, total in zip(
            sentences[where[0]].tolist(),
            rows[where].tolist(),
            tokens[where].tolist(),
            totals[where].tolist(),
            strict=True,
        ):
            insort(
                ends[sentence],
                HypothesisEnd(position, row, token, total / penalty),
                key=_negative_score,
            )

    def _undecided(
        self, ends: list[list[HypothesisEnd]], sentences: Tensor, totals: Tensor, limits: Tensor
    ) -> Tensor:
        """Return the indices of the sentences whose ``n_best`` may still change.

        The log-probability of a prefix can only fall: the score of its hypotheses is at most this
        log-probability divided by the penalty at the length limit.
        """
        bounds = (totals.max(1).values / self.penalty(limits)).tolist()
        undecided = [
            index
            for index, (sentence, bound) in enumerate(zip(sentences.tolist(), bounds, strict=True))
            if bound > -math.inf
            and (len(ends[sentence]) < self.n_best or bound > ends[sentence][self.n_best - 1].score)
        ]
        return torch.tensor(undecided, device=sentences.device, dtype=torch.long)

    def penalty(self, tokens: Any) -> Any:
        """Return Wu et al. 2016, eq. 14, for a number of tokens or a tensor of such numbers."""
        return ((5 + tokens) / 6) ** self.length_penalty


def _negative_score(end: HypothesisEnd) -> float:
    return -end.score
