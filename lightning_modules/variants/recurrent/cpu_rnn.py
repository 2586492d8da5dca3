"""Torch's GRU or LSTM over sentences of unequal length, faster on a CPU than packed sequences.

The kernel for packed sequences runs step by step. The kernel for whole batches is faster, but needs
sentences of one length. Sentences of a batch have similar lengths: all run together up to the
length of the shortest sentence, and only the rest of the longer sentences runs packed.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from lightning_modules.kernels.precision import lstm_kernels

Weights = tuple[Tensor, ...]
"""Weights of one layer and direction, in the order of ``all_weights``."""


class RnnOutput(NamedTuple):
    """Output of ``nn.LSTM`` or ``nn.GRU``, batch first."""

    states: Tensor
    """``(batch, src, directions × hidden)``, zero at padding."""
    hidden: Tensor
    """Last hidden states, ``(layers × directions, batch, hidden)``."""
    cell: Tensor | None
    """Last cell states of an LSTM, ``(layers × directions, batch, hidden)``; None for a GRU."""


def run_packed(rnn: nn.LSTM | nn.GRU, inputs: Tensor, lengths: Tensor) -> RnnOutput:
    """Run over ``(batch, src, input)`` with torch's packed sequences; lengths on the CPU."""
    packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
    output, final = rnn(packed)
    states, _ = pad_packed_sequence(output, batch_first=True, total_length=inputs.shape[1])
    return RnnOutput(states, *(final if isinstance(final, tuple) else (final, None)))


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
    size = weights[1].shape[1]
    zero = inputs.new_zeros(1, len(inputs), size)
    options = True, 1, 0.0, torch.is_grad_enabled(), False, True  # the last: batch first
    if _is_lstm(weights):
        with lstm_kernels(inputs):
            return RnnOutput(*torch.lstm(inputs, (zero, zero), weights, *options))
    return RnnOutput(*torch.gru(inputs, zero, weights, *options), None)


def _run_unequal_lengths(
    weights: Weights, inputs: Tensor, lengths: Tensor, hidden: Tensor, cell: Tensor | None
) -> RnnOutput:
    """Run one layer from a given state over sentences of several lengths."""
    packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
    order, back = packed.sorted_indices, packed.unsorted_indices
    options = True, 1, 0.0, torch.is_grad_enabled(), False
    data, sizes = packed.data, packed.batch_sizes
    hidden = hidden[:, order]
    if cell is not None:
        start = (hidden, cell[:, order])
        with lstm_kernels(data):
            data, hidden, cell = torch.lstm(data, sizes, start, weights, *options)
        cell = cell[:, back]
    else:
        data, hidden = torch.gru(data, sizes, hidden, weights, *options)
    states, _ = pad_packed_sequence(
        packed._replace(data=data), batch_first=True, total_length=inputs.shape[1]
    )
    return RnnOutput(states, hidden[:, back], cell)


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
