"""The two vocabularies of a corpus, and their settings."""

import pytest
from pydantic import ValidationError

from datamodules.corpus import ParallelText
from datamodules.errors import UserError
from datamodules.tokenization import UNK, Tokenizers, TokenizerSettings
from datamodules.tokenization.vocabularies import TOKENIZERS
from tests.datamodules.tokenization.kinds import LINES, TRAINED


@pytest.mark.parametrize("shared", [True, False])
def test_a_pair_shares_its_vocabulary_or_not(tmp_path, shared):
    text = ParallelText(["ein Hund"], ["a dog"])
    pair = Tokenizers.train(text, TokenizerSettings("words", 400, 1, shared))
    assert (pair.source is pair.target) == shared
    assert (UNK in pair.source.encode(["dog"])[0]) != shared
    pair.save(tmp_path)
    loaded = Tokenizers.load(tmp_path, "words")
    assert (loaded.source is loaded.target) == shared
    assert loaded.target.fingerprint == pair.target.fingerprint


@pytest.mark.parametrize("kind", TRAINED)
def test_a_saved_pair_is_the_trained_pair(kind, tmp_path):
    pair = Tokenizers.train(ParallelText(LINES, LINES[::-1]), TokenizerSettings(kind, 400, 1))
    pair.save(tmp_path)
    loaded = Tokenizers.load(tmp_path, kind)
    assert [each.fingerprint for each in loaded] == [each.fingerprint for each in pair]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("vocabulary_size", 4), ("min_frequency", 0), ("shared", "perhaps"),
        ("dropout", 1), ("dropout", -0.1), ("dropout", float("nan")), ("dropout", "some"),
    ],
)  # fmt: skip
def test_wrong_settings_are_refused(name, value):
    good = {"kind": "bpe", "vocabulary_size": 100, "min_frequency": 1, "shared": True}
    with pytest.raises(ValidationError, match=name):
        TokenizerSettings(**(good | {name: value}))


@pytest.mark.parametrize("kind", sorted(TOKENIZERS.keys() - {"bpe"}))
def test_dropout_needs_merges(kind):
    message = rf"^tokenizer\.dropout=0\.1: tokenizer\.kind={kind} has no merges .*tokenizer=bpe$"
    with pytest.raises(UserError, match=message):
        TokenizerSettings(kind, dropout=0.1)
    assert TokenizerSettings("bpe", dropout=0.1).dropout == 0.1


def test_a_vocabulary_without_words_is_refused():
    settings = TokenizerSettings("words", vocabulary_size=100, min_frequency=50, shared=False)
    with pytest.raises(UserError, match=r"tokenizer\.min_frequency=50: no word of the training"):
        Tokenizers.train(ParallelText(LINES, LINES), settings)
