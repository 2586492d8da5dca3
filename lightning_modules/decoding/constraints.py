"""What a search may not choose: the one place that applies constraints to log-probabilities.

A minimum length, the length of the reference, a forced prefix and no repeated n-grams. Scores of
hypotheses stay log-probabilities of the model: what is ruled out gives its probability to no other
token. Without any constraint nothing is computed.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from datamodules.tokenization import EOS, PAD
from lightning_modules.decoding.search import (
    Request,
    Search,
    best_tokens,
    in_few_sizes,
    row_parts,
    token_log_probabilities,
)
from lightning_modules.variants.base import EncoderDecoder, for_each_tensor, select_batch


class ConstraintState(NamedTuple):
    """What the next token of each prefix must respect; None for a constraint that is off.

    As tensors of a search they are ``(sentences, beam, …)``, or by row ``(rows, …)``.
    """

    least: Tensor | None  # number of tokens before which EOS may not come
    forced: Tensor | None  # token that must come at each position ``(…, positions)``; PAD for any
    history: Tensor | None  # tokens so far, ``(…, positions)``, and PAD


class Constraints:
    """The constraints of a search; see ``Search`` for the settings."""

    def __init__(self, search: Search) -> None:
        self._min_length = search.min_length or 0
        self._ngram = search.no_repeat_ngram or 0
        self._exact = search.length == "reference"

    def start(self, request: Request, beam_size: int) -> ConstraintState | tuple[()]:
        """Return the bounds of empty prefixes, ``beam_size`` for each sentence; () for none."""
        limits, prefix = request.limits, request.prefix
        if not self._exact and prefix is None and not self._min_length and not self._ngram:
            return ()
        # As many positions as a captured search has, so that its recordings fit the next batch.
        positions = in_few_sizes(int(limits.max()))
        blank = limits.new_full((len(limits), positions), PAD)
        least = forced = None
        if self._exact or prefix is not None:
            forced = blank.clone()
            if prefix is not None:
                forced[:, : prefix.shape[1]] = prefix[:, :positions]
        if self._exact:
            least = limits - 1
            assert forced is not None
            forced = forced.scatter(1, least.unsqueeze(1), EOS)
        elif self._min_length:
            least = torch.full_like(limits, self._min_length)
        of_sentences = ConstraintState(least, forced, blank if self._ngram else None)
        bounds: ConstraintState = for_each_tensor(
            of_sentences, lambda each: torch.stack([each] * beam_size, 1)
        )
        return bounds

    def best(
        self,
        model: EncoderDecoder,
        features: Tensor,
        count: int,
        bounds: ConstraintState | tuple[()],
        position: int | Tensor,
        chosen: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return ``best_tokens`` within bounds, -inf where fewer than ``count`` are allowed.

        See ``log_probabilities`` for the arguments.
        """
        if not bounds:
            return best_tokens(model, features, count)
        every = self.log_probabilities(model, features, bounds, position, chosen)
        found = [scores.topk(min(count, scores.shape[1])) for _, scores in every]
        best, tokens = (torch.cat(parts) for parts in zip(*found, strict=True))
        return best, tokens

    def log_probabilities(
        self,
        model: EncoderDecoder,
        features: Tensor,
        bounds: ConstraintState | tuple[()],
        position: int | Tensor,
        chosen: Tensor | None = None,
    ) -> Iterator[tuple[slice, Tensor]]:
        """Yield parts of the rows, and the log-probabilities ``(rows, vocabulary)`` of each part.

        -inf stands for what the bounds rule out. ``features`` are those of all rows of ``bounds``,
        or of the ``chosen`` rows, ``(rows,)``.
        """
        rows: Any = for_each_tensor(bounds, lambda each: each.flatten(0, 1))
        if chosen is not None:
            rows = select_batch(rows, chosen)
        for part in row_parts(features):
            scores = token_log_probabilities(model, features[part])
            if rows:
                within = ConstraintState(*(None if each is None else each[part] for each in rows))
                scores = self.allowed(scores, within, position)
            yield part, scores

    def allowed(self, scores: Tensor, bounds: ConstraintState, position: int | Tensor) -> Tensor:
        """Return scores ``(rows, vocabulary)`` with -inf for what the bounds rule out.

        The token at ``position``, from 0, is chosen by these scores, which may change in place.
        ``bounds`` are by row. An n-gram is repeated only where nothing else may come.
        """
        if bounds.least is not None:
            scores[:, EOS].masked_fill_(bounds.least > position, -math.inf)
        if bounds.forced is not None:
            token = _at(bounds.forced, position).unsqueeze(1)
            every = torch.arange(scores.shape[1], device=scores.device)
            scores = scores.masked_fill((every != token) & (token != PAD), -math.inf)
        if bounds.history is not None:
            repeated = self._repeated(bounds.history, position, scores.shape[1])
            others = scores.masked_fill(repeated, -math.inf)
            scores = torch.where(others.isfinite().any(1, keepdim=True), others, scores)
        return scores

    def _repeated(self, history: Tensor, position: int | Tensor, vocabulary: int) -> Tensor:
        """Return where a token would repeat an n-gram of the history, ``(rows, vocabulary)``."""
        size = self._ngram
        repeated = torch.zeros(len(history), vocabulary, dtype=torch.bool, device=history.device)
        if history.shape[1] < size:
            return repeated
        ngrams = history.unfold(1, size, 1)  # (rows, n-grams, size)
        starts = torch.arange(ngrams.shape[1], device=history.device)
        last = torch.arange(1 - size, 0, device=history.device) + position
        ends_alike = ngrams[..., :-1] == history.index_select(1, last.clamp(min=0)).unsqueeze(1)
        found = ends_alike.all(2) & (starts + size <= position)
        return repeated.scatter(1, ngrams[..., -1].masked_fill(~found, PAD), True)

    def after(
        self, bounds: Any, rows: Tensor | None, tokens: Tensor, position: int | Tensor
    ) -> Any:
        """Return the bounds after ``tokens`` ``(sentences, beam)`` at ``position``.

        Each prefix continues that of the row in ``rows`` ``(sentences, beam)``; None for its own.
        """
        if not bounds or bounds.history is None:
            return bounds
        history = bounds.history
        if rows is not None:
            history = history.flatten(0, 1).index_select(0, rows.flatten()).view_as(history)
        here = torch.arange(history.shape[2], device=history.device) == position
        return bounds._replace(history=torch.where(here, tokens.unsqueeze(2), history))


def _at(values: Tensor, position: int | Tensor) -> Tensor:
    """Return a column; a captured position is a tensor, which the host does not read."""
    if isinstance(position, int):
        return values[:, position]
    return values.index_select(1, position.view(1)).squeeze(1)
