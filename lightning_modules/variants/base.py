"""The interface that training and decoding meet, whatever the variant."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from datamodules.tokenization import PAD
from lightning_modules.variants.arguments import Placement, Tied


class Decoded(NamedTuple):
    """A whole target decoded by teacher forcing."""

    features: Tensor
    """What the output layer reads, ``(batch, tgt, features)``."""
    weights: Tensor | None
    """Attention weights, ``(batch, tgt, src)``; None for a model without attention."""


class Step(NamedTuple):
    """One target position decoded."""

    features: Tensor
    """What the output layer reads, ``(batch, features)``."""
    state: Any
    """What the next step needs; see ``select_batch``."""
    weights: Tensor | None
    """``(batch, src)``; None for a model without attention."""


class Limit(NamedTuple):
    """The longest sentence whose positions a model can tell apart."""

    setting: str
    """The key of the configuration that says so."""
    src_tokens: int
    """EOS counted."""
    tgt_tokens: int | None
    """The same for targets; None for no limit."""


class EncoderDecoder(nn.Module, ABC):
    """Encode a source once, then decode a whole target or one token after the other.

    ``Memory`` and ``State`` are nested named tuples of tensors whose first dimension is the batch,
    so that a search can reorder, repeat and drop sentences without knowing the variant. A state may
    have several rows for each of the memory's, side by side: a beam reads one memory. Teacher
    forcing and stepwise decoding give equal numbers. The output layer is apart (``logits``), so
    that nothing but real positions and living hypotheses is projected.

    Args:
        src_vocabulary: source tokens.
        tgt_vocabulary: target tokens.
        embedding_size: width of both embeddings.
        features_size: width of what the output layer reads.
        tied: tables that are one; ``output`` is Press and Wolf 2017 (arXiv 1608.05859), ``all``
            Vaswani et al. 2017, section 3.4, which takes one vocabulary for both languages.
        placement: devices of the parts. Whoever moves the model (``.to``, Lightning) moves only
            what has no device of its own.

    Raises:
        ValueError: for tables that cannot be one.
    """

    def __init__(
        self,
        src_vocabulary: int,
        tgt_vocabulary: int,
        embedding_size: int,
        features_size: int,
        tied: Tied,
        placement: Placement,
    ) -> None:
        super().__init__()
        self.placement = placement
        self.src_embedding = nn.Embedding(src_vocabulary, embedding_size, padding_idx=PAD)
        self.tgt_embedding = nn.Embedding(tgt_vocabulary, embedding_size, padding_idx=PAD)
        self.output = nn.Linear(features_size, tgt_vocabulary)
        if tied != "none":
            self._tie(tied)
        if tied != "none" or self.embedding_scale != 1:
            self._draw_small_tables()

    def _tie(self, tied: Tied) -> None:
        embedding_size, features_size = self.tgt_embedding.embedding_dim, self.output.in_features
        if features_size != embedding_size:
            raise ValueError(
                f"model.tied={tied}: the output layer reads {features_size} numbers, an embedding "
                f"has {embedding_size}; make them equal or set model.tied=none"
            )
        self.output.weight = self.tgt_embedding.weight
        if tied == "all":
            if self.src_embedding.num_embeddings != self.tgt_embedding.num_embeddings:
                raise ValueError("model.tied=all: needs one vocabulary; set tokenizer.shared=true")
            if self.placement.encoder != self.placement.decoder:
                raise ValueError(
                    "model.tied=all: the encoder and the decoder share a table; set "
                    "model.placement.encoder and model.placement.decoder alike or model.tied=output"
                )
            self.src_embedding = self.tgt_embedding

    def _draw_small_tables(self) -> None:
        """Draw rows of unit length: an output layer made of torch's, of √width, bets at random."""
        for table in (self.src_embedding, self.tgt_embedding):
            nn.init.normal_(table.weight, std=table.embedding_dim**-0.5)
            nn.init.zeros_(table.weight[PAD].detach())

    @property
    def embedding_scale(self) -> float:
        """What embeddings are multiplied by before anything reads them."""
        return 1.0

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

    @abstractmethod
    def parts(self) -> dict[str, Iterable[nn.Module]]:
        """Return the modules that ``model.placement`` moves together, by its keys."""

    @property
    def looks_at_source(self) -> bool:
        """False for weights that are chosen without seeing what is in the source."""
        return True

    def head_weights(self, memory: Any, tgt_in: Tensor) -> Tensor | None:
        """Return all weights over the source, ``(batch, layers, heads, tgt, src)``.

        Those of ``decode`` are the last layer's, averaged over its heads. None for a model without
        attention. They are computed beside ``decode``, which is left as quick as it is: every
        attention is asked once more what it is asked there.
        """
        attentions = list(self.parts()["attention"])
        if not attentions:
            return None
        layers: list[list[Tensor]] = [[] for _ in attentions]
        with ExitStack() as watching:
            # Compiled blocks do not look for hooks that came later.
            watching.enter_context(torch.compiler.set_stance("force_eager"))
            for attention, seen in zip(attentions, layers, strict=True):
                watching.enter_context(attention.register_forward_pre_hook(partial(_watch, seen)))
            self.decode(memory, tgt_in)
        # One call for all positions, or one for each.
        return torch.stack([torch.cat(seen, 2) for seen in layers], 1)

    def blocks(self) -> Iterable[nn.Module]:
        """Return the modules that ``torch.compile`` is worth its start for."""
        return ()

    def layers(self) -> Iterable[nn.Module]:
        """Return the modules that a pass over whole sentences goes through once each.

        They are most of the model. Recurrent layers are not among them: most of what those keep is
        small, or their own kernels'.
        """
        return ()

    def logits(self, features: Tensor) -> Tensor:
        """Project to the target vocabulary: ``(…, features) -> (…, vocabulary)``."""
        return self.output(features)

    def limit(self) -> Limit | None:
        """Return the longest sentence that the model can tell apart; None: any length."""
        return None

    def place(self) -> None:
        """Bring the parts to their devices; a constructor ends with it."""
        for part, device in self.placement:
            for module in self.parts()[part] if device else ():
                module.to(device)

    def _apply(self, fn: Any, recurse: bool = True) -> "EncoderDecoder":
        """Give parts with a device of their own a new type only, whatever moves the whole."""
        homes = {
            id(tensor): device
            for part, device in self.placement
            for module in (self.parts()[part] if device else ())
            for held in chain(module.parameters(), module.buffers())
            for tensor in (held, held.grad)
        }

        def at_home(tensor: Tensor) -> Tensor:
            if id(tensor) not in homes:
                return fn(tensor)
            return tensor.to(homes[id(tensor)], fn(torch.empty(0, dtype=tensor.dtype)).dtype)

        super()._apply(at_home, recurse)
        return self


def _watch(seen: list[Tensor], attention: Any, asked: tuple[Any, ...]) -> None:
    """Keep the weights of each head for what an attention is asked."""
    seen.append(attention.head_weights(*asked))


def select_batch(tree: Any, index: Tensor) -> Any:
    """Pick batch entries of every tensor in nested tuples: ``index`` may repeat and reorder."""
    return for_each_tensor(tree, lambda tensor: tensor.index_select(0, index.to(tensor.device)))


def move(tree: Any, device: torch.device) -> Any:
    """Bring every tensor in nested tuples to ``device``."""
    return for_each_tensor(tree, lambda tensor: tensor.to(device))


def for_each_tensor(tree: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Return nested tuples with every tensor changed."""
    if isinstance(tree, Tensor):
        return change(tree)
    if isinstance(tree, tuple):
        changed = [for_each_tensor(branch, change) for branch in tree]
        return type(tree)(*changed) if hasattr(tree, "_fields") else tuple(changed)
    return tree
