"""Linear recurrences over whole sequences by flash-linear-attention, whose kernels are in Triton.

An optional library for GPUs (``kernels=flash``): https://github.com/fla-org/flash-linear-attention.
It multiplies in TF32 or in half precision, and so its results are near those of
``kernels.linear_recurrences``, not equal to the last digits.
"""

import torch
from fla.ops.gated_delta_rule import chunk_gated_delta_rule
from fla.ops.gla import chunk_gla
from fla.ops.simple_gla import chunk_simple_gla
from torch import Tensor

from lightning_modules.kernels.linear_recurrences import Terms
from lightning_modules.kernels.precision import without_autocast


def run_flash(terms: Terms) -> Tensor:
    """Return what ``linear_recurrences.run`` returns, ``(rows, heads, positions, value)``."""
    values = terms.values
    # The kernel of the delta rule takes half precision alone.
    full = terms.strengths is None and values.dtype == torch.float32
    dtype = values.dtype if full or values.dtype == torch.float16 else torch.bfloat16
    heads = values.shape[1]
    queries, keys = (
        part.expand(-1, heads, -1, -1).transpose(1, 2).to(dtype).contiguous()
        for part in (terms.queries, terms.keys)
    )
    written = values.transpose(1, 2).to(dtype).contiguous()
    decays = terms.log_decays.expand(len(values), -1, -1, -1)
    decays = decays.transpose(1, 2).float().contiguous()
    with without_autocast(values):
        if terms.strengths is not None:
            strengths = terms.strengths.transpose(1, 2).squeeze(-1).to(dtype).contiguous()
            given = queries, keys, written, decays.squeeze(-1), strengths
            results, _ = chunk_gated_delta_rule(*given, scale=1.0)
        elif decays.shape[-1] == 1:
            results, _ = chunk_simple_gla(queries, keys, written, decays.squeeze(-1), scale=1.0)
        else:
            results, _ = chunk_gla(queries, keys, written, decays, scale=1.0)
    return results.transpose(1, 2).to(values.dtype)
