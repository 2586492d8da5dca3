"""Torch's GRU or LSTM over sentences of unequal length, faster on a CPU than packed sequences.

The kernel for packed sequences walks step by step; the one for whole batches does not, but knows no
lengths. Batches are of similar length: as far as the shortest sentence reaches all go together, and
only what is longer goes on packed.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

Weights = tuple[Tensor, ...]
"""Of one layer and direction, as ``all_weights`` has them."""


class Read(NamedTuple):
    """What ``nn.LSTM`` or ``nn.GRU`` returns for packed sequences, batch first."""

    states: Tensor
    """``(batch, src, directions × hidden)``, zero at padding."""
    hidden: Tensor
    """``(layers × directions, batch, hidden)``."""
    cell: Tensor | None
    """The same of an LSTM's cells."""


def read_packed(rnn: nn.LSTM | nn.GRU, inputs: Tensor, lengths: Tensor) -> Read:
    """Read ``(batch, src, input)`` by torch's own means."""
    packed = pack_padded_sequence(inputs, lengths.cpu(), batch_first=True, enforce_sorted=False)
    output, final = rnn(packed)
    states, _ = pad_packed_sequence(output, batch_first=True, total_length=inputs.shape[1])
    return Read(states, *(final if isinstance(final, tuple) else (final, None)))


def read_together(rnn: nn.LSTM | nn.GRU, inputs: Tensor, lengths: Tensor) -> Read:
    """Read ``(batch, src, input)`` on a CPU: the same numbers."""
    directions = 2 if rnn.bidirectional else 1
    finals = []
    for layer in range(rnn.num_layers):
        if layer:
            inputs = dropout(inputs, rnn.dropout, rnn.training)
        forward, *others = map(tuple, rnn.all_weights[layer * directions :][:directions])
        read = [_direction(forward, inputs, lengths)]
        for weights in others:
            backward = _direction(weights, flip(inputs, lengths), lengths)
            read.append(backward._replace(states=flip(backward.states, lengths)))
        inputs = torch.cat([direction.states for direction in read], -1)
        finals += read
    cells = [read.cell for read in finals if read.cell is not None]
    hidden = torch.cat([read.hidden for read in finals])
    return Read(inputs, hidden, torch.cat(cells) if cells else None)


def _direction(weights: Weights, inputs: Tensor, lengths: Tensor) -> Read:
    """Read forward through one layer."""
    shortest = int(lengths.min())
    states, hidden, cell = _run(weights, inputs[:, :shortest])
    missing = inputs.shape[1] - shortest
    if not missing:
        return Read(states, hidden, cell)
    rest = states.new_zeros(len(inputs), missing, states.shape[2])
    longer = (lengths > shortest).nonzero().squeeze(1)
    if len(longer):
        start = hidden[:, longer], None if cell is None else cell[:, longer]
        more = _run_packed(weights, inputs[longer, shortest:], lengths[longer] - shortest, *start)
        rest = rest.index_copy(0, longer, more.states)
        hidden = hidden.index_copy(1, longer, more.hidden)
        if cell is not None and more.cell is not None:
            cell = cell.index_copy(1, longer, more.cell)
    return Read(torch.cat([states, rest], 1), hidden, cell)


def _run(weights: Weights, inputs: Tensor) -> Read:
    """Run one layer from zero over sentences of one length."""
    size = weights[1].shape[1]
    zero = inputs.new_zeros(1, len(inputs), size)
    options = True, 1, 0.0, torch.is_grad_enabled(), False, True  # the last: batch first
    if _is_lstm(weights):
        return Read(*torch.lstm(inputs, (zero, zero), weights, *options))
    return Read(*torch.gru(inputs, zero, weights, *options), None)


def _run_packed(
    weights: Weights, inputs: Tensor, lengths: Tensor, hidden: Tensor, cell: Tensor | None
) -> Read:
    """Run one layer from a state over sentences of several lengths."""
    packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
    order, back = packed.sorted_indices, packed.unsorted_indices
    options = True, 1, 0.0, torch.is_grad_enabled(), False
    data, sizes = packed.data, packed.batch_sizes
    hidden = hidden[:, order]
    if cell is not None:
        start = (hidden, cell[:, order])
        data, hidden, cell = torch.lstm(data, sizes, start, weights, *options)
        cell = cell[:, back]
    else:
        data, hidden = torch.gru(data, sizes, hidden, weights, *options)
    states, _ = pad_packed_sequence(
        packed._replace(data=data), batch_first=True, total_length=inputs.shape[1]
    )
    return Read(states, hidden[:, back], cell)


def _is_lstm(weights: Weights) -> bool:
    return weights[1].shape[0] == 4 * weights[1].shape[1]


def flip(sequences: Tensor, lengths: Tensor) -> Tensor:
    """Reverse each sentence; padding stays where it is."""
    return mirror(sequences, lengths - 1)


def mirror(sequences: Tensor, last: Tensor) -> Tensor:
    """Reverse positions 0 to ``last`` ``(batch,)``; those behind stay where they are.

    ``sequences`` are ids ``(batch, src)`` or states ``(batch, src, size)``.
    """
    batch, length = sequences.shape[:2]
    positions = torch.arange(length, device=sequences.device)
    last = last.unsqueeze(1)
    source = torch.where(positions <= last, last - positions, positions)
    rows = source + torch.arange(batch, device=sequences.device).unsqueeze(1) * length
    return sequences.flatten(0, 1).index_select(0, rows.flatten()).view_as(sequences)
