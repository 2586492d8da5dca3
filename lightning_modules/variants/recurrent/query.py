"""What looks at the source."""

from typing import Literal

import torch
from torch import Tensor

from lightning_modules.variants.arguments import Options


class QueryOptions(Options):
    """``model.query``. Each flag puts something beside the state."""

    state: Literal["previous", "current"] = "current"
    """``s_{t-1}``, whose context enters step t (Bahdanau et al. 2015), or ``s_t``, whose context
    is read after it (Luong et al. 2015)."""
    context: bool = False
    """The context of the step before."""
    last_token: bool = False
    """The embedding of the last target token."""
    language: bool = False
    """The embedding of the target language's tag, the first token of the source (Johnson et al.
    2017, arXiv 1611.04558)."""

    def refuse_unasked(self) -> None:
        """Raise ``ValueError`` for settings that do nothing in a model without attention."""
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if value != field.default:
                told, plain = (str(v).lower() for v in (value, field.default))
                raise ValueError(
                    f"model.query.{name}={told}: without model.attention nothing is asked; set "
                    f"model.query.{name}={plain}"
                )

    def size(self, hidden: int, context: int, embedding: int) -> int:
        """Return the width of a query made of parts of these widths."""
        return hidden + context * self.context + embedding * (self.last_token + self.language)

    def make(
        self, states: Tensor, context: Tensor | None, embedded: Tensor, language: Tensor | None
    ) -> Tensor:
        """Put queries ``(batch, tgt, query)`` together from parts ``(batch, tgt, …)``.

        ``context`` may be None where it is not asked for; ``language`` is ``(batch, embedding)``.
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
