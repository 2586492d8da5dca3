"""The interface of all variants to training and decoding."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from lightning_modules.variants.options import Placement


class Decoded(NamedTuple):
    """A whole target decoded by teacher forcing."""

    features: Tensor
    """Argument of ``logits``, ``(batch, tgt, features)``."""
    weights: Tensor | None
    """Attention weights, ``(batch, tgt, src)``; None for a model without attention."""


class Step(NamedTuple):
    """One target position decoded."""

    features: Tensor
    """Argument of ``logits``, ``(batch, features)``."""
    state: Any
    """State for the next step; see ``select_batch``."""
    weights: Tensor | None
    """Attention weights, ``(batch, src)``; None for a model without attention."""


class Limit(NamedTuple):
    """The longest sentence whose positions a model can distinguish."""

    setting: str
    """Configuration key of the limit."""
    src_tokens: int
    """Number of source tokens, EOS included."""
    tgt_tokens: int | None
    """Number of target tokens; None for no limit."""


class EncoderDecoder(nn.Module, ABC):
    """Encode a source once, then decode a whole target or one token after the other.

    ``Memory`` and ``State`` are nested named tuples of tensors whose first dimension is the batch,
    so that a search can reorder, repeat and drop sentences without knowing the variant. A state may
    have several adjacent rows for each row of the memory: a beam shares one memory. Teacher forcing
    and stepwise decoding give equal numbers. ``logits`` is separate, so that only real positions
    and unfinished hypotheses are projected to the vocabulary.
    """

    placement = Placement()
    """Devices of the parts; None for Lightning's device."""

    @property
    @abstractmethod
    def features_size(self) -> int:
        """Width of the argument of ``logits``."""

    @abstractmethod
    def encode(self, src: Tensor, src_mask: Tensor, src_lengths: Tensor | None = None) -> Any:
        """Return the memory of a source, which no step changes.

        Args:
            src: ``(batch, src)`` token ids.
            src_mask: True where a token is real, ``(batch, src)``.
            src_lengths: number of real tokens, ``(batch,)``, on the CPU; None to count them in the
                mask, for which the processor waits for a GPU.
        """

    @abstractmethod
    def initial_state(self, memory: Any) -> Any:
        """Return the state before the first target token."""

    @abstractmethod
    def decode(self, memory: Any, tgt_in: Tensor) -> Decoded:
        """Decode all positions of a given target ``(batch, tgt)`` that starts with BOS."""

    @abstractmethod
    def step(self, memory: Any, state: Any, last_token: Tensor) -> Step:
        """Decode the position after ``last_token`` ``(batch,)``."""

    @abstractmethod
    def logits(self, features: Tensor) -> Tensor:
        """Project to the target vocabulary: ``(…, features) -> (…, vocabulary)``."""

    def loss(self, features: Tensor, tokens: Tensor, label_smoothing: float = 0.0) -> Tensor:
        """Return the mean cross-entropy in nats.

        Args:
            features: ``(positions, features)``.
            tokens: ``(positions,)``, the right token of each position.
            label_smoothing: probability spread evenly over the vocabulary.
        """
        return cross_entropy(self.logits(features), tokens, label_smoothing=label_smoothing)

    @property
    def device(self) -> torch.device:
        """Device of the logits."""
        return next(self.parameters()).device

    @property
    def is_content_based(self) -> bool:
        """Whether attention weights depend on the content of the source."""
        return True

    def head_weights(self, memory: Any, tgt_in: Tensor) -> Tensor | None:
        """Return the weights of all layers and heads, ``(batch, layers, heads, tgt, src)``.

        None for a model without attention, and for an ensemble. (``decode`` returns the weights of
        the last layer, averaged over the heads.)
        """
        return None

    def parts(self) -> dict[str, Iterable[nn.Module]]:
        """Return the modules of each part in ``model.placement``."""
        return dict.fromkeys(Placement.model_fields, ())

    def blocks(self) -> Iterable[nn.Module]:
        """Return the modules for which ``torch.compile`` saves more time than it takes."""
        return ()

    def compile_blocks(self, **options: Any) -> None:
        """Compile the blocks, for any sentence length; ``options`` are those of torch.compile."""
        for block in self.blocks():
            block.compile(dynamic=True, **options)

    def layers(self) -> Iterable[nn.Module]:
        """Return the layers that process whole sentences, for activation checkpointing.

        Recurrent layers are not included: most of their activations are small, or kept by fused
        kernels.
        """
        return ()

    def limit(self) -> Limit | None:
        """Return the longest sentence with distinct positions; None for no limit."""
        return None


def count_parameters(model: nn.Module) -> int:
    """Return the number of trainable parameters; frozen word vectors do not count."""
    return sum(part.numel() for part in model.parameters() if part.requires_grad)


def select_batch(tree: Any, index: Tensor) -> Any:
    """Pick batch entries of every tensor in nested tuples.

    Args:
        tree: a memory, a state, or a part of one.
        index: entries, ``(rows,)``, which may repeat and reorder; or for a state the rows of beams,
            ``(sentences, beam)``, each from the beam of its sentence. Sentences may leave, but keep
            their order; their beams then share what their rows have in common.
    """
    if isinstance(tree, Selectable):
        return tree.select(index)
    if isinstance(tree, tuple):
        return _rebuilt(tree, [select_batch(branch, index) for branch in tree])
    if not isinstance(tree, Tensor):
        return tree
    return tree.index_select(0, index.flatten().to(tree.device))


def move(tree: Any, device: torch.device) -> Any:
    """Move every tensor in nested tuples to ``device``."""
    return for_each_tensor(tree, lambda tensor: tensor.to(device))


class Selectable(ABC):
    """A part of a memory or a state that picks batch entries in its own way."""

    @abstractmethod
    def select(self, index: Tensor) -> Any:
        """Return the part with the rows of ``index``; see ``select_batch``."""


def for_each_tensor(tree: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Return nested tuples with ``change`` applied to every tensor."""
    if isinstance(tree, Tensor):
        return change(tree)
    if isinstance(tree, tuple):
        return _rebuilt(tree, [for_each_tensor(branch, change) for branch in tree])
    return tree


def _rebuilt(tree: Any, branches: list[Any]) -> Any:
    """Return a tuple or named tuple of the kind of ``tree`` with other branches."""
    return type(tree)(*branches) if hasattr(tree, "_fields") else tuple(branches)
