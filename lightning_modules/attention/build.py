"""An attention from the settings below ``model.attention`` or ``model.intra_attention``.

A user's score or window computes once on small tensors, before a model trains with it.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from inspect import signature
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict
from torch import Tensor, nn

from datamodules.errors import UserError, validated
from datamodules.plugs import check_shape, find_plug, make_plug
from lightning_modules.attention.attention import Attention
from lightning_modules.attention.scores import SCORES, Score
from lightning_modules.attention.windows import WINDOWS, Global, Window, WindowMask

WIDTHS = {"query_size", "memory_size", "half_width"}
"""Arguments of scores and windows that no option sets."""
BATCH, TGT, SRC = 2, 4, 3
"""Sizes of the small tensors."""


class AttentionOptions(BaseModel):
    """``model.attention``. Other keys are options of the score or of the window."""

    model_config = ConfigDict(extra="allow", frozen=True)

    score: str = "general"
    """A name of ``SCORES``, or the dotted path of a ``Score`` class."""
    window: str = "global"
    """A name of ``WINDOWS``, or the dotted path of a ``Window`` class."""
    half_width: int = 10
    """D of the local windows, in source positions."""
    renormalise: bool = False
    """See ``Attention``."""
    heads: int | None = None
    """See ``Attention``."""


def build_attention(
    setting: str, query_size: int, memory_size: int, options: Mapping[str, Any]
) -> Attention:
    """Build an ``Attention`` from ``options``, the settings below the key ``setting``.

    Args:
        setting: ``model.attention``, or another key with the same settings.
        query_size: width of the queries.
        memory_size: width of the encoder states.
        options: fields of ``AttentionOptions``, and options of the score and of the window.

    Raises:
        UserError: for unknown names, for settings that do not fit together, and for a user's class
            that does not compute what its interface says.
    """
    chosen = validated(AttentionOptions, dict(options), setting)
    window_kind = find_plug(f"{setting}.window", chosen.window, WINDOWS, Window)
    score_kind = find_plug(f"{setting}.score", chosen.score, SCORES, Score)
    given, takes = chosen.model_extra or {}, [_options(window_kind), _options(score_kind)]
    for option in given.keys() - takes[0] - takes[1]:
        raise UserError(
            f"{setting}.{option}: neither the score {chosen.score} nor the window {chosen.window} "
            f"has such a setting; leave it out with ~{setting}.{option}"
        )
    # An option that both take goes to both.
    window_options, score_options = ({key: given[key] for key in given.keys() & t} for t in takes)
    least = window_kind.least_half_width
    if chosen.half_width < least:
        raise UserError(
            f"{setting}.half_width={chosen.half_width}: {chosen.window} needs at least {least} "
            f"position{'' if least == 1 else 's'} on each side"
        )
    heads, widths, sizes = chosen.heads, (query_size, memory_size), (query_size, chosen.half_width)
    if heads is not None:
        if heads < 1 or memory_size % heads:
            raise UserError(
                f"{setting}.heads={heads}: must divide the {memory_size} numbers of an encoder "
                "state"
            )
        widths = memory_size // heads, memory_size // heads
    window: Window = _make(f"{setting}.window", chosen.window, window_kind, sizes, window_options)
    score: Score = _make(f"{setting}.score", chosen.score, score_kind, widths, score_options)
    score_setting = f"{setting}.score={chosen.score}"
    if not score.is_content_based and not isinstance(window, Global):
        raise UserError(
            f"{score_setting}: gives every position a weight of its own and has no local form; "
            f"set {setting}.window=global or another score"
        )
    if torch.get_default_device().type != "meta":  # else a model whose sizes alone matter
        if window_kind not in WINDOWS.values():
            check_window(f"{setting}.window={chosen.window}", window, *sizes)
        if score_kind not in SCORES.values():
            check_score(score_setting, score, widths, heads)
    return Attention(query_size, memory_size, score, window, chosen.renormalise, heads)


def _options(kind: type) -> set[str]:
    return set(signature(kind).parameters) - WIDTHS


def _make(
    setting: str,
    name: str,
    kind: Callable[..., Any],
    sizes: tuple[int, int],
    options: dict[str, Any],
) -> Any:
    """Make a score or a window. Raises ``UserError`` for options that its class refuses."""

    def make() -> Any:
        signature(kind).bind(*sizes, **options)  # names a missing argument
        return kind(*sizes, **options)

    return make_plug(setting, name, make)


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

    def energies() -> Tensor:
        with _in_evaluation(score):
            keys = score.project_keys(memory)
            if keys.shape[:-1] != memory.shape[:-1]:
                wanted = ", ".join([*map(str, memory.shape[:-1]), "key"])
                raise ValueError(f"project_keys returns {tuple(keys.shape)} instead of ({wanted})")
            return score(query, keys)

    sizes = f"(queries of width {widths[0]}, encoder states of width {widths[1]})"
    check_shape(f"{setting} {sizes}", score, energies, (*leading, TGT, src))


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
    steps = torch.tensor([[*range(TGT - 1), SRC + half_width]])
    lengths = torch.tensor([[SRC], [1]])

    def mask() -> WindowMask:
        with _in_evaluation(window):
            found = window(torch.zeros(BATCH, TGT, query_size), steps, lengths, SRC)
        if not isinstance(found, WindowMask):
            raise TypeError(f"returns {type(found).__name__} instead of a WindowMask")
        return found

    def filled(part: Tensor | None) -> Tensor:
        return torch.zeros(shape, dtype=torch.bool) if part is None else part

    check_shape(f"{setting}, outside", window, lambda: filled(mask().outside), shape)
    check_shape(f"{setting}, factor", window, lambda: filled(mask().factor), shape)
    outside = filled(mask().outside)
    if outside.dtype != torch.bool:
        raise UserError(f"{setting}: {name} returns outside as {outside.dtype}, not torch.bool")
    seen = ~outside & (torch.arange(SRC) < lengths).unsqueeze(1)
    if not seen.any(-1).all():
        raise UserError(
            f"{setting}: {name} leaves some queries no source position, perhaps those beyond the "
            "end of the source; let each query see a position before src_lengths"
        )


@contextmanager
def _in_evaluation(plug: nn.Module) -> Iterator[None]:
    """Compute without gradients, and as in evaluation: without dropout, statistics stay."""
    plug.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        plug.train()
