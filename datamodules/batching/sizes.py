"""Settings of the batches."""

from pydantic import NonNegativeInt, PositiveInt
from pydantic.dataclasses import dataclass


@dataclass(frozen=True)
class Batching:
    """Sizes of batches in tokens, padding included, and how batches are built.

    Instantiated from ``conf/batching``.
    """

    max_tokens: PositiveInt
    """Limit on sentences × longest side (EOS counted) of a training batch."""
    decode_max_tokens: PositiveInt
    """Limit on sentences × longest side in validation, test and translation batches."""
    by_length: bool = True
    """Whether a training batch holds sentences of similar length; else of any length."""
    pieces: PositiveInt | None = None
    """Number of pieces into which a training batch is divided; None for one piece on each rank."""
    workers: NonNegativeInt = 1
    """Number of threads that build training batches ahead; 0 to build each when it is used."""
