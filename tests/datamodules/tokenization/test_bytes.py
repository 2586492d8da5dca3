"""Bytes as tokens."""

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datamodules.errors import UserError
from datamodules.tokenization import UNK, Bytes, SentencePieces
from datamodules.tokenization.sentence_pieces import BYTES
from tests.datamodules.tokenization.kinds import model_of
from tests.datamodules.tokenization.test_every_kind import ANY_TEXT, repeatable

BYTE_TOKENS = [Bytes.train([], 400, 1), SentencePieces(model_of("sentencepiece bpe"))]
"""The second normalises nothing and cuts what it does not know into bytes."""


@pytest.mark.parametrize("tokenizer", BYTE_TOKENS)
@repeatable
@given(ANY_TEXT)
def test_bytes_know_any_text_and_give_it_back(tokenizer, line):
    [ids] = tokenizer.encode([line])
    assert UNK not in ids
    assert tokenizer.decode([ids]) == [" ".join(line.split()).replace("▁", "_")]


def test_the_tokens_of_a_word_are_a_marker_and_its_bytes():
    tokenizer = BYTE_TOKENS[0]
    words = ([tokenizer.numbers["▁"], *numbers_of(word.encode())] for word in ("né", "日"))
    assert tokenizer.encode(["né 日"]) == [list(chain.from_iterable(words))]


def numbers_of(content, tokenizer=BYTE_TOKENS[0]):
    """Return the token of each byte."""
    return [tokenizer.numbers[BYTES[byte]] for byte in content]


@pytest.mark.parametrize("tokenizer", BYTE_TOKENS)
@repeatable
@given(st.binary(min_size=1))
def test_bytes_of_a_model_decode_to_one_word(tokenizer, content):
    """Wrong UTF-8, white space and markers become U+FFFD, never white space."""
    [text] = tokenizer.decode([numbers_of(content, tokenizer)])
    assert text.split() == [text]
    expected = content.decode("utf-8", "replace").replace("▁", "\ufffd")
    assert text == "".join("\ufffd" if one.isspace() else one for one in expected)


@pytest.mark.parametrize(
    ("content", "text"),
    [(b"\xff", "\ufffd"), (b"\xe6\x97", "\ufffd"), (b"\xed\xa0\x80", "\ufffd" * 3),
     (b"a b", "a\ufffdb"), ("a\u3000▁".encode(), "a\ufffd\ufffd")],
)  # fmt: skip
def test_what_is_no_part_of_a_word(content, text):
    assert BYTE_TOKENS[0].decode([numbers_of(content)]) == [text]


def test_a_vocabulary_smaller_than_the_bytes():
    with pytest.raises(UserError, match=r"tokenizer\.vocabulary_size=262$"):
        Bytes.train(["<2fr> a"], 261, 1)
    assert len(Bytes.train(["<2fr> a"], 262, 1)) == 262


def test_other_pieces_are_no_vocabulary_of_bytes():
    with pytest.raises(ValueError, match="the marker and all bytes"):
        Bytes(["▁", *BYTES[1:]])
