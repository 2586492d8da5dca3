"""Beam search, batched over sentences."""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor
from typing_extensions import override

from datamodules.errors import UserError
from datamodules.tokenization import BOS, EOS, Tokenizer
from lightning_modules.decoding.search import HypothesisEnd, Request, attends
from lightning_modules.decoding.stepped import StepChoice, SteppedSearch
from lightning_modules.variants.base import EncoderDecoder, Step


class Beams(NamedTuple):
    """The beams of the sentences in the batch, on the device; places beyond the last are empty."""

    sentences: Tensor  # number of the sentence in the first batch, `(sentences,)`
    limits: Tensor  # length limit in tokens, `(sentences,)`
    rows: Tensor  # row of the step before that each row continues, `(sentences, beam)`
    tokens: Tensor  # last tokens, `(sentences, beam)`
    last_penalty: Tensor  # length penalty at the length limit, `(sentences,)`
    places: Tensor  # number of places not taken by finished hypotheses, `(sentences,)`
    totals: Tensor  # log-probability of each prefix, `(sentences, beam)`; -inf for no prefix
    best: Tensor
    """Scores of the best finished hypotheses, best first, ``(sentences, n_best)``; -inf for none.
    """
    coverage: Any  # see `CoveragePenalty.start`
    bounds: Any  # see `Constraints.start`


class CoveragePenalty(NamedTuple):
    """The coverage penalty of Wu et al. 2016, eq. 14: how much of the source was attended to."""

    strength: float | None  # β; None without the penalty

    def start(self, request: Request, beam_size: int) -> Tensor | tuple[()]:
        """Return the sum of weights so far, ``(sentences, beam, src)``; () without a penalty."""
        if not self.strength:
            return ()
        # Padding counts as covered.
        return (~request.src_mask).float().unsqueeze(1).repeat(1, beam_size, 1)

    def after(self, coverage: Any, rows: Tensor, weights: Tensor | None) -> Any:
        """Return the sums after a step with weights ``(rows, src)``, continued as in ``rows``."""
        if not self.strength:
            return coverage
        assert weights is not None  # see `BeamSearch.prepare`
        covered = coverage.flatten(0, 1) + weights.float()
        return covered.index_select(0, rows.flatten()).view_as(coverage)

    def with_penalty(self, totals: Tensor, coverage: Any, length_penalty: Any) -> Tensor:
        """Return the totals that, divided by the length penalty, have the coverage penalty."""
        if not self.strength:
            return totals
        # The smallest number in place of 0: a word without any weight costs much, not everything.
        logs = coverage.clamp(torch.finfo(coverage.dtype).tiny, 1.0).log().sum(2)
        return totals + self.strength * length_penalty * logs


class BeamSearch(SteppedSearch):
    """Keep the ``beam_size`` most probable prefixes of each sentence.

    A prefix that ends with EOS is a finished hypothesis. Each finished hypothesis makes the beam of
    its sentence one place narrower, and the other prefixes go on in the narrower beam (as in the
    code of Bahdanau et al. 2015). So a finished hypothesis never stops a more probable prefix.
    Finished hypotheses are ranked by ``log p / ((5 + tokens) / 6)^α``, plus the coverage penalty
    ``β Σᵢ log min(Σⱼ pᵢⱼ, 1)``, where ``pᵢⱼ`` is the weight of source token i at target token j (Wu
    et al. 2016, arXiv 1609.08144, eq. 14).

    The search of a sentence ends in one of three ways:

    - ``beam_size`` hypotheses are finished, so that no place is left;
    - ``n_best`` hypotheses are finished, and no prefix can still become one of the ``n_best``;
    - the length limit of the sentence is reached: all prefixes then count as finished hypotheses.

    Args:
        beam_size: 1 gives the greedy translation.
        length_penalty: α; 0 ranks by log-probability.
        coverage_penalty: β, for a model with attention; None for no such penalty.
        n_best: number of hypotheses returned for each sentence, at most ``beam_size``.
        limits: see ``Search``.
    """

    def __init__(
        self,
        beam_size: int,
        length_penalty: float,
        coverage_penalty: float | None,
        n_best: int,
        **limits: Any,
    ) -> None:
        super().__init__(**limits)
        if n_best > beam_size:
            raise ValueError(f"decoding.n_best={n_best}: must be at most beam_size={beam_size}")
        self.beam_size = beam_size
        self.length_penalty = length_penalty
        self.coverage = CoveragePenalty(coverage_penalty)
        self.n_best = n_best

    @override
    def prepare(self, model: EncoderDecoder, target: Tokenizer) -> None:
        if self.coverage.strength and not attends(model):
            raise UserError(
                f"decoding.coverage_penalty={self.coverage.strength}: this model has no attention; "
                "set decoding.coverage_penalty=null"
            )

    @override
    def first(self, request: Request) -> Beams:
        """Return beams with one empty prefix each."""
        limits = request.limits
        sentences = torch.arange(len(limits), device=limits.device)
        rows = sentences.unsqueeze(1).expand(-1, self.beam_size)
        totals = torch.full(rows.shape, -math.inf, device=limits.device)
        totals[:, 0] = 0.0
        return Beams(
            sentences,
            limits,
            rows,
            torch.full_like(rows, BOS),
            self.penalty(limits),
            torch.full_like(limits, self.beam_size),
            totals,
            totals.new_full((len(limits), self.n_best), -math.inf),
            self.coverage.start(request, self.beam_size),
            self.constraints.start(request, self.beam_size),
        )

    @override
    def advance(
        self,
        model: EncoderDecoder,
        prefixes: Beams,
        decoded: Step,
        position: int | Tensor,
        with_prefix: Tensor | None = None,
    ) -> tuple[Beams, StepChoice]:
        totals, rows, tokens = self._continue(
            model, prefixes, decoded.features, position, with_prefix
        )
        at_limit = (prefixes.limits == position + 1).unsqueeze(1)
        ended = totals.isfinite() & ((tokens == EOS) | at_limit)
        coverage = self.coverage.after(prefixes.coverage, rows, decoded.weights)
        penalty = self.penalty(position + 1)
        # Which `ranked` divides by the length penalty.
        finished = self.coverage.with_penalty(totals, coverage, penalty)
        after = self._without(ended, prefixes, totals, finished, penalty)
        sentences = prefixes.sentences.unsqueeze(1).expand_as(rows)
        bounds = self.constraints.after(prefixes.bounds, rows, tokens, position)
        after = after._replace(rows=rows, tokens=tokens, coverage=coverage, bounds=bounds)
        return after, StepChoice(ended, sentences, rows, tokens, finished)

    @override
    def going(self, prefixes: Beams) -> Tensor:
        return prefixes.totals.isfinite()

    @override
    def first_rows(self, sentences: Tensor) -> Tensor | None:
        return sentences * self.beam_size

    def _continue(
        self,
        model: EncoderDecoder,
        beams: Beams,
        features: Tensor,
        position: int | Tensor,
        with_prefix: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the best continuations of each sentence, best first, one for each place.

        See ``_scores`` for the arguments. Returns log-probabilities (-inf beyond the last place),
        rows of the continued prefixes, and tokens, each ``(sentences, beam)``.
        """
        count = len(beams.totals)
        scores, tokens = self._scores(model, beams, features, position, with_prefix)
        continued, index = scores.view(count, -1).topk(self.beam_size)
        ranks = torch.arange(self.beam_size, device=index.device)
        continued = continued.masked_fill(ranks >= beams.places.unsqueeze(1), -math.inf)
        first = torch.arange(count, device=index.device).unsqueeze(1) * self.beam_size
        rows = first + index // scores.shape[1]
        return continued, rows, tokens.view(count, -1).gather(1, index)

    def _scores(
        self,
        model: EncoderDecoder,
        beams: Beams,
        features: Tensor,
        position: int | Tensor,
        with_prefix: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        """Return log-probabilities and last tokens of the ``beam_size`` best continuations of rows.

        ``features`` are ``(sentences × beam, features)``. Logits are computed for the rows
        ``with_prefix`` alone; None for all rows. Both results are ``(sentences × beam, tokens)``,
        with -inf where there is no prefix.
        """
        totals = beams.totals.view(-1, 1)
        read = features if with_prefix is None else features.index_select(0, with_prefix)
        best, tokens = self.constraints.best(
            model, read, self.beam_size, beams.bounds, position, with_prefix
        )
        if with_prefix is not None:
            shape = len(totals), best.shape[1]
            best = best.new_zeros(shape).index_copy_(0, with_prefix, best)
            tokens = tokens.new_zeros(shape).index_copy_(0, with_prefix, tokens)
        return (totals + best).masked_fill_(~totals.isfinite(), -math.inf), tokens

    def _without(
        self, ended: Tensor, beams: Beams, totals: Tensor, finished: Tensor, penalty: Any
    ) -> Beams:
        """Return the beams without ``ended`` hypotheses, and without prefixes that cannot matter.

        The log-probability of a prefix, in ``totals`` ``(sentences, beam)``, can only fall: the
        score of its hypotheses is at most this log-probability divided by the penalty at the length
        limit. If ``n_best`` hypotheses are at least as good, the search of the sentence ends.
        ``finished`` are the totals of hypotheses with their coverage penalty, which is never
        positive; ``penalty`` is their length penalty.
        """
        scores = (finished / penalty).masked_fill(~ended, -math.inf)
        best = torch.cat([beams.best, scores], 1).topk(self.n_best).values
        totals = totals.masked_fill(ended, -math.inf)
        decided = totals.amax(1, keepdim=True) / beams.last_penalty.unsqueeze(1) <= best[:, -1:]
        totals = totals.masked_fill(decided, -math.inf)
        return beams._replace(places=beams.places - ended.sum(1), totals=totals, best=best)

    @override
    def ranked(self, found: list[HypothesisEnd]) -> list[HypothesisEnd]:
        """Return the ``n_best``, by scores divided by the length penalty."""
        scored = [end._replace(score=end.score / self.penalty(end.step + 1)) for end in found]
        return sorted(scored, key=lambda end: -end.score)[: self.n_best]

    def penalty(self, tokens: Any) -> Any:
        """Return Wu et al. 2016, eq. 14, for a number of tokens or a tensor of such numbers."""
        return ((5 + tokens) / 6) ** self.length_penalty
