"""Weights of single heads on a model's own translations."""

import numpy as np
import pytest

from datamodules.batching import EncodedPairs, Sequences, collate
from datamodules.corpus import ParallelText
from datamodules.tokenization import Tokenizers, TokenizerSettings
from lightning_modules.decoding import BeamSearch
from lightning_modules.metrics.lengths import length_buckets
from lightning_modules.runs.reader import BrokenFileError, read_head_attention
from lightning_modules.runs.writer import clear_results, write_head_attention
from lightning_modules.testing.head_attention import head_attention, shown_sentences
from lightning_modules.testing.scores import words_attention
from tests.helpers.variants import small_model

LINES = ["a b c d e", "b a", "c", "e d c b"]
TEXT = ParallelText(LINES, LINES, None)


@pytest.fixture(scope="module")
def tokenizers():
    return Tokenizers.train(TEXT, TokenizerSettings("words", 50, 1, False))


def searched(name, tokenizers, max_extra):
    """A model with its best hypotheses, and the pairs that it translated."""
    model = small_model(name, vocabulary=len(tokenizers.target))
    sides = (Sequences.of(tokenizer.encode(LINES)) for tokenizer in tokenizers)
    pairs = EncodedPairs(np.arange(len(LINES)), *sides)
    batch = collate(pairs)
    search = BeamSearch(max_ratio=0.0, max_extra=max_extra)
    return model, [ranked[0] for ranked in search(model, batch.src, batch.src_mask)], pairs


@pytest.mark.parametrize("max_extra", [3, 12])
@pytest.mark.parametrize("name", ["transformer", "luong_multi_head"])
def test_the_last_layers_mean_is_what_the_search_saw(name, max_extra, tokenizers):
    """This holds also for a translation that the length limit cut."""
    model, best, pairs = searched(name, tokenizers, max_extra)
    chosen = {number: best[number] for number in (3, 0)}
    weights = head_attention(model.train(), chosen, pairs, TEXT, tokenizers, 1000)
    assert weights.keys() == {0, 3}
    for number, heads in weights.items():
        assert heads.shape[1] > 1
        seen = words_attention(best[number], LINES[number], tokenizers)
        assert seen is not None
        np.testing.assert_allclose(heads[-1].mean(0), seen, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["seq2seq", "bahdanau"])
def test_models_without_several_heads_have_none_to_look_at(name, tokenizers):
    model, best, pairs = searched(name, tokenizers, 12)
    assert head_attention(model, {0: best[0]}, pairs, TEXT, tokenizers, 1000) == {}


def test_the_most_readable_sentence_of_each_length_is_shown_once():
    lines = [" ".join("a" * count) for count in (3, 9, 10, 25, 30, 12, 10)]
    lengths = np.array([len(line.split()) for line in lines])
    assert shown_sentences(lines, length_buckets(lengths, [10, 20, 22])) == [5, 2, 3]


def test_weights_come_back_from_the_folder(tmp_path):
    weights = {
        7: np.random.default_rng(0).dirichlet(np.ones(5), (2, 3, 4)),
        0: np.ones((1, 2, 0, 3)),
    }
    write_head_attention(tmp_path, weights)
    read = read_head_attention(tmp_path)
    assert read.keys() == weights.keys()
    for number, part in weights.items():
        np.testing.assert_allclose(read[number], part, atol=1e-3)
    clear_results(tmp_path)
    assert read_head_attention(tmp_path) == {}
    write_head_attention(tmp_path, {})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arrays", [{"x": np.ones((1, 1, 1, 1))}, {"3": np.ones((2, 2))}])
def test_another_file_of_this_name_is_refused(tmp_path, arrays):
    np.savez(tmp_path / "head_attention.npz", **arrays)
    with pytest.raises(BrokenFileError, match=r"head_attention.npz cannot be read: . holds no"):
        read_head_attention(tmp_path)
