"""The interface of all variants to training and decoding."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from itertools import chain
from typing import Any, Literal, NamedTuple

import torch
from lightning_utilities.core.apply_func import apply_to_collection
from pydantic import BaseModel, ConfigDict, field_validator
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from typing_extensions import override

from datamodules.batching import PackedBatch
from datamodules.tokenization import PAD
from lightning_modules.kernels.chunked import output_loss
from lightning_modules.kernels.products import LinearLayer

ROWS = 1024  # positions projected to the vocabulary at a time, where each loss is kept
Tied = Literal["none", "output", "all"]
"""Shared tables: none, target embedding and output layer, or these two and the source embedding."""


class Options(BaseModel):
    """A group of options, described in ``conf/settings.yaml``; an unknown option is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Placement(Options):
    """Device of each part of a model too large for one device; None for Lightning's device."""

    encoder: str | None = None
    attention: str | None = None
    decoder: str | None = None

    @field_validator("*")
    @classmethod
    def _exists(cls, name: str | None) -> str | None:
        if name is None:
            return None
        try:
            device = torch.device(name)
            if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
                raise RuntimeError
            torch.empty(0, device=device)
        except (RuntimeError, AssertionError, NotImplementedError):  # depends on torch's build
            raise ValueError(
                f"no device of this machine; write cpu, or cuda:N for its "
                f"{torch.cuda.device_count()} CUDA devices"
            ) from None
        return name


class DecoderOutput(NamedTuple):
    """A whole target decoded by teacher forcing."""

    features: Tensor  # argument of `logits`, `(batch, tgt, features)`
    weights: Tensor | None
    """Attention weights, ``(batch, tgt, src)``; None for a model without attention."""


class Step(NamedTuple):
    """One target position decoded."""

    features: Tensor  # argument of `logits`, `(batch, features)`
    state: Any  # state for the next step; see `select_batch`
    weights: Tensor | None  # attention weights, `(batch, src)`; None for a model without attention


class Limit(NamedTuple):
    """The longest sentence whose positions a model can distinguish."""

    setting: str  # configuration key of the limit
    src_tokens: int | None  # number of source tokens, EOS included; None for no limit
    tgt_tokens: int | None  # number of target tokens; None for no limit


class EncoderDecoder(nn.Module, ABC):
    """Encode a source once, then decode a whole target or one token after the other.

    ``Memory`` and ``State`` are nested named tuples of tensors whose first dimension is the batch,
    so that a search can reorder, repeat and drop sentences without knowing the variant. A state may
    have several adjacent rows for each row of the memory: a beam shares one memory. Teacher forcing
    and stepwise decoding give equal numbers. ``logits`` is separate, so that only real positions
    and unfinished hypotheses are projected to the vocabulary.
    """

    placement = Placement()  # devices of the parts; None for Lightning's device

    @property
    @abstractmethod
    def features_size(self) -> int:
        """Width of the argument of ``logits``."""

    @abstractmethod
    def encode(self, src: Tensor, src_mask: Tensor) -> Any:
        """Return the memory of a source ``(batch, src)``, which no step changes.

        The mask, ``(batch, src)``, is True where a token is real.
        """

    @abstractmethod
    def initial_state(self, memory: Any) -> Any:
        """Return the state before the first target token."""

    def constant_state(self, memory: Any, rows: int, positions: int) -> Any:
        """Return the state before the first token for a captured search of so many ``positions``.

        No step changes the shapes of its tensors. It has ``rows`` adjacent rows for each sentence;
        a part that orders its rows itself has the sentence as first dimension, and ``continued``.
        A variant whose ``initial_state`` grows is searched without capture.
        """
        return for_each_tensor(
            self.initial_state(memory), lambda tensor: tensor.repeat_interleave(rows, 0)
        )

    @abstractmethod
    def decode(self, memory: Any, tgt_in: Tensor) -> DecoderOutput:
        """Decode all positions of a given target ``(batch, tgt)`` that starts with BOS."""

    @abstractmethod
    def step(self, memory: Any, state: Any, last_token: Tensor) -> Step:
        """Decode the position after ``last_token`` ``(batch,)``."""

    @abstractmethod
    def logits(self, features: Tensor) -> Tensor:
        """Project to the target vocabulary: ``(…, features) -> (…, vocabulary)``."""

    def cannot_capture(self) -> str | None:
        """Return why updates of this model cannot be captured, in words; None if they can.

        The operators of a captured update, and their shapes, depend on the shape of a batch alone.
        """
        if any(device is not None for _, device in self.placement):
            return "model.placement puts parts on several devices"
        return None

    def loss(
        self,
        features: Tensor,
        tokens: Tensor,
        label_smoothing: float = 0.0,
        count: Tensor | None = None,
    ) -> Tensor:
        """Return the mean cross-entropy in nats: ``(positions, features), (positions,) -> ()``.

        With a ``count`` ``()`` of real positions, the tokens at other positions are -1, and the
        loss is the mean over real positions.
        """
        logits = self.logits(features)
        if count is None:
            return cross_entropy(logits, tokens, label_smoothing=label_smoothing)
        options: Any = {"ignore_index": -1, "reduction": "sum", "label_smoothing": label_smoothing}
        return cross_entropy(logits, tokens, **options) / count

    def token_losses(self, features: Tensor, tokens: Tensor) -> Tensor:
        """Return the cross-entropy of each position in nats, in float32.

        ``(positions, features), (positions,) -> (positions,)``.
        """
        return torch.cat(
            [
                cross_entropy(self.logits(part).float(), wanted, reduction="none")
                for part, wanted in zip(features.split(ROWS), tokens.split(ROWS), strict=True)
            ]
        )

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

        None without attention, and for an ensemble. ``decode`` returns the mean of the last layer.
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

    def cannot_pack(self) -> str | None:
        """Return why updates of this model need padded batches, in words; None if not."""
        return f"{type(self).__name__} reads padded batches"

    def decode_packed(self, packed: PackedBatch) -> Tensor:
        """Return the features of packed sentences, ``(room, features)``; see ``cannot_pack``."""
        raise NotImplementedError

    def layers(self) -> Iterable[nn.Module]:
        """Return the layers that process whole sentences, for activation checkpointing.

        Not recurrent layers: most of their activations are small, or kept by fused kernels.
        """
        return ()

    def limit(self) -> Limit | None:
        """Return the longest sentence with distinct positions; None for no limit."""
        return None


def count_parameters(model: nn.Module) -> int:
    """Return the number of trainable parameters; frozen word vectors do not count."""
    return sum(part.numel() for part in model.parameters() if part.requires_grad)


def select_batch(tree: Any, index: Tensor) -> Any:
    """Pick batch entries of every tensor in nested tuples: a memory, a state, or a part of one.

    ``index`` are entries, ``(rows,)`` or ``(sentences, beam)``, which may repeat and reorder.
    """
    rows = index.flatten()
    return for_each_tensor(tree, lambda tensor: tensor.index_select(0, rows.to(tensor.device)))


def move(tree: Any, device: torch.device) -> Any:
    """Move every tensor in nested tuples to ``device``."""
    return for_each_tensor(tree, lambda tensor: tensor.to(device))


def for_each_tensor(tree: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Return nested tuples with ``change`` applied to every tensor."""
    return apply_to_collection(tree, Tensor, change)


class EmbeddedEncoderDecoder(EncoderDecoder):
    """An encoder-decoder with a table of embeddings for each language, and an output layer.

    ``features_size`` is the width of the input of the output layer. Tables are shared (``tied``)
    as in Press and Wolf 2017 (arXiv 1608.05859), ``output``, or as in Vaswani et al. 2017, section
    3.4, ``all``: one vocabulary for both languages. ``.to`` and Lightning move only parts without a
    device in ``placement``. Raises ``ValueError`` for tables that cannot be shared.
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
        self.output = LinearLayer(features_size, tgt_vocabulary)
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
        """Draw rows of length 1: torch's rows, of length √width, make extreme first predictions."""
        for table in (self.src_embedding, self.tgt_embedding):
            nn.init.normal_(table.weight, std=table.embedding_dim**-0.5)
            nn.init.zeros_(table.weight[PAD].detach())

    @property
    def embedding_scale(self) -> float:
        """Factor of the embeddings."""
        return 1.0

    @property
    @override
    def features_size(self) -> int:
        return self.output.in_features

    @override
    def logits(self, features: Tensor) -> Tensor:
        return self.output(features)

    @override
    def loss(
        self,
        features: Tensor,
        tokens: Tensor,
        label_smoothing: float = 0.0,
        count: Tensor | None = None,
    ) -> Tensor:
        output = self.output
        return output_loss(features, output.weight, output.bias, tokens, label_smoothing, count)

    @property
    @override
    def device(self) -> torch.device:
        return self.output.weight.device

    @override
    @abstractmethod
    def parts(self) -> dict[str, Iterable[nn.Module]]: ...

    @override
    def head_weights(self, memory: Any, tgt_in: Tensor) -> Tensor | None:
        """Compute the weights again, by hooks that read the arguments of each attention."""
        attentions = list(self.parts()["attention"])
        if not attentions:
            return None
        layers: list[list[Tensor]] = [[] for _ in attentions]
        with ExitStack() as hooks:
            # Compiled blocks ignore hooks that are registered after compilation.
            hooks.enter_context(torch.compiler.set_stance("force_eager"))
            for attention, weights in zip(attentions, layers, strict=True):

                def append(module: Any, inputs: tuple, weights: list[Tensor] = weights) -> None:
                    weights.append(module.head_weights(*inputs))

                hooks.enter_context(attention.register_forward_pre_hook(append))
            self.decode(memory, tgt_in)
        # Each list holds one tensor for all positions, or one tensor per position.
        return torch.stack([torch.cat(weights, 2) for weights in layers], 1)

    def place(self) -> None:
        """Move the placed parts to their devices; the last line of every constructor."""
        for part, device in self.placement:
            for module in self.parts()[part] if device else ():
                module.to(device)

    @override
    def _apply(self, fn: Any, recurse: bool = True) -> "EncoderDecoder":
        """Placed parts change dtype but stay on their device."""
        devices = {
            id(tensor): device
            for part, device in self.placement
            for module in (self.parts()[part] if device else ())
            for value in chain(module.parameters(), module.buffers())
            for tensor in (value, value.grad)
        }

        def keep_device(tensor: Tensor) -> Tensor:
            if id(tensor) not in devices:
                return fn(tensor)
            return tensor.to(devices[id(tensor)], fn(torch.empty(0, dtype=tensor.dtype)).dtype)

        super()._apply(keep_device, recurse)
        return self
