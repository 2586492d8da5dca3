"""Score functions: how well a query and a source position match.

A new one is a class with ``project_keys`` and ``forward``; ``model.attention.score`` takes its
name in ``SCORES`` or its dotted path (``my_package.MyScore``). The leading dimensions ``…`` are
``batch``, or ``batch, heads``.
"""

import math
from typing import Literal

import torch
from pydantic import PositiveInt, validate_call
from torch import Tensor, nn
from torch.nn.functional import normalize

from lightning_modules.kernels import additive_energies, linear


class Score(nn.Module):
    """Energies of every query against every source position.

    Args:
        query_size: width of the queries.
        memory_size: width of the encoder states.
    """

    looks_at_source = True
    """False for a score that gives each position an energy without seeing what is there."""

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__()
        self.query_size = query_size
        self.memory_size = memory_size

    def project_keys(self, memory: Tensor) -> Tensor:
        """Do the part that no step changes: ``(…, src, memory) -> (…, src, key)``."""
        return memory

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """``(…, tgt, query), (…, src, key) -> energies (…, tgt, src)``; -inf is never looked at."""
        raise NotImplementedError


class Dot(Score):
    """Luong et al. 2015, eq. 8, "dot": ``h_tᵀ h̄_s``; both widths must be equal."""

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__(query_size, memory_size)
        if query_size != memory_size:
            raise ValueError(
                f"model.attention.score: {type(self).__name__} needs queries and encoder states of "
                f"one width, not {query_size} and {memory_size}: set model.attention.score=general "
                "or make model.hidden_size, the flags of model.query and model.encoder match"
            )

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """See the base class."""
        return linear(query, keys)


class ScaledDot(Dot):
    """Vaswani et al. 2017, eq. 1: ``h_tᵀ h̄_s / √d``."""

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """See the base class."""
        return super().forward(query / math.sqrt(self.query_size), keys)


class Cosine(Dot):
    """``cos(h_t, h̄_s) / τ`` with a learned temperature τ, which begins at 0.1.

    Cosines alone differ by at most 2, too little for a softmax to choose with.
    """

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__(query_size, memory_size)
        self.log_temperature = nn.Parameter(torch.tensor(math.log(0.1)))

    def project_keys(self, memory: Tensor) -> Tensor:
        """See the base class."""
        return normalize(memory, dim=-1)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """See the base class."""
        return super().forward(normalize(query, dim=-1) / self.log_temperature.exp(), keys)


class General(Score):
    """Luong et al. 2015, eq. 8, "general": ``h_tᵀ W_a h̄_s``; ``W_a h̄_s`` are the keys."""

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__(query_size, memory_size)
        self.key_projection = nn.Linear(memory_size, query_size, bias=False)
        # From torch's own start, smaller by √3, attention takes far longer to leave the uniform.
        nn.init.xavier_uniform_(self.key_projection.weight)

    def project_keys(self, memory: Tensor) -> Tensor:
        """See the base class."""
        return self.key_projection(memory)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """See the base class."""
        return linear(query, keys)


class Additive(Score):
    """Bahdanau et al. 2015, appendix A.1.2: ``vᵀ tanh(W s_{t-1} + U h̄_s)``; ``U h̄_s`` are the keys.

    The alignment layer is as wide as the query, as in the paper, unless ``alignment_size`` says
    otherwise.
    """

    @validate_call
    def __init__(
        self, query_size: int, memory_size: int, alignment_size: PositiveInt | None = None
    ) -> None:
        super().__init__(query_size, memory_size)
        size = alignment_size or query_size
        self.query_projection = nn.Linear(query_size, size, bias=False)
        self.key_projection = nn.Linear(memory_size, size, bias=False)
        self.energy = nn.Linear(size, 1, bias=False)

    def project_keys(self, memory: Tensor) -> Tensor:
        """See the base class."""
        return self.key_projection(memory)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """See the base class."""
        return additive_energies(self.query_projection(query), keys, self.energy.weight[0])


class Concat(Additive):
    """Luong et al. 2015, eq. 8, "concat": ``v_aᵀ tanh(W_a [h_t; h̄_s])``.

    ``W_a`` over the concatenation is one matrix for ``h_t`` beside one for ``h̄_s``, so that this is
    the additive score applied to the current state.
    """


class Linear(Score):
    """``w · [h_t; h̄_s] + b``: one fully connected layer straight into the softmax, no vector v.

    Without a nonlinearity the part of ``h_t`` is the same for every position and cancels in the
    softmax, so that the weights depend on the source alone: what ``activation=relu`` or ``tanh``
    changes.
    """

    @validate_call
    def __init__(
        self,
        query_size: int,
        memory_size: int,
        activation: Literal["none", "relu", "tanh"] = "none",
    ) -> None:
        super().__init__(query_size, memory_size)
        self.query_projection = nn.Linear(query_size, 1, bias=False)
        self.key_projection = nn.Linear(memory_size, 1)
        self.activation = nn.Identity() if activation == "none" else getattr(torch, activation)

    def project_keys(self, memory: Tensor) -> Tensor:
        """See the base class."""
        return self.key_projection(memory)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """See the base class."""
        return self.activation(self.query_projection(query) + keys.transpose(-1, -2))


class Location(Score):
    """Luong et al. 2015, section 3.1, "location": ``a_t = softmax(W_a h_t)``.

    The source is not looked at: ``W_a`` has a row for each of ``max_length`` positions. As in the
    paper, a shorter sentence uses the first of them and a longer one is not looked at beyond them.
    """

    looks_at_source = False

    @validate_call
    def __init__(self, query_size: int, memory_size: int, max_length: PositiveInt = 100) -> None:
        super().__init__(query_size, memory_size)
        self.max_length = max_length
        self.positions = nn.Linear(query_size, max_length, bias=False)

    def project_keys(self, memory: Tensor) -> Tensor:
        """Keep nothing of the source but how long it is: ``(…, src, 0)``."""
        return memory[..., :0]

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """See the base class."""
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
