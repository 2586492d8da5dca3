"""Backpointers of a search, and the way back from the end of a hypothesis to its start."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class HypothesisEnd(NamedTuple):
    """The end of one hypothesis."""

    step: int
    """Number of the last call of the model's step, from 0."""
    row: int
    """Row of the hypothesis in that call."""
    token: int
    """Last token, chosen in that call."""
    score: float


class Backpointers:
    """For each call of the model's step and each row of the call, the row of the call before.

    All records stay on the device until ``trace``.
    """

    def __init__(self) -> None:
        self._tokens: list[Tensor] = []
        self._parents: list[Tensor] = []
        self._weights: list[Tensor] = []

    def add(self, last_tokens: Tensor, parents: Tensor, weights: Tensor | None) -> None:
        """Record one call of the model's step.

        Args:
            last_tokens: token that each row has read, ``(rows,)``.
            parents: row of the call before that each row continues, ``(rows,)``.
            weights: attention weights, ``(rows, src)``; None for a model without attention.
        """
        self._tokens.append(last_tokens)
        self._parents.append(parents)
        if weights is not None:
            self._weights.append(weights)

    def trace(self, ends: Sequence[HypothesisEnd]) -> list[tuple[list[int], Tensor | None]]:
        """Return the tokens of each hypothesis and their weights ``(tokens, src)``, on the CPU."""
        if not ends:
            return []
        sizes = np.cumsum([len(tokens) for tokens in self._tokens])[:-1]
        last_tokens, parents = (
            np.split(on_host(column), sizes) for column in (self._tokens, self._parents)
        )
        steps, every = np.array([end.step for end in ends]), np.arange(len(ends))
        rows = np.full((steps.max() + 1, len(ends)), -1)  # -1 after the end of a hypothesis
        tokens = rows.copy()
        rows[steps, every] = [end.row for end in ends]
        tokens[steps, every] = [end.token for end in ends]
        for step in range(len(rows) - 1, 0, -1):
            going = rows[step] >= 0
            tokens[step - 1, going] = last_tokens[step][rows[step, going]]
            rows[step - 1, going] = parents[step][rows[step, going]]
        paths = [tokens[: step + 1, number].tolist() for number, step in enumerate(steps)]
        return list(zip(paths, self._weights_at(rows), strict=True))

    def _weights_at(self, rows: NDArray) -> Sequence[Tensor | None]:
        """Return the weights at ``rows`` ``(calls, hypotheses)``; -1 for no row.

        The weights of these rows alone are put together: a copy of all would double the memory.
        """
        if not self._weights:
            return [None] * rows.shape[1]
        present = rows >= 0
        # The rows of each call, (hypotheses that have not ended,).
        device = self._weights[0].device
        of_calls = torch.from_numpy(rows[present]).to(device).split(present.sum(1).tolist())
        # Their weights, call after call, (tokens of all hypotheses, src).
        pairs = zip(self._weights, of_calls, strict=False)
        by_call = torch.cat([weights.index_select(0, chosen) for weights, chosen in pairs])
        by_call = by_call.cpu().float()
        # Where the tokens of each hypothesis stand in by_call, hypothesis after hypothesis.
        order = torch.from_numpy(np.argsort(present.nonzero()[1], kind="stable"))
        of_hypotheses = order.split(present.sum(0).tolist())
        return [by_call.index_select(0, places) for places in of_hypotheses]


def on_host(column: Sequence[Tensor]) -> NDArray:
    """Return the numbers of all tensors in a row, by one copy."""
    numbers: NDArray = torch.cat([part.flatten() for part in column]).cpu().numpy()
    return numbers


class Ends:
    """The hypotheses that end in each step; all records stay on the device until ``by_sentence``.

    Args:
        sentences: number of sentences in the batch.
    """

    def __init__(self, sentences: int) -> None:
        self._sentences = sentences
        self._steps: list[tuple[Tensor, ...]] = []

    def add(
        self, ended: Tensor, sentences: Tensor, rows: Tensor, tokens: Tensor, scores: Tensor
    ) -> None:
        """Record one step; each argument is ``(rows,)`` or ``(sentences, beam)``.

        Args:
            ended: True where a hypothesis ends.
            sentences: number of the sentence in the batch.
            rows: row of the hypothesis in the last call of the model's step.
            tokens: last token.
            scores: score of the hypothesis.
        """
        self._steps.append((ended, sentences, rows, tokens, scores))

    def by_sentence(self) -> list[list[HypothesisEnd]]:
        """Return the ends of each sentence, in the order of steps and then of rows."""
        ended, sentences, *others = map(on_host, zip(*self._steps, strict=True))
        sizes = [step[0].numel() for step in self._steps]
        columns = (sentences, np.repeat(np.arange(len(sizes)), sizes), *others)
        ends: list[list[HypothesisEnd]] = [[] for _ in range(self._sentences)]
        for sentence, *end in zip(*(column[ended].tolist() for column in columns), strict=True):
            ends[sentence].append(HypothesisEnd(*end))
        return ends
