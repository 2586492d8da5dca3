"""Torch's LSTM and GRU: unequal lengths, and the types that a GPU needs."""

import pytest
import torch
from torch import nn

from lightning_modules.kernels import precision
from lightning_modules.kernels.rnn import RnnOutput, run_padded, run_stack
from lightning_modules.variants.recurrent.cells import CellState, FusedStack
from tests.helpers.gradients import TYPES, random

KINDS = {nn.LSTM: ("lstm", "lstm_cell"), nn.GRU: ("gru", "gru_cell")}
LENGTHS = torch.tensor([5, 3])


def mask_of(lengths, width):
    return torch.arange(width) < lengths.unsqueeze(1)


def run_packed(rnn, inputs, lengths):
    """Run by torch's packed sequences, the reference."""
    given = {"batch_first": True, "enforce_sorted": False}
    output, final = rnn(nn.utils.rnn.pack_padded_sequence(inputs, lengths, **given))
    padded = {"batch_first": True, "total_length": inputs.shape[1]}
    states, _ = nn.utils.rnn.pad_packed_sequence(output, **padded)
    return RnnOutput(states, *(final if isinstance(rnn, nn.LSTM) else (final, None)))


def run_without_lengths(rnn, inputs, lengths):
    return run_padded(rnn, inputs, mask_of(lengths, inputs.shape[1]))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("lengths", [[5, 5, 5], [2, 6, 3, 6], [1, 4], [7]])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_unequal_lengths_give_the_numbers_of_packed_sequences(kind, bidirectional, lengths, dtype):
    torch.manual_seed(0)
    rnn = kind(4, 5, 2, batch_first=True, bidirectional=bidirectional).to(dtype)
    inputs = random(len(lengths), max(lengths) + 1, 4, dtype=dtype)  # a column of padding alone
    counts = torch.tensor(lengths)
    learned = [inputs, *rnn.parameters()]
    results = []
    for each in (run_without_lengths, run_packed):
        parts = [part for part in each(rnn, inputs, counts) if part is not None]
        directions = [torch.linspace(-1, 1, part.numel()).view_as(part).to(dtype) for part in parts]
        results.append((parts, torch.autograd.grad(parts, learned, directions)))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=10 * TYPES[dtype])


def run_as_decoder(rnn, inputs, lengths):
    zero = inputs.new_zeros(2, len(inputs), 5)
    return run_stack(rnn, inputs, zero, zero)


@pytest.mark.parametrize("run", [run_without_lengths, run_as_decoder])
@pytest.mark.parametrize("on_gpu", [False, True])
def test_rnns_drop_between_the_layers_only(run, on_gpu, monkeypatch):
    monkeypatch.setattr(torch.Tensor, "is_cpu", not on_gpu)
    rnn = nn.LSTM(4, 5, 2, batch_first=True, dropout=0.999)
    inputs, lengths = random(2, 6, 4, dtype=torch.float32), torch.tensor([6, 4])
    dropped = run(rnn.train(), inputs, lengths)
    kept = run(rnn.eval(), inputs, lengths)
    torch.testing.assert_close(dropped.hidden[0], kept.hidden[0])
    assert not torch.allclose(dropped.hidden[1], kept.hidden[1])


def padded(kind, inputs):
    """Return a module and states of its run, like the functions below."""
    rnn = kind(4, 3, 2, batch_first=True, bidirectional=True)
    return rnn, run_without_lengths(rnn, inputs, LENGTHS).states


def decoder(kind):
    stack = FusedStack(kind, 4, 3, 2, dropout=0.0)
    states = tuple(torch.zeros(2, 3) for _ in range(2))
    return stack, CellState(states, states if kind is nn.LSTM else None)


def at_once(kind, inputs):
    stack, start = decoder(kind)
    return stack, stack.run(inputs, start)


def in_steps(kind, inputs):
    stack, start = decoder(kind)
    return stack, stack.advance(inputs[:, 0], start).top


@pytest.fixture
def like_a_gpu(monkeypatch):
    """Let kernels on the CPU get explicit types, as on a GPU."""
    monkeypatch.setattr(precision, "needs_types", lambda inputs: True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("run", [padded, at_once, in_steps])
@pytest.mark.parametrize("autocast", [torch.bfloat16, torch.float16, None])
def test_kernels_get_the_type_of_products_without_autocast(
    run, kind, autocast, like_a_gpu, monkeypatch
):
    seen, dtype = set(), autocast or torch.float32

    def note(kernel):
        def noted(*args):
            leaves = torch.utils._pytree.tree_leaves(args)
            types = {leaf.dtype for leaf in leaves if isinstance(leaf, torch.Tensor)}
            seen.add((torch.is_autocast_enabled("cpu"), *(types - {torch.int64})))
            return kernel(*args)

        return noted

    for name in KINDS[kind]:
        monkeypatch.setattr(torch, name, note(getattr(torch, name)))
    torch.manual_seed(0)
    inputs = torch.randn(2, 5, 4, requires_grad=True)
    with torch.autocast("cpu", dtype, enabled=autocast is not None):
        module, states = run(kind, inputs)
    assert seen == {(False, dtype)}
    assert states.dtype == dtype
    states.sum().backward()
    for tensor in (inputs, *module.parameters()):
        assert tensor.dtype == tensor.grad.dtype == torch.float32


@pytest.mark.parametrize("kind", KINDS)
def test_explicit_types_change_no_number_in_float32(kind, monkeypatch):
    rnn = kind(4, 3, 2, batch_first=True, bidirectional=True)
    inputs = random(2, 5, 4, dtype=torch.float32)
    runs = []
    for explicit in (False, True):
        monkeypatch.setattr(precision, "needs_types", lambda inputs, given=explicit: given)
        runs.append(run_without_lengths(rnn, inputs, LENGTHS))
    for one, other in zip(*runs, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_padding_changes_nothing_in_half_precision(kind, dtype):
    """The weights of padding fit these types: states and gradients are those of the sentence."""
    torch.manual_seed(0)
    rnn = kind(4, 3, 2, batch_first=True, bidirectional=True).to(dtype)
    inputs, results = random(1, 9, 4, dtype=dtype), []
    for width in (5, 9):
        run = run_without_lengths(rnn, inputs[:, :width], torch.tensor([5]))
        parts = [part for part in (run.states[:, :5], *run[1:]) if part is not None]
        results.append(
            (parts, torch.autograd.grad([part.sum() for part in parts], rnn.parameters()))
        )
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)
