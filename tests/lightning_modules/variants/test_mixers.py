"""What lets each position of a sentence see others: self-attention and recurrences."""

from typing import Any

import pytest
import torch

from lightning_modules.decoding.captured_search import tensors_in
from lightning_modules.variants.base import select_batch
from lightning_modules.variants.transformer.layers import RECURRENCES
from lightning_modules.variants.transformer.mixers import Mixer, SelfAttention, TwoDirections
from tests.helpers.variants import numbers

WIDTH, HEADS, SIZE = 12, 2, 8
LENGTHS = [3, 9, 1, 14]
MASK = torch.arange(14) < torch.tensor(LENGTHS).unsqueeze(1)
EXACT: dict[str, Any] = {"rtol": 0, "atol": 1e-12}


def mixer(kind: str) -> Mixer:
    torch.manual_seed(0)
    attends = kind == "attention"
    made = SelfAttention(WIDTH, HEADS, 6, 5) if attends else RECURRENCES[kind](WIDTH, HEADS, SIZE)
    return made.double().eval()


def inputs(positions=14):
    return numbers(len(LENGTHS), positions, WIDTH).double()


@pytest.mark.parametrize("kind", ["attention", *RECURRENCES])
@torch.no_grad()
def test_steps_equal_the_whole_target_in_any_order_of_the_rows(kind):
    made, given = mixer(kind), inputs()
    whole = made.run(given)
    assert whole.shape == (4, 14, WIDTH if kind == "attention" else SIZE)
    rows, state = torch.arange(4), made.start(4, given)
    for position in range(14):
        if position == 6:  # as a search does
            rows = torch.tensor([2, 2, 0, 1, 3])
            state = select_batch(state, rows)
        mixed, state = made.step(given[rows, position], state)
        torch.testing.assert_close(mixed, whole[rows, position], **EXACT)


@pytest.mark.parametrize("kind", ["attention", *RECURRENCES])
@torch.no_grad()
def test_a_position_sees_earlier_ones_alone(kind):
    made, given = mixer(kind), inputs()
    later = given.clone()
    later[:, 8:] += 1
    one, other = made.run(given), made.run(later)
    torch.testing.assert_close(one[:, :8], other[:, :8], **EXACT)
    assert not torch.allclose(one[:, 8:], other[:, 8:])


@pytest.mark.parametrize("kind", RECURRENCES)
@torch.no_grad()
def test_the_state_of_a_recurrence_has_one_size(kind):
    made, given, shapes = mixer(kind), inputs(), []
    state = made.start(4, given)
    for position in range(3):
        shapes.append([tensor.shape for tensor in tensors_in(state)])
        _, state = made.step(given[:, position], state)
    assert shapes[0] == shapes[1] == shapes[2]
    assert {shape[0] for shape in shapes[0]} == {4}


@pytest.mark.parametrize("kind", RECURRENCES)
@torch.no_grad()
def test_one_half_reads_each_sentence_backwards_without_its_padding(kind):
    torch.manual_seed(0)
    both = TwoDirections(RECURRENCES[kind], WIDTH, HEADS).double().eval()
    given = inputs()
    read = both.read(given, MASK)
    noisy = both.read(given.where(MASK.unsqueeze(-1), torch.ones(())), MASK)
    for row, length in enumerate(LENGTHS):
        alone = given[row : row + 1, :length]
        forwards, backwards = both.forwards.run(alone), both.backwards.run(alone.flip(1)).flip(1)
        expected = torch.cat([forwards, backwards], -1)[0]
        assert expected.shape == (length, WIDTH)
        torch.testing.assert_close(read[row, :length], expected, **EXACT)
        torch.testing.assert_close(noisy[row, :length], expected, **EXACT)
