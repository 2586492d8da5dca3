"""Attention put together from a score and a window."""

from collections.abc import Mapping
from inspect import signature
from typing import Any, NamedTuple

import torch
from hydra.utils import get_class
from pydantic import ValidationError, validate_call
from torch import Tensor, nn

from lightning_modules.attention.scores import SCORES, Score
from lightning_modules.attention.windows import WINDOWS, Window
from lightning_modules.kernels import accumulate_once, weighted_sum


class AttentionMemory(NamedTuple):
    """The encoded source, prepared for attention once per sentence."""

    values: Tensor
    """Encoder states, ``(batch, src, memory)``; with heads, ``(batch, heads, src, head)``."""
    keys: Tensor
    """States projected by the score, ``(batch, src, key)`` or ``(batch, heads, src, key)``."""
    padding: Tensor
    """True where a query may not look, ``(batch, 1, src)`` or ``(batch, tgt, src)``."""
    lengths: Tensor
    """Number of real positions, ``(batch, 1)``."""

    def shared(self) -> "AttentionMemory":
        """Return this memory for a loop over the target; see ``kernels.shared``."""
        return self._replace(values=accumulate_once(self.values), keys=accumulate_once(self.keys))


class Attention(nn.Module):
    """Attention of queries to a memory.

    Inputs move to the device of the parameters, and results move back to the device of the
    queries: ``model.placement`` may make these devices different.

    Args:
        query_size: width of the queries.
        memory_size: width of the encoder states.
        score: a name of ``SCORES``, or the dotted path of a ``Score`` class.
        window: a name of ``WINDOWS``.
        half_width: D of the local windows, in source positions.
        renormalise: make the weights sum to 1 again after local-p's Gaussian; the paper does not.
        heads: number of parallel attentions, each to its projections of query and memory, of
            width memory_size / heads (Vaswani et al. 2017, section 3.2.2); None for one attention
            without projections.
        score_options: arguments of the score beside the widths.

    Raises:
        ValueError: for an unknown name, or sizes that do not fit together.
    """

    device_probe: Tensor

    @validate_call
    def __init__(
        self,
        query_size: int,
        memory_size: int,
        score: str = "general",
        window: str = "global",
        half_width: int = 10,
        renormalise: bool = False,
        heads: int | None = None,
        **score_options: Any,
    ) -> None:
        super().__init__()
        # Empty buffer that knows the device, for an attention without parameters.
        self.register_buffer("device_probe", torch.empty(0), persistent=False)
        self.heads = heads
        self.renormalise = renormalise
        self.window = build_window(window, query_size, half_width)
        if heads is None:
            self.score = build_score(score, query_size, memory_size, score_options)
        else:
            if heads < 1 or memory_size % heads:
                raise ValueError(
                    f"model.attention.heads={heads}: must divide the {memory_size} numbers of an "
                    "encoder state"
                )
            size = memory_size // heads
            self.score = build_score(score, size, size, score_options)
            self.query = nn.Linear(query_size, memory_size)
            # A score by position alone needs no keys.
            content_based = self.score.is_content_based
            self.key = nn.Linear(memory_size, memory_size) if content_based else None
            self.value, self.out = (nn.Linear(memory_size, memory_size) for _ in range(2))
        if not self.score.is_content_based and window != "global":
            raise ValueError(
                f"model.attention.score={score}: gives every position a weight of its own and has "
                f"no local form; set model.attention.window=global or another score"
            )

    def prepare(self, memory: Tensor, mask: Tensor) -> AttentionMemory:
        """Project keys and values, once per sentence.

        Args:
            memory: encoder states, ``(batch, src, memory)``.
            mask: True where a token is real, ``(batch, src)``.
        """
        device = self.device_probe.device
        memory, mask = memory.to(device), mask.to(device)
        keys = values = memory
        if self.heads is not None:
            values = self._split(self.value(memory))
            keys = values if self.key is None else self._split(self.key(memory))
        lengths = mask.sum(1, keepdim=True)
        return AttentionMemory(values, self.score.project_keys(keys), ~mask.unsqueeze(1), lengths)

    def forward(
        self, query: Tensor, memory: AttentionMemory, steps: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return context ``(batch, tgt, memory)`` and weights ``(batch, tgt, src)``.

        The weights are averaged over the heads.

        Args:
            query: ``(batch, tgt, query)``.
            memory: from ``prepare``.
            steps: target position of each query, from 0, ``(batch, tgt)`` or ``(1, tgt)``.
        """
        weights = self._weigh(query, memory, steps)
        context = weighted_sum(weights.to(memory.values.dtype), memory.values)
        if self.heads is not None:
            context, weights = self.out(context.transpose(1, 2).flatten(2)), weights.mean(1)
        return context.to(query.device), weights.to(query.device)

    def head_weights(self, query: Tensor, memory: AttentionMemory, steps: Tensor) -> Tensor:
        """Return the weights of each head, ``(batch, heads, tgt, src)``.

        The arguments are those of ``forward``. With ``heads=None`` there is one head.
        """
        weights = self._weigh(query, memory, steps).to(query.device)
        return weights.unsqueeze(1) if self.heads is None else weights

    def _weigh(self, query: Tensor, memory: AttentionMemory, steps: Tensor) -> Tensor:
        """Return weights ``(batch, tgt, src)``; with heads, ``(batch, heads, tgt, src)``."""
        device = self.device_probe.device
        query, steps = query.to(device), steps.to(device)
        outside, factor = self.window(query, steps, memory.lengths, memory.values.shape[-2])
        masked = memory.padding if outside is None else memory.padding | outside
        if self.heads is not None:
            query = self._split(self.query(query))
            masked = masked.unsqueeze(1)
            factor = None if factor is None else factor.unsqueeze(1)
        energies = self.score(query, memory.keys)
        weights = energies.masked_fill(masked, float("-inf")).softmax(-1)
        if factor is not None:
            weights = weights * factor
            if self.renormalise:
                weights = weights / weights.sum(-1, keepdim=True)
        return weights

    def _split(self, projected: Tensor) -> Tensor:
        """Split ``(batch, positions, memory)`` into heads, ``(batch, heads, positions, head)``."""
        return projected.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def build_attention(
    setting: str, query_size: int, memory_size: int, options: Mapping[str, Any]
) -> Attention:
    """Build an ``Attention`` from ``options``, the settings below the key ``setting``.

    Raises ``ValueError`` with one line that names the override to change.
    """
    try:
        return Attention(query_size, memory_size, **options)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join([setting, *map(str, first["loc"])])
        raise ValueError(f"{key}={first['input']}: {first['msg']}") from None
    except ValueError as error:
        raise ValueError(str(error).replace("model.attention", setting)) from None


def build_window(name: str, query_size: int, half_width: int) -> Window:
    """Build a window of ``WINDOWS``. Raises ``ValueError`` for a wrong name or half width."""
    if name not in WINDOWS:
        raise ValueError(f"model.attention.window={name}: choose one of {', '.join(WINDOWS)}")
    least = WINDOWS[name].least_half_width
    if half_width < least:
        raise ValueError(
            f"model.attention.half_width={half_width}: {name} needs at least {least} position"
            f"{'' if least == 1 else 's'} on each side"
        )
    return WINDOWS[name](query_size, half_width)


def build_score(name: str, query_size: int, memory_size: int, options: dict[str, Any]) -> Score:
    """Build a score by name or dotted path. Raises ``ValueError`` for a wrong name or option."""
    kind = score_class(name)
    for option in options.keys() - signature(kind).parameters.keys():
        raise ValueError(
            f"model.attention.{option}: the score {name} has no such setting; leave it out with "
            f"~model.attention.{option}"
        )
    return kind(query_size, memory_size, **options)


def score_class(name: str) -> type[Score]:
    """Return a score class by its name in ``SCORES`` or its dotted path.

    Raises ``ValueError`` for another name or class. Other errors inside the module come through.
    """
    if name in SCORES:
        return SCORES[name]
    try:
        kind = get_class(name) if "." in name else object
    except (ImportError, ValueError) as error:
        cause = error.__cause__
        if cause is not None and not isinstance(cause, (ImportError, AttributeError)):
            raise cause from None
        kind = object
    if not issubclass(kind, Score) or kind.forward is Score.forward:
        raise ValueError(
            f"model.attention.score={name}: choose one of {', '.join(SCORES)}, "
            "or give the dotted path of a Score class"
        )
    return kind
