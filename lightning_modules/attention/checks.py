"""Checks of a user's score or window on small tensors, before a model trains with them."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from datamodules.errors import UserError
from datamodules.plugs import check_shape
from lightning_modules.attention.scores import Score
from lightning_modules.attention.windows import Window, WindowMask

BATCH, TGT, SRC = 2, 4, 3


def check_score(setting: str, score: Score, widths: tuple[int, int], heads: int | None) -> None:
    """Check the shapes of keys and energies.

    Args:
        setting: key and value of the configuration, for messages.
        score: the score to check.
        widths: of the queries and of the encoder states that the score compares.
        heads: number of heads, for a score of ``(batch, heads, …)``; None without heads.

    Raises:
        UserError: for a score that cannot compute, or that computes other shapes.
    """
    leading = (BATCH,) if heads is None else (BATCH, heads)
    src = min(SRC, SRC if score.max_length is None else score.max_length)
    query, memory = torch.zeros(*leading, TGT, widths[0]), torch.zeros(*leading, src, widths[1])
    place = f"{setting} (queries of width {widths[0]}, encoder states of width {widths[1]})"

    def energies() -> Tensor:
        with _evaluated(score):
            keys = score.project_keys(memory)
            if keys.shape[:-1] != memory.shape[:-1]:
                wanted = ", ".join([*map(str, memory.shape[:-1]), "key"])
                raise ValueError(f"project_keys returns {tuple(keys.shape)} instead of ({wanted})")
            return score(query, keys)

    check_shape(place, score, energies, (*leading, TGT, src))


def check_window(setting: str, window: Window, query_size: int, half_width: int) -> None:
    """Check the shapes and the type of a mask, and that each query may look at something.

    The last target position lies farther than D beyond the end of its source.

    Args:
        setting: key and value of the configuration, for messages.
        window: the window to check.
        query_size: width of the queries.
        half_width: D, in source positions.

    Raises:
        UserError: for a window that cannot compute, that computes other shapes or types, or that
            leaves no real position to a query.
    """
    shape, name = (BATCH, TGT, SRC), type(window).__name__
    query = torch.zeros(BATCH, TGT, query_size)
    steps = torch.tensor([[*range(TGT - 1), SRC + half_width]])
    lengths = torch.tensor([[SRC], [1]])

    def look() -> WindowMask:
        with _evaluated(window):
            mask = window(query, steps, lengths, SRC)
        if not isinstance(mask, WindowMask):
            raise TypeError(f"returns {type(mask).__name__} instead of a WindowMask")
        return mask

    def filled(part: Tensor | None) -> Tensor:
        return torch.zeros(shape, dtype=torch.bool) if part is None else part

    check_shape(f"{setting}, outside", window, lambda: filled(look().outside), shape)
    check_shape(f"{setting}, factor", window, lambda: filled(look().factor), shape)
    outside = filled(look().outside)
    if outside.dtype != torch.bool:
        raise UserError(f"{setting}: {name} returns outside as {outside.dtype}, not torch.bool")
    seen = ~outside & (torch.arange(SRC) < lengths).unsqueeze(1)
    if not seen.any(-1).all():
        raise UserError(
            f"{setting}: {name} leaves some queries no source position, perhaps those beyond the "
            "end of the source; let each query see a position before src_lengths"
        )


@contextmanager
def _evaluated(plug: nn.Module) -> Iterator[None]:
    """Compute without gradients, and as in evaluation: without dropout, statistics stay."""
    plug.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        plug.train()
