"""Torch's LSTM and GRU, over sentences of unequal length and for single steps.

``run_padded`` needs no lengths on the host, and always has the same operators: one more input says
where padding is, and has weights with which padding changes no state. ``kernels.precision`` decides
the types of arguments. Autograd casts the gradients of weights back.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, pad

from lightning_modules.kernels.choice import only_equations
from lightning_modules.kernels.precision import in_product_type, lstm_kernels, types_as_given


class RnnOutput(NamedTuple):
    """Output of torch's LSTM or GRU; on a GPU in the type of products."""

    states: Tensor  # `(batch, src, directions × hidden)`
    hidden: Tensor  # last hidden states, `(layers × directions, batch, hidden)`
    cell: Tensor | None
    """Last cell states of an LSTM, ``(layers × directions, batch, hidden)``; None for a GRU."""


SHUT = 1e4
"""Weight of padding: ``sigmoid(-SHUT)`` is 0 and ``sigmoid(SHUT)`` is 1, also in float16."""
EXTRA = 8  # inputs for the one that says where padding is: products of 8 columns more are fast


def run_stack(
    rnn: nn.LSTM | nn.GRU, inputs: Tensor, hidden: Tensor, cell: Tensor | None
) -> RnnOutput:
    """Run all layers of ``rnn``, of one direction, over ``(batch, src, input)``."""
    if inputs.is_cpu or not (rnn.training and rnn.dropout):
        return _run(inputs, hidden, cell, *_settings(rnn))
    # CuDNN's own dropout draws its seed on the device, and waits for it after every new seed.
    ends = []
    for layer, weights in enumerate(rnn.all_weights):
        start = hidden[layer, None], None if cell is None else cell[layer, None]
        inputs = dropout(inputs, rnn.dropout) if layer else inputs
        inputs, *end = _run(inputs, *start, weights, 1, 0.0, True, False)
        ends.append(end)
    return RnnOutput(inputs, *_joined(ends))


def _joined(ends: Sequence[Sequence[Tensor | None]]) -> tuple[Tensor, Tensor | None]:
    """Join the last hidden states, and cell states if there are any, of some layers."""
    parts = zip(*ends, strict=True)
    hidden, cell = ([part for part in given if part is not None] for given in parts)
    return torch.cat(hidden), torch.cat(cell) if cell else None


def _settings(rnn: nn.LSTM | nn.GRU) -> tuple[Sequence[Tensor], int, float, bool, bool]:
    """Return weights, layers, dropout, whether it trains and whether it has two directions."""
    weights = [weight for layer in rnn.all_weights for weight in layer]
    return weights, rnn.num_layers, rnn.dropout, rnn.training, rnn.bidirectional


def _run(
    inputs: Tensor, hidden: Tensor, cell: Tensor | None, weights: Sequence[Tensor], *settings: Any
) -> RnnOutput:
    """Run an LSTM, or a GRU if ``cell`` is None; the last arguments are those of ``_settings``.

    ``inputs`` are ``(batch, src, input)``; states are ``(layers × directions, batch, hidden)``.
    """
    inputs, hidden, cell, weights = in_product_type(inputs, hidden, cell, weights)
    further: Any = [weights, True, *settings, True]
    if cell is None:
        with types_as_given(inputs):
            states, hidden = torch.gru(inputs, hidden, *further)
        return RnnOutput(states, hidden, None)
    with types_as_given(inputs), lstm_kernels(inputs):
        return RnnOutput(*torch.lstm(inputs, (hidden, cell), *further))


def advance_layer(
    inputs: Tensor, hidden: Tensor, cell: Tensor | None, weights: Sequence[Tensor]
) -> tuple[Tensor, Tensor | None]:
    """Run one step of an LSTM's layer, or of a GRU's if ``cell`` is None, over ``(batch, …)``."""
    inputs, hidden, cell, weights = in_product_type(inputs, hidden, cell, weights)
    with types_as_given(inputs):
        if cell is None:
            return torch.gru_cell(inputs, hidden, *weights), None
        return torch.lstm_cell(inputs, (hidden, cell), *weights)


def run_padded(rnn: nn.LSTM | nn.GRU, inputs: Tensor, mask: Tensor) -> RnnOutput:
    """Run over ``(batch, src, input)``; the mask, ``(batch, src)``, is True where a token is real.

    Each layer is one call. At padding, an LSTM's input gate is shut and its forget gate open, and
    so is a GRU's update gate: the state stays as it is, with a gradient of exactly 0 for the
    weights. Read backwards, padding comes first, and leaves the state at 0.
    """
    lstm, size, directions = isinstance(rnn, nn.LSTM), rnn.hidden_size, 1 + rnn.bidirectional
    extra = 0 if only_equations() else EXTRA
    padding = pad((~mask).to(inputs.dtype).unsqueeze(-1), (0, EXTRA - 1))[..., :extra]
    column = inputs.new_zeros((4 if lstm else 3) * size, EXTRA)
    if lstm:
        column[:size, 0].fill_(-SHUT)
    column[size : 2 * size, 0].fill_(SHUT)
    column = column[:, :extra]
    zero = inputs.new_zeros(directions, len(inputs), size)
    ends = []
    for layer in range(rnn.num_layers):
        inputs = dropout(inputs, rnn.dropout, rnn.training) if layer else inputs
        weights = [
            weight
            for from_inputs, *others in rnn.all_weights[layer * directions :][:directions]
            for weight in (torch.cat([from_inputs, column.to(from_inputs.dtype)], 1), *others)
        ]
        settings = weights, 1, 0.0, torch.is_grad_enabled(), rnn.bidirectional
        told = torch.cat([inputs, padding.to(inputs.dtype)], -1)
        inputs, hidden, cell = _run(told, zero, zero if lstm else None, *settings)
        # Padding keeps an LSTM's cell state, but not its output.
        forward = last_of(inputs[..., :size], mask).unsqueeze(0)
        ends.append((torch.cat([forward, hidden[1:]]), cell))
    return RnnOutput(inputs * mask.unsqueeze(-1), *_joined(ends))


def last_of(states: Tensor, mask: Tensor) -> Tensor:
    """Return the states of each sentence's last token, ``(batch, hidden)``."""
    last = (mask.sum(1) - 1).view(-1, 1, 1).expand(-1, 1, states.shape[-1])
    return states.gather(1, last).squeeze(1)


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
