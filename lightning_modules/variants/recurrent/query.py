"""The query of an attention to the source."""

from typing import Literal

import torch
from torch import Tensor

from lightning_modules.variants.options import Options


class QueryOptions(Options):
    """``model.query``. Each flag adds a part to the query."""

    state: Literal["previous", "current"] = "current"
    """``s_{t-1}``, with a context that enters step t (Bahdanau et al. 2015), or ``s_t``, with a
    context for the readout (Luong et al. 2015)."""
    context: bool = False
    """Add the context of the previous step."""
    last_token: bool = False
    """Add the embedding of the last target token."""
    language: bool = False
    """Add the embedding of the target language's tag, the first token of the source (Johnson et al.
    2017, arXiv 1611.04558)."""

    def refuse_without_attention(self) -> None:
        """Raise ``ValueError`` for an option that has no effect without attention."""
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if value != field.default:
                value, default = (str(v).lower() for v in (value, field.default))
                raise ValueError(
                    f"model.query.{name}={value}: has no effect without model.attention; set "
                    f"model.query.{name}={default}"
                )

    def size(self, hidden: int, context: int, embedding: int) -> int:
        """Return the width of a query with parts of these widths."""
        return hidden + context * self.context + embedding * (self.last_token + self.language)

    def make(
        self, states: Tensor, context: Tensor | None, embedded: Tensor, language: Tensor | None
    ) -> Tensor:
        """Return queries ``(batch, tgt, query)``, concatenated from the parts.

        Args:
            states: ``(batch, tgt, hidden)``.
            context: ``(batch, tgt, memory)``; may be None for a query without context.
            embedded: embeddings of the last target tokens, ``(batch, tgt, embedding)``.
            language: ``(batch, embedding)``; may be None for a query without language.
        """
        parts = [states]
        if self.context:
            assert context is not None
            parts.append(context)
        if self.last_token:
            parts.append(embedded)
        if self.language:
            assert language is not None
            parts.append(language.unsqueeze(1).expand(-1, states.shape[1], -1))
        return torch.cat(parts, -1)
