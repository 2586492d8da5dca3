"""The base class of variants with word embeddings and one output layer."""

from abc import abstractmethod
from collections.abc import Iterable
from contextlib import ExitStack
from functools import partial
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from typing_extensions import override

from datamodules.tokenization import PAD
from lightning_modules.kernels import LinearLayer, output_loss
from lightning_modules.variants.base import EncoderDecoder
from lightning_modules.variants.options import Placement, Tied


class EmbeddedEncoderDecoder(EncoderDecoder):
    """An encoder-decoder with a table of embeddings for each language, and an output layer.

    Args:
        src_vocabulary: number of source tokens.
        tgt_vocabulary: number of target tokens.
        embedding_size: width of both embeddings.
        features_size: width of the input of the output layer.
        tied: shared tables; ``output`` as in Press and Wolf 2017 (arXiv 1608.05859), ``all`` as in
            Vaswani et al. 2017, section 3.4, with one vocabulary for both languages.
        placement: devices of the parts. ``.to`` and Lightning move only parts without a device
            here.

    Raises:
        ValueError: for tables that cannot be shared.
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
    def loss(self, features: Tensor, tokens: Tensor, label_smoothing: float = 0.0) -> Tensor:
        output = self.output
        return output_loss(features, output.weight, output.bias, tokens, label_smoothing)

    @property
    @override
    def device(self) -> torch.device:
        return self.output.weight.device

    @override
    @abstractmethod
    def parts(self) -> dict[str, Iterable[nn.Module]]: ...

    @override
    def head_weights(self, memory: Any, tgt_in: Tensor) -> Tensor | None:
        """Compute the weights a second time, by hooks that read the arguments of each attention.

        So ``decode`` stays fast.
        """
        attentions = list(self.parts()["attention"])
        if not attentions:
            return None
        layers: list[list[Tensor]] = [[] for _ in attentions]
        with ExitStack() as hooks:
            # Compiled blocks ignore hooks that are registered after compilation.
            hooks.enter_context(torch.compiler.set_stance("force_eager"))
            for attention, weights in zip(attentions, layers, strict=True):
                hook = partial(_append_head_weights, weights)
                hooks.enter_context(attention.register_forward_pre_hook(hook))
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


def _append_head_weights(weights: list[Tensor], attention: Any, inputs: tuple[Any, ...]) -> None:
    weights.append(attention.head_weights(*inputs))
