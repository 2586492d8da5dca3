"""The paths that a search has walked, and the way back from an end to its start."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class End(NamedTuple):
    """Where one hypothesis ends."""

    step: int
    row: int
    """The row of the model's call at that step which chose ``token``."""
    token: int
    score: float


class Trellis:
    """One column for each call of the model's step, one row for each hypothesis in that call."""

    def __init__(self) -> None:
        self._tokens: list[Tensor] = []
        self._origins: list[Tensor] = []
        self._weights: list[Tensor] = []

    def add(self, last_tokens: Tensor, origins: Tensor, weights: Tensor | None) -> None:
        """Record a call: what each row read, which row of the call before it came from.

        Args:
            last_tokens: ``(rows,)``.
            origins: ``(rows,)``.
            weights: ``(rows, src)``, or None for a model without attention.
        """
        self._tokens.append(last_tokens)
        self._origins.append(origins)
        if weights is not None:
            self._weights.append(weights)

    def trace(self, ends: list[End]) -> list[tuple[list[int], Tensor | None]]:
        """Return the tokens of each end's path, and their weights ``(tokens, src)`` on the CPU."""
        tokens, origins = _arrays(self._tokens), _arrays(self._origins)
        weights = _arrays(self._weights)
        return [_walk(end, tokens, origins, weights) for end in ends]


def _arrays(columns: list[Tensor]) -> list[NDArray]:
    return [
        column.cpu().float().numpy() if column.is_floating_point() else column.cpu().numpy()
        for column in columns
    ]


def _walk(
    end: End, tokens: list[NDArray], origins: list[NDArray], weights: list[NDArray]
) -> tuple[list[int], Tensor | None]:
    path, rows, row = [end.token], [end.row], end.row
    for step in range(end.step, 0, -1):
        path.append(int(tokens[step][row]))
        row = int(origins[step][row])
        rows.append(row)
    path.reverse()
    if not weights:
        return path, None
    stacked = np.stack([weights[step][row] for step, row in enumerate(reversed(rows))])
    return path, torch.from_numpy(stacked)
