"""Sampling: each token is drawn by its probability."""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor
from typing_extensions import override

from datamodules.tokenization import BOS, EOS
from lightning_modules.decoding.search import HypothesisEnd, Request
from lightning_modules.decoding.stepped import StepChoice, SteppedSearch
from lightning_modules.variants.base import EncoderDecoder, Step

BITS = 32  # random bits of a draw


class Samples(NamedTuple):
    """The samples of the sentences in the batch so far, on the device."""

    sentences: Tensor  # number of the sentence in the first batch, `(sentences,)`
    limits: Tensor  # length limit in tokens, `(sentences,)`
    rows: Tensor  # row of the step before that each row continues: its own, `(sentences, samples)`
    tokens: Tensor  # last tokens, `(sentences, samples)`
    totals: Tensor  # log-probability, `(sentences, samples)`
    going: Tensor  # False where a sample has ended, `(sentences, samples)`
    keys: Tensor  # key of the draws of each sample, `(sentences, samples)`
    bounds: Any  # see `Constraints.start`


class SamplingSearch(SteppedSearch):
    """Draw every token of a translation by the probabilities of the model.

    The draws depend on the seed, the tokens of the source, the number of the sample and the
    position alone: a sentence has the same samples in any batch, file and process. Samples are
    returned with their log-probability under the model, the most probable first. Temperature,
    ``top_k`` and ``top_p`` apply in this order, and change what is drawn, not the score.

    Args:
        n_best: number of independent samples of each sentence.
        temperature: divisor of the log-probabilities; below 1 draws probable tokens more often.
        top_k: number of tokens among which to draw (Fan et al. 2018, arXiv 1805.04833), and those
            as probable as the last of them; None for all.
        top_p: draw among the most probable tokens whose probabilities just sum to it (Holtzman et
            al. 2020, arXiv 1904.09751, section 3.1), and those as probable as the last of them;
            None for all.
        seed: of all draws.
        limits: see ``Search``.
    """

    def __init__(
        self,
        n_best: int,
        temperature: float,
        top_k: int | None,
        top_p: float | None,
        seed: int,
        **limits: Any,
    ) -> None:
        if "beam_size" in limits:
            raise ValueError(
                f"decoding.beam_size={limits['beam_size']}: sampling keeps no beam; leave it out, "
                "or set decoding=beam"
            )
        super().__init__(**limits)
        self.beam_size = self.n_best = n_best
        self.temperature, self.top_k, self.top_p = temperature, top_k, top_p
        self.seed = seed

    @override
    def first(self, request: Request) -> Samples:
        limits = request.limits
        sentences = torch.arange(len(limits), device=limits.device)
        rows = sentences.unsqueeze(1).expand(-1, self.beam_size)
        return Samples(
            sentences=sentences,
            limits=limits,
            rows=rows,
            tokens=torch.full_like(rows, BOS),
            totals=torch.zeros(rows.shape, device=limits.device),
            going=torch.ones_like(rows, dtype=torch.bool),
            keys=sample_keys(self.seed, request.src, request.src_mask, self.beam_size),
            bounds=self.constraints.start(request, self.beam_size),
        )

    @override
    def advance(
        self,
        model: EncoderDecoder,
        prefixes: Samples,
        decoded: Step,
        position: int | Tensor,
        with_prefix: Tensor | None = None,
    ) -> tuple[Samples, StepChoice]:
        features, keys = decoded.features, prefixes.keys.flatten()
        if with_prefix is not None:
            features, keys = (each.index_select(0, with_prefix) for each in (features, keys))
        parts = self.constraints.log_probabilities(
            model, features, prefixes.bounds, position, with_prefix
        )
        drawn = [self._draw(scores, uniforms(keys[part], position)) for part, scores in parts]
        logs, tokens = (torch.cat(each) for each in zip(*drawn, strict=True))
        shape = prefixes.tokens.shape
        if with_prefix is not None:
            logs, tokens = (
                each.new_zeros(shape.numel()).index_copy_(0, with_prefix, each)
                for each in (logs, tokens)
            )
        logs, tokens = logs.view(shape), tokens.view(shape)
        totals = prefixes.totals + logs
        at_limit = (prefixes.limits == position + 1).unsqueeze(1)
        ended = prefixes.going & ((tokens == EOS) | at_limit)
        rows = torch.arange(shape.numel(), device=tokens.device).view(shape)
        after = prefixes._replace(
            rows=rows,
            tokens=tokens,
            totals=totals,
            going=prefixes.going ^ ended,
            bounds=self.constraints.after(prefixes.bounds, None, tokens, position),
        )
        sentences = prefixes.sentences.unsqueeze(1).expand_as(rows)
        return after, StepChoice(ended, sentences, rows, tokens, totals)

    @override
    def going(self, prefixes: Samples) -> Tensor:
        return prefixes.going

    @override
    def ranked(self, found: list[HypothesisEnd]) -> list[HypothesisEnd]:
        """Return all samples, the most probable first."""
        return sorted(found, key=lambda end: -end.score)

    def _draw(self, scores: Tensor, draws: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log-probabilities and ids of drawn tokens, ``(rows,)``.

        ``scores`` are log-probabilities ``(rows, vocabulary)``, ``draws`` numbers from 0 to 1.
        """
        # In the order of ids, so that rounding moves a border a little, and changes no order.
        cumulative = self.narrowed(scores).double().softmax(1).cumsum(1)
        wanted = draws * cumulative[:, -1]  # below the last by far more than rounding
        tokens = (cumulative <= wanted.unsqueeze(1)).sum(1, keepdim=True)
        return scores.gather(1, tokens).squeeze(1), tokens.squeeze(1)

    def narrowed(self, scores: Tensor) -> Tensor:
        """Return the logits to draw by, ``(rows, vocabulary)``, -inf for what is left out."""
        if self.temperature != 1:
            # Without the largest, and in float64, no temperature makes all of them -inf.
            scores = scores.double()
            scores = (scores - scores.amax(1, keepdim=True)) / self.temperature
        if self.top_k is not None:
            last = scores.topk(min(self.top_k, scores.shape[1])).values[:, -1:]
            scores = scores.masked_fill(scores < last, -math.inf)
        if self.top_p is not None:
            probabilities = scores.softmax(1)
            ordered = probabilities.sort(1, descending=True).values
            beyond = ordered.cumsum(1) - ordered >= self.top_p
            least = ordered.masked_fill(beyond, math.inf).amin(1, keepdim=True)
            scores = scores.masked_fill(probabilities < least, -math.inf)
        return scores


def sample_keys(seed: int, src: Tensor, src_mask: Tensor, samples: int) -> Tensor:
    """Return the keys of each sentence's samples, ``(batch, samples)``: padding does not count."""
    places = torch.arange(src.shape[1], device=src.device)
    sums = mixed(mixed(src) + places).masked_fill(~src_mask, 0).sum(1, keepdim=True)
    return mixed(mixed(sums + seed) + torch.arange(samples, device=src.device))


def uniforms(keys: Tensor, position: int | Tensor) -> Tensor:
    """Return a number from 0, below 1, for each key ``(rows,)`` at a position, in float64."""
    return shifted(mixed(keys + position), 64 - BITS).double() / 2**BITS


def mixed(numbers: Tensor) -> Tensor:
    """Return a hash of whole numbers of 64 bits: the finalizer of SplitMix64.

    Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators", figure 17, with
    the constants of variant 13 of D. Stafford, after one step of its sequence.
    """
    numbers = numbers + signed(0x9E3779B97F4A7C15)
    numbers = (numbers ^ shifted(numbers, 30)) * signed(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ shifted(numbers, 27)) * signed(0x94D049BB133111EB)
    return numbers ^ shifted(numbers, 31)


def shifted(numbers: Tensor, bits: int) -> Tensor:
    """Shift to the right as numbers without sign."""
    return (numbers >> bits) & ((1 << (64 - bits)) - 1)


def signed(number: int) -> int:
    """Return the number of 64 bits with a sign that has the same bits."""
    return number - (1 << 64) if number >> 63 else number
