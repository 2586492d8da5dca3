"""Searches by CUDA graphs, against the same searches without."""

import pytest
import torch

from lightning_modules.decoding import captured_search as captured
from lightning_modules.kernels.choice import PLAIN, Kernels, use_kernels
from tests.gpu.test_on_gpus import GPU
from tests.helpers.searches import beam_search, greedy_search
from tests.helpers.variants import NAMES, OPTIONS, sentences, small_model

CAPTURED = Kernels(captured_search=True)
BATCHES = [[5, 3, 9, 40, 2], [2, 37, 9, 3, 5], [30, 3]]
"""Lengths of sources; the second batch finds the recordings of the first."""


@pytest.fixture(autouse=True)
def plain_again(monkeypatch):
    monkeypatch.setattr(captured, "LEAST_PREFIXES", 4)
    yield
    use_kernels(PLAIN)


def found(search, kernels, model, source):
    use_kernels(kernels)
    return search(model, *source)


@pytest.mark.parametrize("name", [*NAMES, *OPTIONS])
@pytest.mark.parametrize("device", [GPU])
def test_translations_equal_those_without_graphs(device, name, caplog):
    """In float64, since sums in another order would change close decisions."""
    model = small_model(name).double().to(device)
    for search in (greedy_search(), beam_search(beam_size=3, n_best=2)):
        for lengths in BATCHES:
            source = tuple(part.to(device) for part in sentences(lengths))
            theirs = found(search, PLAIN, model, source)
            for ranked, expected in zip(
                found(search, CAPTURED, model, source), theirs, strict=True
            ):
                assert [one.tokens for one in ranked] == [one.tokens for one in expected]
                for one, other in zip(ranked, expected, strict=True):
                    assert one.score == pytest.approx(other.score, rel=1e-4)
                    if one.weights is not None:
                        torch.testing.assert_close(one.weights, other.weights, rtol=1e-3, atol=1e-4)
            for parameter in model.parameters():  # the next batch reads the weights of then
                parameter.data.mul_(-0.95)
    warnings = [record.message for record in caplog.records if record.name == captured.__name__]
    assert len(warnings) == ("intra" in name), warnings


@pytest.mark.parametrize("name", ["seq2seq", "bahdanau", "luong_global", "transformer"])
@pytest.mark.parametrize("device", [GPU])
def test_scores_in_bfloat16_are_near_those_without_graphs(device, name):
    """The most probable of few tokens; longer translations could differ after a close decision."""
    model = small_model(name).to(device)
    search = beam_search(beam_size=3, bf16=True, max_ratio=0.0, max_extra=4)
    source = tuple(part.to(device) for part in sentences(BATCHES[0]))
    theirs = found(search, PLAIN, model, source)
    for [one], [other] in zip(found(search, CAPTURED, model, source), theirs, strict=True):
        assert one.score == pytest.approx(other.score, rel=0.02)


@pytest.mark.parametrize("name", ["bahdanau", "transformer"])
@pytest.mark.parametrize("device", [GPU])
def test_a_recording_replays_without_a_wait(device, name):
    model, search = small_model(name).to(device), beam_search(beam_size=3)
    source = tuple(part.to(device) for part in sentences(BATCHES[0]))
    found(search, CAPTURED, model, source)
    [buffers] = captured._recordings[search]._buffers.values()
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        for recording in buffers._recordings.values():
            for tensor in [buffers._position, *captured.tensors_in(buffers._loop.state)]:
                tensor.zero_()
            list(recording.calls(captured.STEPS))
    finally:
        torch.cuda.set_sync_debug_mode("default")
