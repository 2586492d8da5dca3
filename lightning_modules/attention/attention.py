"""Attention put together from a score and a window."""

from importlib import import_module
from typing import NamedTuple

from pydantic import validate_call
from torch import Tensor, nn

from lightning_modules.attention.scores import SCORES, Score
from lightning_modules.attention.windows import WINDOWS


class AttentionMemory(NamedTuple):
    """What attention needs to know of the source; no step changes it."""

    values: Tensor
    """Encoder states, ``(batch, src, memory)``."""
    keys: Tensor
    """The states projected by the score, ``(batch, src, key)``."""
    padding: Tensor
    """``(batch, 1, src)``, True where there is no token to look at."""
    lengths: Tensor
    """Real positions, ``(batch, 1)``."""


class Attention(nn.Module):
    """Looks at the memory with queries.

    Args:
        query_size: width of the queries.
        memory_size: width of the encoder states.
        score: a name of ``SCORES``, or the dotted path of a ``Score`` class.
        window: a name of ``WINDOWS``.
        half_width: D of the local windows, in source positions, at least 1.
        renormalise: make the weights sum to 1 again after local-p's Gaussian; the paper does not.

    Raises:
        ValueError: for an unknown name, or sizes that the score cannot bring together.
    """

    @validate_call
    def __init__(
        self,
        query_size: int,
        memory_size: int,
        score: str = "general",
        window: str = "global",
        half_width: int = 10,
        renormalise: bool = False,
    ) -> None:
        super().__init__()
        if window not in WINDOWS:
            raise ValueError(f"model.attention.window={window}: choose one of {', '.join(WINDOWS)}")
        if half_width < 1:
            raise ValueError(f"model.attention.half_width={half_width}: must be at least 1")
        self.score = score_class(score)(query_size, memory_size)
        self.window = WINDOWS[window](query_size, half_width)
        self.renormalise = renormalise

    def prepare(self, memory: Tensor, mask: Tensor) -> AttentionMemory:
        """Project the keys, once for each sentence: ``(batch, src, memory), (batch, src)``."""
        keys = self.score.project_keys(memory)
        return AttentionMemory(memory, keys, ~mask.unsqueeze(1), mask.sum(1, keepdim=True))

    def forward(
        self, query: Tensor, memory: AttentionMemory, steps: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return context ``(batch, tgt, memory)`` and weights ``(batch, tgt, src)``.

        Args:
            query: ``(batch, tgt, query)``.
            memory: from ``prepare``.
            steps: target position of each query, from 0, ``(batch, tgt)`` or ``(1, tgt)``.
        """
        view = self.window(query, steps, memory.lengths, memory.values.shape[1])
        hidden = memory.padding if view.outside is None else memory.padding | view.outside
        energies = self.score(query, memory.keys)
        weights = energies.masked_fill(hidden, float("-inf")).softmax(-1)
        if view.factor is not None:
            weights = weights * view.factor
            if self.renormalise:
                weights = weights / weights.sum(-1, keepdim=True)
        return weights @ memory.values, weights


def score_class(name: str) -> type[Score]:
    """Find a score by its name in ``SCORES`` or by a dotted path."""
    if name in SCORES:
        return SCORES[name]
    module, _, attribute = name.rpartition(".")
    try:
        found = getattr(import_module(module), attribute) if module else None
    except (ImportError, AttributeError):
        found = None
    if not (isinstance(found, type) and issubclass(found, Score)):
        raise ValueError(
            f"model.attention.score={name}: choose one of {', '.join(SCORES)}, "
            "or give the dotted path of a Score class"
        )
    return found
