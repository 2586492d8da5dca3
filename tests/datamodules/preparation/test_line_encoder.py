"""Words are cut once: the tokens are those of the tokenizer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datamodules.preparation import line_encoder as module
from datamodules.preparation.line_encoder import LineEncoder
from datamodules.tokenization import Bpe, Tokenizer, Words

TEXT = ["Der Hund , (sehr) müde ; sieht l'homme .", "<2fr> n'aime pas.", "▁ a▁b  c\u00a0d\u2028e"]
TOKENIZERS = {"words": Words.train(TEXT, 60, 1), "bpe": Bpe.train(TEXT, 60, 1)}

lines = st.lists(
    st.text(st.sampled_from("Hund ,.'▁<2fr>é\u2028\t\u00a0x"), max_size=30), max_size=8
)


def encoded(encoder: LineEncoder, text: list[str]) -> list[list[int]]:
    tokens, lengths = encoder.encode(text)
    return [part.tolist() for part in np.split(tokens, np.cumsum(lengths)[:-1])] if text else []


@pytest.mark.parametrize("kind", TOKENIZERS)
@settings(derandomize=True, deadline=None, database=None)
@given(st.lists(lines, max_size=3))
def test_tokens_are_those_of_the_tokenizer(kind, texts):
    tokenizer = TOKENIZERS[kind]
    encoder = LineEncoder(tokenizer)
    for text in [TEXT, *texts, TEXT]:
        assert encoded(encoder, text) == tokenizer.encode(text)


class Counting(Tokenizer):
    """Words of one token, which counts how many words it was asked for."""

    asked = 0

    @classmethod
    def train(cls, lines, vocabulary_size, min_frequency):
        return cls(["▁a", "▁b", "▁c"])

    def encode(self, lines):
        self.asked += len(lines)
        return [[self.numbers["▁" + word] for word in line.split()] for line in lines]


def test_a_word_is_cut_once():
    tokenizer = Counting.train([], 10, 1)
    encoder = LineEncoder(tokenizer)
    assert encoded(encoder, ["a b a", "", "b"]) == [[4, 5, 4], [], [5]]
    assert encoded(encoder, ["c a"]) == [[6, 4]]
    assert tokenizer.asked == 3


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "MOST_WORDS", 1)
    tokenizer = Counting.train([], 10, 1)
    encoder = LineEncoder(tokenizer)
    for _ in range(3):
        assert encoded(encoder, ["a b"]) == [[4, 5]]
    assert tokenizer.asked == 6
