"""Searches whose steps compute on the device alone; the processor only decides what has ended."""

from abc import abstractmethod
from typing import Any, NamedTuple

from torch import Tensor
from torch.nn.functional import pad
from typing_extensions import override

from datamodules.tokenization import PAD
from lightning_modules.decoding.captured_search import captures, find_ends, in_few_sizes
from lightning_modules.decoding.search import (
    Backpointers,
    Ends,
    HypothesisEnd,
    Search,
    removes_ended,
)
from lightning_modules.variants.base import EncoderDecoder, select_batch


class StepChoice(NamedTuple):
    """What a step has chosen, each ``(sentences,)`` or ``(sentences, beam)``; see ``Ends.add``."""

    ended: Tensor
    sentences: Tensor
    rows: Tensor
    tokens: Tensor
    totals: Tensor


class SteppedSearch(Search):
    """A search that keeps everything between two steps in tensors, its *prefixes*.

    Prefixes are a named tuple of tensors whose first dimension is the sentence. Among them are
    ``rows``, the row of the step before that each row continues, and ``tokens``, the last tokens.
    Rows and tokens are ``(sentences, beam)`` where a row may continue another row's prefix, or else
    ``(sentences,)``.
    """

    beam_size = 1  # number of prefixes of a sentence

    @abstractmethod
    def first(self, limits: Tensor) -> Any:
        """Return the empty prefixes of sentences with the length limits ``(sentences,)``."""

    @abstractmethod
    def advance(
        self,
        model: EncoderDecoder,
        prefixes: Any,
        features: Tensor,
        position: int | Tensor,
        with_prefix: Tensor | None = None,
    ) -> tuple[Any, StepChoice]:
        """Return the prefixes after the step at ``position``, from 0, and what the step has chosen.

        ``features`` are ``(sentences × beam, features)``. Nothing waits for the device. The rows
        ``with_prefix`` alone have a prefix; None for all rows.
        """

    @abstractmethod
    def going(self, prefixes: Any) -> Tensor:
        """Return where a sentence has prefixes left: ``(sentences,)``, or with beams."""

    def kept(self, prefixes: Any) -> tuple[Tensor, Tensor | None]:
        """Return the sentences with prefixes left, and which rows of these have prefixes.

        The processor waits for the device once.
        """
        return self.going(prefixes).nonzero().squeeze(1), None

    def ranked(self, found: list[HypothesisEnd]) -> list[HypothesisEnd]:
        """Return the best of a sentence's hypotheses, whose scores are log-probabilities."""
        return found

    @override
    def search(
        self, model: EncoderDecoder, memory: Any, limits: Tensor, backpointers: Backpointers
    ) -> list[list[HypothesisEnd]]:
        ends = None
        if captures(model):
            ends = find_ends(self, model, memory, limits, backpointers)
        if ends is None:
            ends = self._find_ends(model, memory, limits, backpointers)
        return [self.ranked(found) for found in ends]

    @override
    def encode(self, model: EncoderDecoder, src: Tensor, src_mask: Tensor) -> Any:
        if captures(model):
            further = in_few_sizes(src.shape[1]) - src.shape[1]
            src, src_mask = pad(src, (0, further), value=PAD), pad(src_mask, (0, further))
        return super().encode(model, src, src_mask)

    def _find_ends(
        self, model: EncoderDecoder, memory: Any, limits: Tensor, backpointers: Backpointers
    ) -> list[list[HypothesisEnd]]:
        ends, prefixes = Ends(len(limits)), self.first(limits)
        state, with_prefix = model.initial_state(memory), None
        if mixes := prefixes.rows.dim() > 1:
            state = select_batch(state, prefixes.rows)
            with_prefix = prefixes.sentences * self.beam_size
        for position in range(int(limits.max())):
            tokens, rows = prefixes.tokens.flatten(), prefixes.rows.flatten()
            features, state, weights = model.step(memory, state, tokens)
            backpointers.add(tokens, rows, weights)
            prefixes, chosen = self.advance(model, prefixes, features, position, with_prefix)
            ends.add(*chosen)
            moves, with_prefix = mixes, None
            if removes_ended(position, limits.device):
                kept, with_prefix = self.kept(prefixes)
                if not len(kept):
                    break
                if len(kept) < len(prefixes.limits):
                    prefixes, memory = select_batch((prefixes, memory), kept)
                    moves = True
            if moves:
                state = select_batch(state, prefixes.rows)
        return ends.by_sentence()
