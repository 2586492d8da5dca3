"""An attention from the settings below ``model.attention`` or ``model.intra_attention``."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from inspect import signature
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from torch import nn

from datamodules.errors import UserError, validated
from datamodules.plugs import find_plug, make_plug
from lightning_modules.attention.attention import Attention
from lightning_modules.attention.scores import SCORES, Score, Start
from lightning_modules.attention.windows import WINDOWS, Global, Window, WindowMask

WIDTHS = {"query_size", "memory_size", "half_width"}
"""Arguments of scores and windows that no option sets."""


class AttentionOptions(BaseModel):
    """``model.attention``; other keys are options of the score or of the window."""

    model_config = ConfigDict(extra="allow", frozen=True)

    score: str = "general"
    window: str = "global"
    half_width: int = 10
    renormalise: bool = False
    heads: int | None = None
    start: Start = "random"
    score_rate: float | None = Field(None, gt=0)


def build_attention(
    setting: str, query_size: int, memory_size: int, options: Mapping[str, Any]
) -> Attention:
    """Build an ``Attention`` from ``options``, the settings below the key ``setting``.

    Raises ``UserError`` for unknown names and for settings that do not fit together.
    """
    chosen = validated(AttentionOptions, dict(options), setting)
    window_kind = find_plug(f"{setting}.window", chosen.window, WINDOWS, Window)
    score_kind = find_plug(f"{setting}.score", chosen.score, SCORES, Score)
    window_options, score_options = _options(setting, chosen, window_kind, score_kind)
    least, heads = window_kind.least_half_width, chosen.heads
    if chosen.half_width < least:
        raise UserError(
            f"{setting}.half_width={chosen.half_width}: {chosen.window} needs at least {least} "
            f"position{'' if least == 1 else 's'} on each side"
        )
    widths = query_size, memory_size
    if heads is not None:
        if heads < 1 or memory_size % heads:
            raise UserError(
                f"{setting}.heads={heads}: must divide the {memory_size} numbers of an encoder "
                "state"
            )
        widths = memory_size // heads, memory_size // heads
    sizes = query_size, chosen.half_width
    window: Window = make_plug(
        f"{setting}.window", chosen.window, window_kind, *sizes, **window_options
    )
    score: Score = make_plug(f"{setting}.score", chosen.score, score_kind, *widths, **score_options)
    score.lr_factor = chosen.score_rate or score.lr_factor
    if not score.is_content_based and not isinstance(window, Global):
        raise UserError(
            f"{setting}.score={chosen.score}: gives every position a weight of its own and has no "
            f"local form; set {setting}.window=global or another score"
        )
    return Attention(query_size, memory_size, score, window, chosen.renormalise, heads)


@contextmanager
def exact_shapes(model: nn.Module) -> Iterator[None]:
    """Refuse a user's score or window whose result has another shape, though torch may expand it.

    Raises ``ValueError`` in the pass that computes such a result, and ``TypeError`` for a window
    that returns something else.
    """

    def check(module: nn.Module, inputs: tuple[Any, ...], result: Any) -> None:
        (query, *others), name = inputs, type(module).__name__
        if isinstance(module, Score):
            results, shape = [result], (*query.shape[:-1], others[0].shape[-2])
        elif isinstance(result, WindowMask):
            results, shape = [*result], (*query.shape[:2], others[-1])
        else:
            raise TypeError(f"{name} returns {type(result).__name__}, not a WindowMask")
        for each in results:
            if each is not None and each.shape != shape:
                raise ValueError(f"{name} returns {tuple(each.shape)}, not {shape}")

    known = (*SCORES.values(), *WINDOWS.values())
    with ExitStack() as hooks:
        for module in model.modules():
            if isinstance(module, Score | Window) and type(module) not in known:
                hooks.enter_context(module.register_forward_hook(check))
        yield


def _options(setting: str, chosen: AttentionOptions, *kinds: type) -> list[dict[str, Any]]:
    """Return the options of each class; an option that several take goes to all of them."""
    given = chosen.model_extra or {}
    takes = [set(signature(kind).parameters) - WIDTHS for kind in kinds]
    for option in given.keys() - set.union(*takes):
        raise UserError(
            f"{setting}.{option}: neither the score {chosen.score} nor the window {chosen.window} "
            f"has such a setting; leave it out with ~{setting}.{option}"
        )
    given = {"start": chosen.start, **given}
    return [{key: given[key] for key in given.keys() & names} for names in takes]
