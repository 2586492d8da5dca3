"""Searches that decide every few steps what has ended, and how often they wait for a GPU."""

import re
from itertools import pairwise

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from datamodules.tokenization import EOS
from lightning_modules.decoding import Backpointers, Request, Search
from lightning_modules.decoding import search as searching
from tests.helpers.commands import ROOT
from tests.helpers.host_waits import HostWaits
from tests.helpers.searches import beam_search, greedy_search
from tests.helpers.variants import ALL, numbers, sentences, small_model

SEARCHES = {
    "greedy": greedy_search(),
    "beam": beam_search(beam_size=4),
    "all": beam_search(beam_size=3, n_best=3, length_penalty=0.0),
    "penalty": beam_search(beam_size=5, n_best=2, length_penalty=1.5, max_ratio=0.5, max_extra=2),
}
NAMES = [
    *("bahdanau", "luong_predictive", "luong_intra", "luong_query_flags", "seq2seq", "rnnencdec"),
    *("transformer", "transformer_learned", "transformer_rotary", "transformer_relative"),
    *("transformer_lstm_decoder", "ladder_4_positions"),
]
SOURCE = sentences([5 * number % 11 + 2 for number in range(11)])
GPU_STEPS = searching.STEPS_TO_REMOVAL["gpu"]


def decide_every(monkeypatch, steps: int) -> None:
    monkeypatch.setitem(searching.STEPS_TO_REMOVAL, "cpu", steps)


def model_with(name: str, eos: float):
    """A small model in float64 that ends earlier, or later where ``eos`` is negative."""
    model = small_model(name).double()
    model.output.bias.data[EOS] += eos
    return model


@pytest.mark.parametrize("name", NAMES)
def test_the_steps_between_decisions_change_nothing(name, monkeypatch):
    model = model_with(name, eos=0.2)
    for search in SEARCHES.values():
        decide_every(monkeypatch, 1)
        expected = search(model, *SOURCE)
        assert len({len(found[0].tokens) for found in expected}) > 3
        for steps in (4, GPU_STEPS, 10_000):
            decide_every(monkeypatch, steps)
            for one, other in zip(search(model, *SOURCE), expected, strict=True):
                assert [h.tokens for h in one] == [h.tokens for h in other]
                scores = [h.score for h in other]
                assert [h.score for h in one] == pytest.approx(scores, rel=1e-6)
                for hypothesis, same in zip(one, other, strict=True):
                    if same.weights is not None:
                        torch.testing.assert_close(hypothesis.weights, same.weights)


def test_sentences_that_have_ended_leave_at_a_decision(monkeypatch):
    """The model advances a batch without the sentences that had ended at the last decision."""
    decide_every(monkeypatch, 4)
    model, sizes = model_with("seq2seq", eos=0.5), []
    step = model.step

    def counted(memory, state, last_token):
        sizes.append(len(last_token))
        return step(memory, state, last_token)

    monkeypatch.setattr(model, "step", counted)
    found = greedy_search()(model, *SOURCE)
    ends = [len(hypotheses[0].tokens) for hypotheses in found]
    expected = [sum(end > position // 4 * 4 for end in ends) for position in range(len(sizes))]
    assert sizes == expected
    assert len(sizes) == -(-max(ends) // 4) * 4 or len(sizes) == max(ends)


def waits_of(search: Search, name: str) -> tuple[list[int], int, bool]:
    """Return the waits of each step but the last, those beside these, and whether weights exist."""
    model, counts = model_with(name, eos=-100.0), []
    src, mask = sentences([3, 5, 2, 4])
    step, backpointers = model.step, Backpointers()

    def counted(*given):
        counts.append(mode.count)
        return step(*given)

    model.step = counted
    limits = torch.tensor([1, GPU_STEPS, GPU_STEPS + 3, 2 * GPU_STEPS + 3])
    with torch.no_grad(), HostWaits() as mode:
        # The encoder of a recurrent model reads lengths, which lie on the CPU.
        memory = model.encode(src, mask)
        before = mode.count
        ends = search.search(model, memory, Request(limits, src, mask, None), backpointers)
        paths = backpointers.trace([end for found in ends for end in found])
    steps = [later - earlier for earlier, later in pairwise(counts)]
    return steps, mode.count - before - sum(steps), paths[0][1] is not None


def promised() -> dict[str, tuple[int, int, int]]:
    """The table of the page: waits of a step, of a decision and of a batch, by search."""
    page = (ROOT / "docs" / "reference" / "devices.md").read_text(encoding="utf-8")
    section = page.partition("## Waits in a search")[2]
    rows = re.findall(r"^\| (greedy|beam) \| (\d+) \| (\d+) \| (\d+) \|$", section, re.M)
    assert f"every {GPU_STEPS} steps" in section
    return {name: (int(step), int(decision), int(batch)) for name, step, decision, batch in rows}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("kind", ["greedy", "beam"])
def test_a_search_waits_for_a_gpu_only_to_decide(kind, name, monkeypatch):
    decide_every(monkeypatch, GPU_STEPS)
    steps, besides, attends = waits_of(SEARCHES[kind], name)
    step, decision, batch = promised()[kind]
    assert len(steps) == 2 * GPU_STEPS + 2
    expected = [step if number % GPU_STEPS else decision for number in range(1, len(steps) + 1)]
    assert steps == expected
    assert besides == batch - (not attends)  # which has no weights to copy
    assert sum(steps) + besides <= len(steps)


def test_the_best_tokens_need_no_index_from_the_host():
    operators = []

    class Recorded(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            operators.append(func.overloadpacket)
            return func(*args, **(kwargs or {}))

    model = small_model("seq2seq")
    with torch.no_grad(), Recorded():
        searching.best_tokens(model, numbers(3, model.output.in_features), 2)
    assert torch.ops.aten.topk in operators
    assert not {torch.ops.aten.index, torch.ops.aten.index_put_} & set(operators)


def test_waits_are_counted_on_a_cpu_as_on_a_gpu():
    values, chosen = torch.arange(4.0), torch.tensor([True, False, True, False])
    for act in (
        lambda: int(values.max()),
        values.tolist,
        lambda: values.cpu().numpy(),
        chosen.nonzero,
        lambda: values[chosen],
        values.unique,
        lambda: values.repeat_interleave(torch.tensor([1, 2, 0, 1])),
    ):
        with HostWaits() as mode:
            act()
        assert mode.count == len(mode.where) == 1, mode.where
    with HostWaits() as mode:
        values[torch.tensor([2, 0])].masked_fill(chosen[:2], 0.0).repeat_interleave(2)
    assert mode.where == []
