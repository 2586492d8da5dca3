"""The interface that training and decoding meet, whatever the variant."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from torch import Tensor, nn

from datamodules.tokenization import PAD


class Decoded(NamedTuple):
    """A whole target decoded by teacher forcing."""

    features: Tensor
    """What the output layer reads, ``(batch, tgt, features)``."""
    weights: Tensor | None
    """Attention weights, ``(batch, tgt, src)``; None for a model without attention."""


class Step(NamedTuple):
    """One target position decoded."""

    logits: Tensor
    """``(batch, vocabulary)``."""
    state: Any
    """What the next step needs; see ``select_batch``."""
    weights: Tensor | None
    """``(batch, src)``; None for a model without attention."""


class EncoderDecoder(nn.Module, ABC):
    """Encode a source once, then decode a whole target or one token after the other.

    ``Memory`` and ``State`` are nested named tuples of tensors whose first dimension is the batch,
    so that a search can reorder, repeat and drop sentences without knowing the variant. Teacher
    forcing and stepwise decoding give equal numbers. The output layer is apart (``logits``), so
    that training projects real positions only.
    """

    def __init__(self, src_vocabulary: int, tgt_vocabulary: int, width: int) -> None:
        """Make what all variants have: two embeddings and the output layer, ``width`` wide."""
        super().__init__()
        self.src_embedding = nn.Embedding(src_vocabulary, width, padding_idx=PAD)
        self.tgt_embedding = nn.Embedding(tgt_vocabulary, width, padding_idx=PAD)
        self.output = nn.Linear(width, tgt_vocabulary)

    @abstractmethod
    def encode(self, src: Tensor, src_mask: Tensor) -> Any:
        """``(batch, src)`` ids and mask -> memory: all about the source that no step changes."""

    @abstractmethod
    def initial_state(self, memory: Any) -> Any:
        """Return the state before the first target token."""

    @abstractmethod
    def decode(self, memory: Any, tgt_in: Tensor) -> Decoded:
        """Decode a given target ``(batch, tgt)`` that starts with BOS, all positions."""

    @abstractmethod
    def step(self, memory: Any, state: Any, last_token: Tensor) -> Step:
        """Decode the position after ``last_token`` ``(batch,)``."""

    def logits(self, features: Tensor) -> Tensor:
        """Project to the target vocabulary: ``(…, features) -> (…, vocabulary)``."""
        return self.output(features)


def select_batch(tree: Any, index: Tensor) -> Any:
    """Pick batch entries of every tensor in nested tuples: ``index`` may repeat and reorder."""
    if isinstance(tree, Tensor):
        return tree.index_select(0, index)
    if isinstance(tree, tuple):
        picked = [select_batch(branch, index) for branch in tree]
        return type(tree)(*picked) if hasattr(tree, "_fields") else tuple(picked)
    return tree
