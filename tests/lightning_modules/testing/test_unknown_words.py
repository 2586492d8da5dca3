"""Words in place of unknown tokens, where the attention is known."""

import pytest
import torch
from omegaconf import OmegaConf

from datamodules.corpus import ParallelText
from datamodules.errors import UserError
from datamodules.tokenization import EOS, UNK, Tokenizers, TokenizerSettings
from lightning_modules.decoding import Hypothesis
from lightning_modules.runs.schema import ReplacedUnknown
from lightning_modules.testing.unknown_words import read_replacement, write_out
from tests.helpers.commands import write

SOURCE = "the mayor, Ngozi, met Oslo's poet."
TEXT = ParallelText(["the mayor, met 's poet."] * 2, ["le maire, a vu poète."] * 2)
PIECES = ["the", "mayor", ",", "Ngozi", ",", "met", "Oslo'", "s", "poet", "."]


@pytest.fixture(scope="module", params=[False, True])
def tokenizers(request):
    settings = TokenizerSettings("words", 100, 1, shared=request.param)
    return Tokenizers.train(TEXT, settings)


def hypothesis(tokenizers, words, looks_at, padding=0):
    """A hypothesis of target tokens; step k looks most at source token ``looks_at[k]``.

    EOS gets more weight than any word, and so does padding.
    """
    numbers = tokenizers.target.numbers
    tokens = [UNK if word is None else numbers[word] for word in words]
    weights = torch.zeros(len(tokens) + 1, len(PIECES) + 1 + padding)
    weights[:, len(PIECES) :] = 0.5
    for step, place in enumerate(looks_at):
        if place is not None:
            weights[step, place] = 0.3
            weights[step, (place + 1) % len(PIECES)] = 0.2
    return Hypothesis([*tokens, EOS], 0.0, weights)


def test_a_copy_is_the_token_of_largest_weight_and_no_punctuation_mark(tokenizers):
    assert tokenizers.source.pieces_of_line(SOURCE) == PIECES
    words = ["▁le", "▁maire", ",", None, ",", "▁a", "▁vu", None]
    looks_at = [0, 1, 2, 3, 4, 5, 5, 8]
    given = hypothesis(tokenizers, words, looks_at, padding=3)
    texts, replaced = write_out([given], [SOURCE], tokenizers, {})
    # Token 3 is in word 2, token 8 in word 5: word numbers would give other words.
    assert texts == ["le maire, Ngozi, a vu poet"]
    assert replaced == ReplacedUnknown(unknown=2, copied=2, translated=0)


def test_a_dictionary_translates_the_words_that_it_has(tokenizers):
    given = hypothesis(tokenizers, [None, None, "▁a"], [8, 3, 5])
    dictionary = {"poet": "poète", "met": "rencontra"}
    texts, replaced = write_out([given], [SOURCE], tokenizers, dictionary)
    assert texts == ["poète Ngozi a"]
    assert replaced == ReplacedUnknown(unknown=2, copied=1, translated=1)


def test_a_step_that_looks_at_no_word_keeps_its_unknown_word(tokenizers):
    given = hypothesis(tokenizers, [None, None], [None, 3])
    texts, replaced = write_out([given], [SOURCE], tokenizers, {})
    assert texts == ["<unk> Ngozi"]
    assert replaced == ReplacedUnknown(unknown=2, copied=1, translated=0)


def test_without_attention_unknown_words_stay_with_one_warning(tokenizers, caplog):
    given = hypothesis(tokenizers, [None, "▁vu"], [3, 5])._replace(weights=None)
    texts, replaced = write_out([given, given], [SOURCE] * 2, tokenizers, {})
    assert texts == ["<unk> vu"] * 2
    assert replaced == ReplacedUnknown(unknown=2, copied=0, translated=0)
    assert len(caplog.records) == 1


def test_nothing_is_replaced_unless_asked(tokenizers):
    given = hypothesis(tokenizers, [None], [3])
    assert write_out([given], [SOURCE], tokenizers, None) == (["<unk>"], None)


def test_an_unknown_character_takes_the_characters_of_the_source():
    """BPE has no unknown words; a token that is only a marker is no text to copy."""
    text = ParallelText(["aa ab ba"] * 9, ["aa ab ba"] * 9)
    tokenizers = Tokenizers.train(text, TokenizerSettings("bpe", 12, 2, shared=True))
    [ids] = tokenizers.source.encode(["ab 語"])
    weights = torch.zeros(2, len(ids) + 1)
    weights[:, -3:-1] = torch.tensor([0.6, 0.4])  # the marker, then the character
    marker = tokenizers.target.numbers["▁"]
    texts, _ = write_out([Hypothesis([marker, UNK], 0.0, weights)], ["ab 語"], tokenizers, {})
    assert texts == ["語"]


def replacement(**settings):
    return read_replacement(OmegaConf.create(settings))


def test_the_most_frequent_translation_counts_and_the_first_of_equals(tmp_path):
    lines = ["a\tx", "b\ty", "a\tz", "b\tw", "a\tz"]
    file = write(tmp_path / "words.tsv", lines)
    read = replacement(replace_unknown="dictionary", dictionary=file)
    assert read == {"a": "z", "b": "y"}
    assert replacement(replace_unknown="copy") == {}
    assert replacement() is None


@pytest.mark.parametrize("line", ["a", "a b", "a\tb\tc", "a\t", "a\tb c"])
def test_a_line_that_is_no_pair_of_words_is_named(tmp_path, line):
    file = write(tmp_path / "words.tsv", ["a\tx", line])
    with pytest.raises(UserError, match=r"words\.tsv, line 2: give a source word, a tab and a t"):
        replacement(replace_unknown="dictionary", dictionary=file)
