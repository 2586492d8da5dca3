"""Score functions: how well a query and a source position match.

``model.attention.score`` takes a name in ``SCORES`` or the dotted path of a ``Score`` class
(``my_package.MyScore``). The leading dimensions ``…`` are ``batch``, or ``batch, heads``.
"""

import math
from abc import ABC, abstractmethod
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize
from typing_extensions import override

from lightning_modules.kernels.additive_rows import share_additive_keys
from lightning_modules.kernels.chunked import additive_energies
from lightning_modules.kernels.products import LinearLayer
from lightning_modules.kernels.shared import accumulate_once, linear

Start = Literal["random", "simple"]
"""Where a score or a window starts: drawn at random, or as the simpler form that it extends."""
SLOW = 0.1
"""``lr_factor`` of a score or a window that starts as a simpler one. Full steps would make
attention sharp on wrong words before the states mean much."""


class Score(nn.Module, ABC):
    """Energies of every query against every source position.

    Further arguments of a constructor are options: other keys of ``model.attention`` set them. An
    argument ``start`` gets ``model.attention.start``.

    Args:
        query_size: width of the queries.
        memory_size: width of the encoder states.
    """

    is_content_based = True
    """Whether energies depend on the content of the source; False for a score by position alone."""
    max_length: int | None = None
    """Number of source positions that have an energy, the value of an option of this name; None for
    no limit."""
    lr_factor: float = 1.0
    """Learning rate of the score's parameters, as a share of the optimizer's;
    ``model.attention.score_rate`` sets another."""

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__()
        self.query_size = query_size
        self.memory_size = memory_size

    def project_keys(self, memory: Tensor) -> Tensor:
        """Project the memory once per sentence: ``(…, src, memory) -> (…, src, key)``."""
        return memory

    def share_keys(self, keys: Tensor) -> Tensor:
        """Return the keys for a loop over the target, with one gradient for all of its steps."""
        return accumulate_once(keys)

    @abstractmethod
    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return energies: ``(…, tgt, query), (…, src, key) -> (…, tgt, src)``.

        A position with energy -inf gets weight 0.
        """


class Dot(Score):
    """Luong et al. 2015, eq. 8, "dot": ``h_tᵀ h̄_s``; both widths must be equal."""

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__(query_size, memory_size)
        if query_size != memory_size:
            raise ValueError(
                f"{type(self).__name__} needs queries and encoder states of one width, not "
                f"{query_size} and {memory_size}; set model.attention.score=general or make "
                "model.hidden_size, the flags of model.query and model.encoder match"
            )

    @override
    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return linear(query, keys)


class ScaledDot(Dot):
    """Vaswani et al. 2017, eq. 1: ``h_tᵀ h̄_s / √d``."""

    @override
    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return super().forward(query / math.sqrt(self.query_size), keys)


class Cosine(Dot):
    """``cos(h_t, h̄_s) / τ`` with a learned temperature τ that starts at 0.1.

    Without τ, energies would differ by at most 2, and the softmax would stay nearly uniform.
    """

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__(query_size, memory_size)
        self.log_temperature = nn.Parameter(torch.full((), math.log(0.1)))

    @override
    def project_keys(self, memory: Tensor) -> Tensor:
        return normalize(memory, dim=-1)

    @override
    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return super().forward(normalize(query, dim=-1) / self.log_temperature.exp(), keys)


class General(Score):
    """Luong et al. 2015, eq. 8, "general": ``h_tᵀ W_a h̄_s``; ``W_a h̄_s`` are the keys.

    With ``start=simple``, ``W_a`` starts as the identity, so that the score starts as ``Dot``, and
    leaves it slowly. (For two different widths, ``W_a`` starts at random.)
    """

    def __init__(self, query_size: int, memory_size: int, start: Start = "random") -> None:
        super().__init__(query_size, memory_size)
        self.key_projection = LinearLayer(memory_size, query_size, bias=False)
        nn.init.xavier_uniform_(self.key_projection.weight)
        if start == "simple":
            self.lr_factor = SLOW
            if query_size == memory_size:
                nn.init.eye_(self.key_projection.weight)

    @override
    def project_keys(self, memory: Tensor) -> Tensor:
        return self.key_projection(memory)

    @override
    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return linear(query, keys)


class Additive(Score):
    """Bahdanau et al. 2015, appendix A.1.2: ``vᵀ tanh(W s_{t-1} + U h̄_s)``; ``U h̄_s`` are the keys.

    ``alignment_size`` is the width of the alignment layer; None for the width of the query, as in
    the paper.
    """

    def __init__(
        self, query_size: int, memory_size: int, alignment_size: int | None = None
    ) -> None:
        super().__init__(query_size, memory_size)
        size = query_size if alignment_size is None else alignment_size
        if size < 1:
            raise ValueError(f"alignment_size={size} must be at least 1")
        self.query_projection = LinearLayer(query_size, size, bias=False)
        self.key_projection = LinearLayer(memory_size, size, bias=False)
        self.energy = LinearLayer(size, 1, bias=False)

    @override
    def project_keys(self, memory: Tensor) -> Tensor:
        return self.key_projection(memory)

    @override
    def share_keys(self, keys: Tensor) -> Tensor:
        return share_additive_keys(keys, self.energy.weight[0])

    @override
    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return additive_energies(self.query_projection(query), keys, self.energy.weight[0])


class Concat(Additive):
    """Luong et al. 2015, eq. 8, "concat": ``v_aᵀ tanh(W_a [h_t; h̄_s])``.

    ``W_a`` is a matrix for ``h_t`` and another for ``h̄_s``, so this is the additive score with the
    current state as query.
    """


class Linear(Score):
    """``w · [h_t; h̄_s] + b``: one fully connected layer straight into the softmax, no vector v.

    Without an activation, the term of ``h_t`` is the same at every position and cancels in the
    softmax: the weights depend on the source alone. ``activation=relu`` or ``tanh`` prevents this.
    """

    def __init__(self, query_size: int, memory_size: int, activation: str = "none") -> None:
        super().__init__(query_size, memory_size)
        self.query_projection = LinearLayer(query_size, 1, bias=False)
        self.key_projection = LinearLayer(memory_size, 1)
        self.activation = nn.Identity() if activation == "none" else getattr(torch, activation)

    @override
    def project_keys(self, memory: Tensor) -> Tensor:
        return self.key_projection(memory)

    @override
    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return self.activation(self.query_projection(query) + keys.transpose(-1, -2))


class Location(Score):
    """Luong et al. 2015, section 3.1, "location": ``a_t = softmax(W_a h_t)``.

    The content of the source is not used: ``W_a`` has a row for each of ``max_length`` positions.
    As in the paper, a shorter sentence uses the first rows, and positions of a longer sentence
    beyond ``max_length`` get weight 0.
    """

    is_content_based = False

    def __init__(self, query_size: int, memory_size: int, max_length: int = 100) -> None:
        super().__init__(query_size, memory_size)
        self.max_length: int = max_length
        self.positions = LinearLayer(query_size, max_length, bias=False)

    @override
    def project_keys(self, memory: Tensor) -> Tensor:
        """Keep only the length of the source: ``(…, src, memory) -> (…, src, 0)``."""
        return memory[..., :0]

    @override
    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        src = keys.shape[-2]
        energies = self.positions(query)[..., :src]
        beyond = energies.new_full((*energies.shape[:-1], max(0, src - self.max_length)), -math.inf)
        return torch.cat([energies, beyond], -1)


SCORES: dict[str, type[Score]] = {
    "dot": Dot,
    "scaled_dot": ScaledDot,
    "cosine": Cosine,
    "general": General,
    "additive": Additive,
    "concat": Concat,
    "linear": Linear,
    "location": Location,
}
