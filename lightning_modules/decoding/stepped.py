"""Searches whose steps compute on the device alone; the processor only decides what has ended."""

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad
from typing_extensions import override

from datamodules.tokenization import PAD
from lightning_modules.decoding.captured_search import captures, find_ends
from lightning_modules.decoding.constraints import Constraints
from lightning_modules.decoding.search import (
    Backpointers,
    Ends,
    HypothesisEnd,
    Request,
    Search,
    in_few_sizes,
    removes_ended,
)
from lightning_modules.variants.base import EncoderDecoder, Step, select_batch


class StepChoice(NamedTuple):
    """What a step has chosen, each ``(sentences,)`` or ``(sentences, beam)``; see ``Ends.add``."""

    ended: Tensor
    sentences: Tensor
    rows: Tensor
    tokens: Tensor
    totals: Tensor


class SearchStep(NamedTuple):
    """One step of a search, for whoever watches it; rows are those of the step before."""

    position: int  # of the chosen tokens, from 0
    features: Tensor  # argument of the model's `logits`, `(sentences × beam, features)`
    chosen: StepChoice
    going: Tensor  # where a chosen prefix continues: `(sentences,)` or `(sentences, beam)`


class SteppedSearch(Search):
    """A search that keeps everything between two steps in tensors, its *prefixes*.

    Prefixes are a named tuple of tensors whose first dimension is the sentence. Among them are
    ``rows``, the row of the step before that each row continues, and ``tokens``, the last tokens.
    Rows and tokens are ``(sentences, beam)`` where a row may continue another row's prefix, or else
    ``(sentences,)``.
    """

    constrains = True
    beam_size = 1  # number of prefixes of a sentence
    watch: Callable[[SearchStep], None] | None = None
    """Is called after each step; an error that it raises ends the search. A watched search is not
    captured."""

    @cached_property
    def constraints(self) -> Constraints:
        """What rules tokens out."""
        return Constraints(self)

    @abstractmethod
    def first(self, request: Request) -> Any:
        """Return the empty prefixes of sentences."""

    @abstractmethod
    def advance(
        self,
        model: EncoderDecoder,
        prefixes: Any,
        decoded: Step,
        position: int | Tensor,
        with_prefix: Tensor | None = None,
    ) -> tuple[Any, StepChoice]:
        """Return the prefixes after the step at ``position``, from 0, and what the step has chosen.

        ``decoded`` is the step of the model, with ``sentences × beam`` rows. Nothing waits for the
        device. The rows ``with_prefix`` alone have a prefix; None for all rows.
        """

    @abstractmethod
    def going(self, prefixes: Any) -> Tensor:
        """Return where a sentence has prefixes left: ``(sentences,)``, or with beams."""

    def first_rows(self, sentences: Tensor) -> Tensor | None:
        """Return the rows of ``sentences`` that begin with a prefix; None for all rows."""
        return None

    def kept(self, prefixes: Any) -> tuple[Tensor, Tensor | None]:
        """Return the sentences with prefixes left, and which rows of these have prefixes.

        The processor waits for the device once.
        """
        going = self.going(prefixes)
        if going.dim() == 1:
            return going.nonzero().squeeze(1), None
        present = going.cpu().numpy()
        kept = np.flatnonzero(present.any(1))
        indices = kept, np.flatnonzero(present[kept])
        sentences, rows = (torch.from_numpy(index).to(going.device) for index in indices)
        return sentences, rows

    def ranked(self, found: list[HypothesisEnd]) -> list[HypothesisEnd]:
        """Return the best of a sentence's hypotheses, whose scores are log-probabilities."""
        return found

    @override
    def search(
        self, model: EncoderDecoder, memory: Any, request: Request, backpointers: Backpointers
    ) -> list[list[HypothesisEnd]]:
        ends = None
        if self.watch is None and captures(model):
            ends = find_ends(self, model, memory, request, backpointers)
        if ends is None:
            ends = self._find_ends(model, memory, request, backpointers)
        return [self.ranked(found) for found in ends]

    @override
    def padded(self, model: EncoderDecoder, src: Tensor, src_mask: Tensor) -> tuple[Tensor, Tensor]:
        if captures(model):
            further = in_few_sizes(src.shape[1]) - src.shape[1]
            src, src_mask = pad(src, (0, further), value=PAD), pad(src_mask, (0, further))
        return src, src_mask

    def _find_ends(
        self, model: EncoderDecoder, memory: Any, request: Request, backpointers: Backpointers
    ) -> list[list[HypothesisEnd]]:
        limits = request.limits
        ends, prefixes = Ends(len(limits)), self.first(request)
        state, with_prefix = model.initial_state(memory), self.first_rows(prefixes.sentences)
        if mixes := prefixes.rows.dim() > 1:
            state = select_batch(state, prefixes.rows)
        for position in range(int(limits.max())):
            tokens, rows = prefixes.tokens.flatten(), prefixes.rows.flatten()
            decoded = model.step(memory, state, tokens)
            state = decoded.state
            backpointers.add(tokens, rows, decoded.weights)
            prefixes, chosen = self.advance(model, prefixes, decoded, position, with_prefix)
            ends.add(*chosen)
            if self.watch is not None:
                self.watch(SearchStep(position, decoded.features, chosen, self.going(prefixes)))
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
