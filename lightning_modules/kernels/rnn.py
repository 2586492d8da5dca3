"""Torch's kernels of the LSTM and the GRU; on a GPU, with types that autocast does not choose.

Autocast casts the arguments of cuDNN's kernels to float16, also where products are in bfloat16, and
then without a gradient scaler. So on a GPU all arguments are cast to the type of products before
the call, and autocast is off within the call. Autograd casts the gradients of the weights back.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from lightning_modules.kernels.precision import autocasts, lstm_kernels, product_type


class RnnOutput(NamedTuple):
    """Output of torch's LSTM or GRU; on a GPU in the type of products."""

    states: Tensor
    """``(batch, src, directions × hidden)``, or ``(tokens, directions × hidden)`` if packed."""
    hidden: Tensor
    """Last hidden states, ``(layers × directions, batch, hidden)``."""
    cell: Tensor | None
    """Last cell states of an LSTM, ``(layers × directions, batch, hidden)``; None for a GRU."""


def run_stack(
    rnn: nn.LSTM | nn.GRU, inputs: Tensor, sizes: Tensor | None, hidden: Tensor, cell: Tensor | None
) -> RnnOutput:
    """Run all layers and directions of ``rnn``; the arguments are those of ``run_layers``."""
    weights = [weight for layer in rnn.all_weights for weight in layer]
    shape = rnn.num_layers, rnn.dropout, rnn.training, rnn.bidirectional
    return run_layers(inputs, sizes, hidden, cell, weights, *shape)


def run_layers(
    inputs: Tensor,
    sizes: Tensor | None,
    hidden: Tensor,
    cell: Tensor | None,
    weights: Sequence[Tensor],
    layers: int = 1,
    dropout: float = 0.0,
    training: bool = True,
    bidirectional: bool = False,
) -> RnnOutput:
    """Run an LSTM, or a GRU if ``cell`` is None.

    Args:
        inputs: ``(batch, src, input)``, or packed ``(tokens, input)``.
        sizes: number of packed sentences at each position, on the CPU; None if not packed.
        hidden: first hidden states, ``(layers × directions, batch, hidden)``.
        cell: first cell states, of the same shape.
        weights: of all layers and directions, in the order of ``all_weights``.
        layers: number of layers.
        dropout: between the layers.
        training: whether to drop, and to keep what the backward pass needs.
        bidirectional: whether to read in both directions.
    """
    inputs, hidden, cell, weights = in_product_type(inputs, hidden, cell, weights)
    sequence = [inputs] if sizes is None else [inputs, sizes]
    batch_first = [True] if sizes is None else []
    start = hidden if cell is None else (hidden, cell)
    options = [True, layers, dropout, training, bidirectional, *batch_first]
    arguments: Any = [*sequence, start, weights, *options]
    if cell is None:
        with types_as_given(inputs):
            states, hidden = torch.gru(*arguments)
        return RnnOutput(states, hidden, None)
    with types_as_given(inputs), lstm_kernels(inputs):
        return RnnOutput(*torch.lstm(*arguments))


def advance_layer(
    inputs: Tensor, hidden: Tensor, cell: Tensor | None, weights: Sequence[Tensor]
) -> tuple[Tensor, Tensor | None]:
    """Run one step of an LSTM's layer, or of a GRU's layer if ``cell`` is None.

    Args:
        inputs: ``(batch, input)``.
        hidden: ``(batch, hidden)``.
        cell: ``(batch, hidden)``.
        weights: of the layer, in the order of ``all_weights``.
    """
    inputs, hidden, cell, weights = in_product_type(inputs, hidden, cell, weights)
    with types_as_given(inputs):
        if cell is None:
            return torch.gru_cell(inputs, hidden, *weights), None
        return torch.lstm_cell(inputs, (hidden, cell), *weights)


def in_product_type(
    inputs: Tensor, hidden: Tensor, cell: Tensor | None, weights: Sequence[Tensor]
) -> tuple[Tensor, Tensor, Tensor | None, Sequence[Tensor]]:
    """Cast the arguments of a kernel; on a CPU, leave the arguments as they are."""
    if not needs_types(inputs):
        return inputs, hidden, cell, weights
    dtype = product_type(inputs)
    inputs, hidden, *weights = (tensor.to(dtype) for tensor in (inputs, hidden, *weights))
    return inputs, hidden, None if cell is None else cell.to(dtype), weights


def types_as_given(inputs: Tensor) -> AbstractContextManager[None]:
    """Switch autocast off where arguments have been cast."""
    if needs_types(inputs) and autocasts(inputs):
        return torch.autocast(inputs.device.type, enabled=False)
    return nullcontext()


def needs_types(inputs: Tensor) -> bool:
    """Return whether kernels on the device of ``inputs`` need explicit types: not on a CPU."""
    return not inputs.is_cpu
