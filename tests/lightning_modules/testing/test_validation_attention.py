"""Attention over a training: what is kept, and in which file."""

import numpy as np
import pytest
import torch

from datamodules.batching import EncodedPairs, Sequences, collate
from lightning_modules.runs.checksums import BrokenFileError
from lightning_modules.runs.files import (
    read_attention_history,
    read_history,
    read_result,
    write_arrays,
    write_attention_history,
)
from lightning_modules.runs.schema import AttentionHistory, SentenceHistory
from lightning_modules.testing.forced_decoding import merge_words
from lightning_modules.testing.validation_attention import MOST_VALIDATIONS, is_kept
from lightning_modules.training.checkpoints import load_trained
from tests.helpers.commands import TINY, inside, places

LAST = 5 * MOST_VALIDATIONS


def kept_of(validations):
    return [number for number in range(1, validations + 1) if is_kept(number, validations)]


def test_few_validations_are_all_kept_and_many_evenly_with_the_last():
    for count in range(1, LAST):
        kept = kept_of(count)
        assert kept[-1] == count
        assert len(kept) <= MOST_VALIDATIONS + 1
        if count <= MOST_VALIDATIONS:
            assert kept == list(range(1, count + 1))
        else:
            assert len(kept) >= MOST_VALIDATIONS // 2
            assert len(set(np.diff(kept[:-1]))) == 1


def test_leaving_out_one_by_one_keeps_what_leaving_out_at_once_keeps():
    kept: list[int] = []
    for count in range(1, LAST):
        kept = [number for number in [*kept, count] if is_kept(number, count)]
        assert kept == kept_of(count)


def test_a_file_is_read_as_it_was_written(tmp_path):
    weights = np.random.default_rng(0).dirichlet(np.ones(3), (2, 4))
    sentence = SentenceHistory(7, "the «a» 語", "le a b c", [(0, 0), (2, 1)], weights)
    bare = SentenceHistory(9, "x", "y", [], np.ones((2, 1, 1)))
    write_attention_history(tmp_path, AttentionHistory([1, 2], [sentence, bare]))
    read = read_attention_history(tmp_path)
    assert read is not None
    assert read.validations == [1, 2]
    first, second = read.sentences
    assert first[:4] == sentence[:4]
    assert second[:4] == bare[:4]
    assert first.weights == pytest.approx(weights, abs=1e-3)
    shown = first.at(-1)
    assert shown.source_words == ["the", "«a»", "語"]
    assert shown.gold == [(0, 0), (2, 1)]
    assert np.array(shown.weights) == pytest.approx(weights[1], abs=1e-3)


@pytest.mark.parametrize(
    "arrays",
    [
        {"7_weights": np.zeros((1, 1, 1))},
        {"validations": np.array([1]), "7_weights": np.zeros((1, 1, 1))},
        {
            "validations": np.array([1, 2]),
            "7_weights": np.zeros((1, 1, 1)),
            "7_text": np.array(["a", "b"]),
            "7_gold": np.zeros((0, 2)),
        },
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path, arrays):
    write_arrays(tmp_path / "attention_history.npz", arrays)
    with pytest.raises(BrokenFileError, match=r"attention_history\.npz cannot be read: "):
        read_attention_history(tmp_path)


RUN = [*TINY, "trainer.val_check_interval=4", "logger=none"]


@pytest.mark.parametrize("model", ["luong_general", "transformer"])
def test_a_training_keeps_the_attention_at_each_validation(model, tmp_path):
    """Without steps, it stays as it is."""
    folder = tmp_path / "run"
    still = [f"model={model}", "optimizer.lr=1e-12"]
    inside(*RUN, *still, *places(tmp_path), f"hydra.run.dir={folder}")
    history, result = read_attention_history(folder), read_result(folder)
    assert history is not None
    assert result is not None
    assert "attention_history.npz" in result.files
    assert history.validations == list(range(1, len(read_history(folder)) + 1))
    assert 1 <= len(history.sentences) <= 2
    for sentence in history.sentences:
        words = len(sentence.target.split()), len(sentence.source.split())
        assert sentence.weights.shape[1:] == words
        assert (sentence.weights.sum(-1) < 1.01).all()
        assert sentence.weights.max() > 0
        assert sentence.gold
        for weights in sentence.weights:
            assert weights == pytest.approx(sentence.weights[0], abs=1e-3)


@pytest.mark.parametrize("callbacks", ["default", "ema"])
def test_the_last_weights_are_those_that_the_last_validation_saw(callbacks, tmp_path):
    """With a moving average, these are not the trained ones."""
    folder = tmp_path / "run"
    given = ["model=luong_general", f"callbacks={callbacks}", "optimizer.lr=0.1"]
    inside(*RUN, *given, *places(tmp_path), f"hydra.run.dir={folder}")
    history = read_attention_history(folder)
    assert history is not None
    trained = load_trained(folder / "checkpoints" / "last.ckpt")
    sentence = history.sentences[0]
    assert not np.allclose(sentence.weights[0], sentence.weights[-1], atol=1e-2)
    lines = (sentence.source, sentence.target)
    sides = (
        Sequences.of(tokenizer.encode([line]))
        for tokenizer, line in zip(trained.tokenizers, lines, strict=True)
    )
    batch = collate(EncodedPairs(np.arange(1), *sides))
    with torch.no_grad():
        weights = trained.model.decode(trained.model.encode(*batch.source), batch.tgt_in).weights
    assert weights is not None
    expected = merge_words(weights[0], *lines, trained.tokenizers)
    assert sentence.weights[-1] == pytest.approx(expected, abs=2e-3)


def test_a_training_without_attention_keeps_none(tmp_path):
    folder = tmp_path / "run"
    inside(*RUN, "model=seq2seq", *places(tmp_path), f"hydra.run.dir={folder}")
    assert read_attention_history(folder) is None
