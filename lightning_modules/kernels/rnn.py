"""Torch's LSTM and GRU, over sentences of unequal length and for single steps.

On a CPU, the kernel for packed sequences runs step by step. The kernel for whole batches is faster,
but needs sentences of one length. Sentences of a batch have similar lengths: all run together up to
the length of the shortest sentence, and only the rest of the longer sentences runs packed.

``kernels.precision`` decides the types of arguments. Autograd casts the gradients of weights back.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from lightning_modules.kernels.precision import in_product_type, lstm_kernels, types_as_given

Weights = tuple[Tensor, ...]
"""Weights of one layer and direction, in the order of ``all_weights``."""


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


def run_packed(rnn: nn.LSTM | nn.GRU, inputs: Tensor, lengths: Tensor) -> RnnOutput:
    """Run over ``(batch, src, input)`` with torch's packed sequences; lengths on the CPU.

    Torch would sort the sentences too, and wait for the device with the order.
    """
    order = lengths.argsort(descending=True)
    there, back = (index.to(inputs.device, non_blocking=True) for index in (order, order.argsort()))
    packed = pack_padded_sequence(inputs.index_select(0, there), lengths[order], batch_first=True)
    data, sizes = packed.data, packed.batch_sizes
    directions = 2 if rnn.bidirectional else 1
    zero = data.new_zeros(rnn.num_layers * directions, len(inputs), rnn.hidden_size)
    run = run_stack(rnn, data, sizes, zero, zero if isinstance(rnn, nn.LSTM) else None)
    states = unpacked(packed, run.states, inputs.shape[1]).index_select(0, back)
    return RnnOutput(states, run.hidden[:, back], None if run.cell is None else run.cell[:, back])


def run_on_cpu(rnn: nn.LSTM | nn.GRU, inputs: Tensor, lengths: Tensor) -> RnnOutput:
    """Run over ``(batch, src, input)``: the numbers of ``run_packed``, faster on a CPU."""
    directions = 2 if rnn.bidirectional else 1
    outputs = []
    for layer in range(rnn.num_layers):
        if layer:
            inputs = dropout(inputs, rnn.dropout, rnn.training)
        forward, *others = map(tuple, rnn.all_weights[layer * directions :][:directions])
        results = [_run_direction(forward, inputs, lengths)]
        for weights in others:
            backward = _run_direction(weights, flip(inputs, lengths), lengths)
            results.append(backward._replace(states=flip(backward.states, lengths)))
        inputs = torch.cat([result.states for result in results], -1)
        outputs += results
    cells = [output.cell for output in outputs if output.cell is not None]
    hidden = torch.cat([output.hidden for output in outputs])
    return RnnOutput(inputs, hidden, torch.cat(cells) if cells else None)


def _run_direction(weights: Weights, inputs: Tensor, lengths: Tensor) -> RnnOutput:
    """Run one layer forward over ``(batch, src, input)``."""
    shortest = int(lengths.min())
    states, hidden, cell = _run_equal_lengths(weights, inputs[:, :shortest])
    missing = inputs.shape[1] - shortest
    if not missing:
        return RnnOutput(states, hidden, cell)
    rest = states.new_zeros(len(inputs), missing, states.shape[2])
    longer = (lengths > shortest).nonzero().squeeze(1)
    if len(longer):
        start = hidden[:, longer], None if cell is None else cell[:, longer]
        inputs, lengths = inputs[longer, shortest:], lengths[longer] - shortest
        end = _run_unequal_lengths(weights, inputs, lengths, *start)
        rest = rest.index_copy(0, longer, end.states)
        hidden = hidden.index_copy(1, longer, end.hidden)
        if cell is not None and end.cell is not None:
            cell = cell.index_copy(1, longer, end.cell)
    return RnnOutput(torch.cat([states, rest], 1), hidden, cell)


def _run_equal_lengths(weights: Weights, inputs: Tensor) -> RnnOutput:
    """Run one layer from state zero over sentences of one length."""
    zero = inputs.new_zeros(1, len(inputs), weights[1].shape[1])
    cell = zero if _is_lstm(weights) else None
    return run_layers(inputs, None, zero, cell, weights, training=torch.is_grad_enabled())


def _run_unequal_lengths(
    weights: Weights, inputs: Tensor, lengths: Tensor, hidden: Tensor, cell: Tensor | None
) -> RnnOutput:
    """Run one layer from a given state over sentences of several lengths."""
    packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
    data, sizes, order, back = packed
    start = hidden[:, order], None if cell is None else cell[:, order]
    run = run_layers(data, sizes, *start, weights, training=torch.is_grad_enabled())
    states = unpacked(packed, run.states, inputs.shape[1])
    return RnnOutput(states, run.hidden[:, back], None if run.cell is None else run.cell[:, back])


def unpacked(packed: PackedSequence, states: Tensor, length: int) -> Tensor:
    """Return states of packed sentences, ``(tokens, hidden)``, as ``(batch, length, hidden)``."""
    padded, _ = pad_packed_sequence(
        packed._replace(data=states), batch_first=True, total_length=length
    )
    return padded


def _is_lstm(weights: Weights) -> bool:
    return weights[1].shape[0] == 4 * weights[1].shape[1]


def flip(sequences: Tensor, lengths: Tensor) -> Tensor:
    """Reverse each sentence of ``(batch, src, …)``; padding stays in place."""
    return mirror(sequences, lengths - 1)


def mirror(sequences: Tensor, last: Tensor) -> Tensor:
    """Reverse positions 0 to ``last`` ``(batch,)``; later positions stay in place.

    ``sequences`` are ids ``(batch, src)`` or states ``(batch, src, size)``.
    """
    batch, length = sequences.shape[:2]
    positions = torch.arange(length, device=sequences.device)
    last = last.unsqueeze(1)
    source = torch.where(positions <= last, last - positions, positions)
    rows = source + torch.arange(batch, device=sequences.device).unsqueeze(1) * length
    return sequences.flatten(0, 1).index_select(0, rows.flatten()).view_as(sequences)
