"""Attention put together from a score and a window."""

from collections.abc import Mapping
from importlib import import_module
from inspect import signature
from typing import Any, NamedTuple

import torch
from pydantic import ValidationError, validate_call
from torch import Tensor, nn

from lightning_modules.attention.scores import SCORES, Score
from lightning_modules.attention.windows import WINDOWS, Window
from lightning_modules.kernels import mix, share


class AttentionMemory(NamedTuple):
    """What attention needs to know of the source; no step changes it."""

    values: Tensor
    """Encoder states, ``(batch, src, memory)``; split into heads ``(batch, heads, src, head)``."""
    keys: Tensor
    """The states projected by the score, ``(batch, src, key)`` or ``(batch, heads, src, key)``."""
    padding: Tensor
    """True where a query may not look, ``(batch, 1, src)`` or ``(batch, tgt, src)``."""
    lengths: Tensor
    """Real positions, ``(batch, 1)``."""

    def shared(self) -> "AttentionMemory":
        """Return the same for a loop over the target; see ``kernels.shared``."""
        return self._replace(values=share(self.values), keys=share(self.keys))


class Attention(nn.Module):
    """Looks at the memory with queries.

    It computes on its own device and answers on that of the queries, from which
    ``model.placement`` may keep it apart.

    Args:
        query_size: width of the queries.
        memory_size: width of the encoder states.
        score: a name of ``SCORES``, or the dotted path of a ``Score`` class.
        window: a name of ``WINDOWS``.
        half_width: D of the local windows, in source positions.
        renormalise: make the weights sum to 1 again after local-p's Gaussian; the paper does not.
        heads: attend that many times side by side, to projections of query and memory that share
            the memory's width (Vaswani et al. 2017, section 3.2.2); None: once, to the states.
        score_options: what the score takes beside the widths.

    Raises:
        ValueError: for an unknown name, or sizes that cannot be brought together.
    """

    home: Tensor

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
        # Tells the device, where no parameter does.
        self.register_buffer("home", torch.empty(0), persistent=False)
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
            # What no score looks at has no keys.
            looked_at = self.score.looks_at_source
            self.key = nn.Linear(memory_size, memory_size) if looked_at else None
            self.value, self.out = (nn.Linear(memory_size, memory_size) for _ in range(2))
        if not self.score.looks_at_source and window != "global":
            raise ValueError(
                f"model.attention.score={score}: gives every position a weight of its own and has "
                f"no local form; set model.attention.window=global or another score"
            )

    def prepare(self, memory: Tensor, mask: Tensor) -> AttentionMemory:
        """Project the keys, once for each sentence: ``(batch, src, memory), (batch, src)``."""
        memory, mask = memory.to(self.home.device), mask.to(self.home.device)
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

        The weights of several heads are averaged.

        Args:
            query: ``(batch, tgt, query)``.
            memory: from ``prepare``.
            steps: target position of each query, from 0, ``(batch, tgt)`` or ``(1, tgt)``.
        """
        asked_on = query.device
        weights = self._weigh(query, memory, steps)
        context = mix(weights.to(memory.values.dtype), memory.values)
        if self.heads is not None:
            context, weights = self.out(context.transpose(1, 2).flatten(2)), weights.mean(1)
        return context.to(asked_on), weights.to(asked_on)

    def head_weights(self, query: Tensor, memory: AttentionMemory, steps: Tensor) -> Tensor:
        """Return the weights of each head, ``(batch, heads, tgt, src)``; one without ``heads``.

        What is asked is asked as in ``forward``.
        """
        weights = self._weigh(query, memory, steps).to(query.device)
        return weights.unsqueeze(1) if self.heads is None else weights

    def _weigh(self, query: Tensor, memory: AttentionMemory, steps: Tensor) -> Tensor:
        """Return weights ``(batch, tgt, src)``, with ``heads`` ``(batch, heads, tgt, src)``."""
        query, steps = query.to(self.home.device), steps.to(self.home.device)
        outside, factor = self.window(query, steps, memory.lengths, memory.values.shape[-2])
        hidden = memory.padding if outside is None else memory.padding | outside
        if self.heads is not None:
            query = self._split(self.query(query))
            hidden = hidden.unsqueeze(1)
            factor = None if factor is None else factor.unsqueeze(1)
        energies = self.score(query, memory.keys)
        weights = energies.masked_fill(hidden, float("-inf")).softmax(-1)
        if factor is not None:
            weights = weights * factor
            if self.renormalise:
                weights = weights / weights.sum(-1, keepdim=True)
        return weights

    def _split(self, projected: Tensor) -> Tensor:
        """``(batch, positions, memory) -> (batch, heads, positions, head)``."""
        return projected.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def build_attention(
    setting: str, query_size: int, memory_size: int, options: Mapping[str, Any]
) -> Attention:
    """Build an ``Attention`` from the ``options`` that ``setting`` of the configuration holds.

    Raises ``ValueError``, in a line that names the override to change.
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
    """Build a window of ``WINDOWS``. Raises ``ValueError``."""
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
    """Build a score by its name in ``SCORES`` or a dotted path. Raises ``ValueError``."""
    kind = score_class(name)
    for option in options.keys() - signature(kind).parameters.keys():
        raise ValueError(
            f"model.attention.{option}: the score {name} has no such setting; leave it out with "
            f"~model.attention.{option}"
        )
    return kind(query_size, memory_size, **options)


def score_class(name: str) -> type[Score]:
    """Find a score by its name in ``SCORES`` or by a dotted path."""
    if name in SCORES:
        return SCORES[name]
    module, _, attribute = name.rpartition(".")
    try:
        found = getattr(import_module(module), attribute) if module else None
    except (ImportError, AttributeError, TypeError):  # the last for ..relative
        found = None
    if not (isinstance(found, type) and issubclass(found, Score)) or found.forward is Score.forward:
        raise ValueError(
            f"model.attention.score={name}: choose one of {', '.join(SCORES)}, "
            "or give the dotted path of a Score class"
        )
    return found
