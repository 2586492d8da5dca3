"""Windows: which source positions a decoder step may look at, and how much each counts.

``model.attention.window`` takes a name in ``WINDOWS`` or the dotted path of a ``Window`` class
(``my_package.MyWindow``).
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn
from typing_extensions import override

from lightning_modules.attention.scores import SLOW, Start
from lightning_modules.kernels.products import LinearLayer

SHARES = 0.02, 0.98
"""Least and largest share of the source at which a predicted centre starts, so that the sigmoid has
a slope there."""


class WindowMask(NamedTuple):
    """Source positions outside a window, and factors of the weights inside."""

    outside: Tensor | None
    """True where a query may not look, ``(batch, tgt, src)``; None for no such position."""
    factor: Tensor | None
    """Factor of the weights after the softmax, ``(batch, tgt, src)``; None for 1."""


class Window(nn.Module, ABC):
    """The source positions that each query may look at; at least one real position for each query.

    Further arguments of a constructor are options: other keys of ``model.attention`` set them. An
    argument ``start`` gets ``model.attention.start``.

    Args:
        query_size: width of the queries.
        half_width: D, in source positions; a local window spans ``[p_t - D, p_t + D]``.
    """

    least_half_width = 0  # smallest D for which no window is empty
    lr_factor: float = 1.0
    """Learning rate of the window's parameters, as a share of the optimizer's."""

    def __init__(self, query_size: int, half_width: int) -> None:
        super().__init__()
        self.query_size = query_size
        self.half_width = half_width

    @abstractmethod
    def forward(
        self, query: Tensor, steps: Tensor, src_lengths: Tensor, src_size: int
    ) -> WindowMask:
        """Return the window of each query ``(batch, tgt, query)``.

        Steps are the target positions, from 0, ``(batch, tgt)`` or ``(1, tgt)``; ``src_lengths``,
        ``(batch, 1)``, count the real source positions, ``src_size`` also those of padding.
        """

    def around(self, centre: Tensor, src_size: int) -> tuple[Tensor, Tensor]:
        """Return distances to ``centre`` ``(batch, tgt)`` and where they exceed D, ``(…, src)``."""
        positions = torch.arange(src_size, device=centre.device, dtype=centre.dtype)
        distance = positions - centre.unsqueeze(-1)
        return distance, distance.abs() > self.half_width


class Global(Window):
    """All source positions, equally."""

    @override
    def forward(
        self, query: Tensor, steps: Tensor, src_lengths: Tensor, src_size: int
    ) -> WindowMask:
        return WindowMask(None, None)


class LocalMonotonic(Window):
    """Luong et al. 2015, section 3.2, local-m: ``p_t = t``.

    A target longer than its source keeps looking at the last source position.
    """

    @override
    def forward(
        self, query: Tensor, steps: Tensor, src_lengths: Tensor, src_size: int
    ) -> WindowMask:
        centre = torch.minimum(steps, src_lengths - 1)
        return WindowMask(self.around(centre, src_size)[1], None)


class LocalPredictive(Window):
    """Luong et al. 2015, section 3.2, local-p, eqs. 9 and 10.

    ``p_t = S · sigmoid(v_pᵀ tanh(W_p h_t))`` is a real number with a gradient; the weights are
    multiplied by ``exp(-(s - p_t)² / 2σ²)`` with ``σ = D / 2``, so that they sum to at most 1.

    The centres start around S / 2. With ``start=simple`` they start at t, as in local-m, and leave
    it slowly: ``p_t = S · sigmoid(v_pᵀ tanh(W_p h_t) + logit((t + ½) / S))`` and ``v_p = 0`` at the
    start, the share of S between the ends of ``SHARES``. That is not in the paper.
    """

    least_half_width = 1

    def __init__(self, query_size: int, half_width: int, start: Start = "random") -> None:
        super().__init__(query_size, half_width)
        self.starts_at_step = start == "simple"
        self.hidden = LinearLayer(query_size, query_size, bias=False)
        self.position = LinearLayer(query_size, 1, bias=False)
        if self.starts_at_step:
            self.lr_factor = SLOW
            nn.init.zeros_(self.position.weight)

    @override
    def forward(
        self, query: Tensor, steps: Tensor, src_lengths: Tensor, src_size: int
    ) -> WindowMask:
        place = self.position(self.hidden(query).tanh()).squeeze(-1)
        place = place.to(torch.promote_types(place.dtype, torch.float32))  # bfloat16 is too coarse
        if self.starts_at_step:
            share = (steps.to(place.dtype) + 0.5) / src_lengths
            place = place + share.clamp(*SHARES).logit()
        distance, outside = self.around(src_lengths * place.sigmoid(), src_size)
        sigma = self.half_width / 2
        return WindowMask(outside, (distance.square() * (-1 / (2 * sigma**2))).exp())


WINDOWS: dict[str, type[Window]] = {
    "global": Global,
    "local_m": LocalMonotonic,
    "local_p": LocalPredictive,
}
