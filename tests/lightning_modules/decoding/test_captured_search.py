"""The captured step of a search, by the emulator of CUDA graphs, against the search itself."""

import logging
from collections.abc import Callable
from itertools import pairwise

import pytest
import torch

from datamodules.tokenization import EOS
from lightning_modules.decoding import SteppedSearch
from lightning_modules.decoding import captured_search as captured
from lightning_modules.decoding.search import in_few_sizes
from lightning_modules.kernels.choice import PLAIN, Kernels, kernels_in_use, use_kernels
from lightning_modules.variants import Ensemble
from lightning_modules.variants.base import Step
from tests.helpers.emulated_graphs import EmulatedGraphs
from tests.helpers.host_waits import HostWaits
from tests.helpers.searches import beam_search, greedy_search
from tests.helpers.variants import ALL, sentences, small_model

SEARCHES: dict[str, Callable[[], SteppedSearch]] = {
    "greedy": greedy_search,
    "beam of 1": lambda: beam_search(beam_size=1),
    "beam of 3": lambda: beam_search(beam_size=3, n_best=3, length_penalty=0.0),
    "beam of 5": lambda: beam_search(5, 1.5, n_best=2, max_ratio=0.5, max_extra=2),
}
LENGTHS = [5, 3, 9, 20, 2]
GROWS = {name for name in ALL if "intra" in name}
"""Models whose state grows: the search starts their operators one by one."""


@pytest.fixture(autouse=True)
def emulated(monkeypatch):
    monkeypatch.setitem(captured.RECORDERS, "cpu", EmulatedGraphs)
    use_kernels(Kernels(captured_search=True))
    yield
    use_kernels(PLAIN)


def model_with(name: str, eos: float = 0.2):
    model = small_model(name).double()
    model.output.bias.data[EOS] += eos
    return model


def plainly(search, model, *given):
    kernels = kernels_in_use()
    use_kernels(PLAIN)
    found = search(model, *given)
    use_kernels(kernels)
    return found


def assert_alike(ours, theirs):
    for ranked, expected in zip(ours, theirs, strict=True):
        assert [one.tokens for one in ranked] == [one.tokens for one in expected]
        for one, other in zip(ranked, expected, strict=True):
            assert one.score == pytest.approx(other.score, rel=1e-6)
            if other.weights is None:
                assert one.weights is None
            else:
                torch.testing.assert_close(one.weights, other.weights, rtol=1e-6, atol=1e-6)


def recordings_of(search):
    """Return the sentences and positions of the recordings of a search, for each shape."""
    buffers = captured._recordings[search]._buffers
    return [list(each._recordings) for each in buffers.values()]


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("name", ALL)
def test_a_captured_search_finds_the_same(name, kind, caplog):
    model, search = model_with(name), SEARCHES[kind]()
    for lengths in (LENGTHS, LENGTHS[::-1], [4, 19, 6, 2, 3]):  # the last batches have a recording
        source = sentences(lengths, seed=len(lengths))
        assert_alike(search(model, *source), plainly(search, model, *source))
    if name in GROWS:
        [record] = caplog.records
        assert "is not captured: NotCapturableError: each step changes the shape" in record.message
    else:
        assert not caplog.records
        assert len(recordings_of(search)) == 1


ENDS = [2, 3, 2, 40, 3, 2, 30, 4, 2]
"""Lengths of sources that reach their limits at very different steps."""


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize(
    "name",
    [
        *("bahdanau", "transformer", "transformer_relative"),
        *("transformer_t5", "transformer_alibi", "transformer_rnn_positions"),
    ],
)
def test_sentences_that_have_ended_leave_by_halves(name, kind, monkeypatch):
    monkeypatch.setattr(captured, "LEAST_PREFIXES", 3)
    monkeypatch.setattr(captured, "LEAST_ROOM", 4)
    model, search, source = model_with(name, eos=-100.0), SEARCHES[kind](), sentences(ENDS)
    for _ in range(2):
        assert_alike(search(model, *source), plainly(search, model, *source))
    [recorded] = recordings_of(search)
    counts, rooms = zip(*recorded, strict=True)
    assert counts[0] == 12
    assert list(counts) == sorted(counts, reverse=True)
    assert counts[-1] == 3
    if name == "bahdanau":
        assert set(rooms) == {0}
    else:
        assert list(rooms) == sorted(rooms)
        assert rooms[0] == 8
        assert rooms[-1] >= 24


def test_an_ensemble_is_captured_with_states_of_both_kinds():
    model = Ensemble([model_with("luong_global"), model_with("transformer")]).eval()
    for search in (greedy_search(), beam_search(beam_size=3, n_best=2)):
        source = sentences(LENGTHS)
        assert_alike(search(model, *source), plainly(search, model, *source))
        assert recordings_of(search)


@pytest.mark.parametrize("name", ["bahdanau", "luong_global", "transformer"])
def test_the_next_search_reads_the_weights_of_then(name):
    model, search, source = model_with(name), beam_search(beam_size=3), sentences(LENGTHS)
    first, kept = search(model, *source), captured._recordings[search]
    for parameter in model.parameters():
        parameter.data.mul_(-0.9)
    second = search(model, *source)
    assert captured._recordings[search] is kept
    assert_alike(second, plainly(search, model, *source))
    assert [one.score for [one] in first] != [one.score for [one] in second]
    for parameter in model.parameters():  # in other places
        parameter.data = parameter.data * -1.2
    assert_alike(search(model, *source), plainly(search, model, *source))
    assert captured._recordings[search] is not kept


@pytest.mark.parametrize("name", ["seq2seq", "luong_global", "transformer"])
def test_bfloat16_multiplies_by_weights_that_are_cast_once_a_search(name):
    model, source = model_with(name).float(), sentences(LENGTHS)
    search = beam_search(beam_size=3, bf16=True)
    for _ in range(2):
        found = search(model, *source)
        for [one], [other] in zip(found, plainly(search, model, *source), strict=True):
            assert one.tokens == other.tokens
            assert one.score == pytest.approx(other.score, rel=1e-2)
        cast = captured._recordings[search]._cast._cast
        assert {each.dtype for each in cast.values()} == {torch.bfloat16}
        assert model.output.weight in cast
        for parameter in model.parameters():
            parameter.data.mul_(-0.9)
    assert all(layer._packed is None for layer in captured._recordings[search]._cast._layers)


def test_weights_are_left_out_where_nothing_reads_them():
    for capture in (True, False):
        use_kernels(Kernels(captured_search=capture))
        for search in (greedy_search(), beam_search(beam_size=2)):
            model, source = model_with("transformer"), sentences(LENGTHS)
            [[one], *_] = search(model, *source)
            assert one.weights is not None
            assert one.weights.shape == (len(one.tokens), max(LENGTHS))
            [[other], *_] = search(model, *source, need_weights=False)
            assert other.weights is None
            assert other.tokens == one.tokens


def test_the_buffers_of_the_last_shapes_are_kept(monkeypatch):
    model, search = model_with("transformer"), greedy_search()
    large, small = sentences([30, 20, 9]), sentences([3, 5])
    monkeypatch.setattr(captured, "room_on", lambda device: 1 << 30)
    for source in (large, small, large):
        search(model, *source)
    assert len(recordings_of(search)) == 2
    monkeypatch.setattr(captured, "room_on", lambda device: 0)
    search(model, *sentences([60]))
    assert len(recordings_of(search)) == 1


def reads_the_host(step, memory, state, last_token):
    int(last_token.max())
    return step(memory, state, last_token)


def grows(step, memory, state, last_token):
    features, state, weights = step(memory, state, last_token)
    state = state._replace(context=torch.cat([state.context, state.context], -1))
    return Step(features, state, weights)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (reads_the_host, "NotCapturableError: _local_scalar_dense.default reads a number"),
        (grows, "NotCapturableError: each step changes the shape or the type"),
    ],
)
def test_what_cannot_be_captured_is_searched_and_named_once(changed, reason, monkeypatch, caplog):
    model, source = model_with("luong_query_flags"), sentences(LENGTHS)
    searches = [greedy_search(), beam_search(beam_size=2)]
    expected = [plainly(search, model, *source) for search in searches]
    step = model.step
    if changed is grows:  # and a step that reads what is there

        def of_first(memory, state, last_token):
            width = model.context_size
            return step(memory, state._replace(context=state.context[:, :width]), last_token)

        monkeypatch.setattr(model, "step", lambda *given: grows(of_first, *given))
    else:
        monkeypatch.setattr(model, "step", lambda *given: changed(step, *given))
    for search, found in zip(searches, expected, strict=True):
        for _ in range(2):
            assert_alike(search(model, *source), found)
    [record] = caplog.records
    assert not kernels_in_use().captured_search  # nor does the record of the run say so
    assert record.levelno == logging.WARNING
    assert record.message.startswith(f"the search with Recurrent is not captured: {reason}")


def test_a_search_waits_only_every_few_steps():
    model, search = model_with("transformer", eos=-100.0), beam_search(beam_size=3)
    src, mask = sentences([20, 3, 14])
    source = src, mask
    search(model, *source)
    with HostWaits() as waits:
        [[longest], *_] = search(model, *source)
    assert len(longest.tokens) == 40
    assert waits.count == 40 // captured.STEPS + 9  # the table of docs/reference/devices.md


def test_models_in_several_places_are_not_captured():
    model = small_model("transformer")
    assert captured.captures(model)
    model.encoder.to("meta")
    assert not captured.captures(model)
    use_kernels(PLAIN)
    assert not captured.captures(small_model("transformer"))


def test_few_sizes_hold_all_numbers():
    sizes = {in_few_sizes(number) for number in range(1, 2000)}
    assert sorted(sizes)[:8] == [8, 12, 16, 24, 32, 48, 64, 96]
    for smaller, size in pairwise(sorted(sizes)):
        assert in_few_sizes(size) == size
        assert in_few_sizes(smaller + 1) == size
