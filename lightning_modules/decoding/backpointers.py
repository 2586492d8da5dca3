"""Backpointers of a search, and the way back from the end of a hypothesis to its start."""

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
    """For each call of the model's step and each row of the call, the row of the call before."""

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

    def trace(self, ends: list[HypothesisEnd]) -> list[tuple[list[int], Tensor | None]]:
        """Return the tokens of each hypothesis and their weights ``(tokens, src)``, on the CPU."""
        tokens, parents = _arrays(self._tokens), _arrays(self._parents)
        weights = _arrays(self._weights)
        return [_trace_one(end, tokens, parents, weights) for end in ends]


def _arrays(columns: list[Tensor]) -> list[NDArray]:
    return [
        column.cpu().float().numpy() if column.is_floating_point() else column.cpu().numpy()
        for column in columns
    ]


def _trace_one(
    end: HypothesisEnd, tokens: list[NDArray], parents: list[NDArray], weights: list[NDArray]
) -> tuple[list[int], Tensor | None]:
    path, rows, row = [end.token], [end.row], end.row
    for step in range(end.step, 0, -1):
        path.append(int(tokens[step][row]))
        row = int(parents[step][row])
        rows.append(row)
    path.reverse()
    if not weights:
        return path, None
    stacked = np.stack([weights[step][row] for step, row in enumerate(reversed(rows))])
    return path, torch.from_numpy(stacked)
