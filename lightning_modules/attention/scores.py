"""Score functions: how well a query and a source position match.

A new one is a class with ``project_keys`` and ``forward``; ``model.attention.score`` takes its
name in ``SCORES`` or its dotted path (``my_package.MyScore``).
"""

from torch import Tensor, nn


class Score(nn.Module):
    """Energies of every query against every source position.

    Args:
        query_size: width of the queries.
        memory_size: width of the encoder states.
    """

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__()
        self.query_size = query_size
        self.memory_size = memory_size

    def project_keys(self, memory: Tensor) -> Tensor:
        """Do the part that no step changes: ``(batch, src, memory) -> (batch, src, key)``."""
        return memory

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """``(batch, tgt, query), (batch, src, key) -> energies (batch, tgt, src)``."""
        raise NotImplementedError


class Dot(Score):
    """Luong et al. 2015, eq. 8, "dot": ``h_tᵀ h̄_s``; both widths must be equal."""

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__(query_size, memory_size)
        if query_size != memory_size:
            raise ValueError(
                f"score 'dot' needs queries and memory of one width, not {query_size} and "
                f"{memory_size}: set model.attention.score=general or make the widths equal"
            )

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """See the base class."""
        return query @ keys.transpose(1, 2)


class General(Score):
    """Luong et al. 2015, eq. 8, "general": ``h_tᵀ W_a h̄_s``; ``W_a h̄_s`` are the keys."""

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__(query_size, memory_size)
        self.key_projection = nn.Linear(memory_size, query_size, bias=False)

    def project_keys(self, memory: Tensor) -> Tensor:
        """See the base class."""
        return self.key_projection(memory)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """See the base class."""
        return query @ keys.transpose(1, 2)


class Additive(Score):
    """Bahdanau et al. 2015, appendix A.1.2: ``vᵀ tanh(W s_{t-1} + U h̄_s)``; ``U h̄_s`` are the keys.

    The alignment layer is as wide as the query, as in the paper.
    """

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__(query_size, memory_size)
        self.query_projection = nn.Linear(query_size, query_size, bias=False)
        self.key_projection = nn.Linear(memory_size, query_size, bias=False)
        self.energy = nn.Linear(query_size, 1, bias=False)

    def project_keys(self, memory: Tensor) -> Tensor:
        """See the base class."""
        return self.key_projection(memory)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """See the base class."""
        hidden = (self.query_projection(query).unsqueeze(2) + keys.unsqueeze(1)).tanh()
        return (hidden @ self.energy.weight[0]).to(hidden.dtype)


class Concat(Additive):
    """Luong et al. 2015, eq. 8, "concat": ``v_aᵀ tanh(W_a [h_t; h̄_s])``.

    ``W_a`` over the concatenation is one matrix for ``h_t`` beside one for ``h̄_s``, so that this is
    the additive score applied to the current state.
    """


SCORES: dict[str, type[Score]] = {
    "dot": Dot,
    "general": General,
    "additive": Additive,
    "concat": Concat,
}
