"""Bytes, and vocabularies that SentencePiece learned."""

import hashlib
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor

from datamodules.corpus import ParallelText
from datamodules.errors import UserError
from datamodules.tokenization import (
    SPECIALS,
    UNK,
    Bytes,
    SentencePieces,
    Tokenizers,
    TokenizerSettings,
)
from datamodules.tokenization.sentence_pieces import BYTES
from datamodules.tokenization.vocabularies import Models
from tests.datamodules.tokenization.kinds import (
    IDENTITY,
    LINES,
    MODELS,
    model_of,
    sentencepiece_model,
)
from tests.datamodules.tokenization.test_tokenizers import ANY_TEXT, repeatable

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


def test_other_pieces_are_no_vocabulary_of_bytes():
    with pytest.raises(ValueError, match="the marker and all bytes"):
        Bytes(["▁", *BYTES[1:]])


TEXT = ParallelText(LINES, LINES)


@pytest.fixture(params=MODELS)
def model(request):
    return model_of(request.param)


def settings(source, target=None, **others):
    models = Models(source=source, target=target or source)
    return TokenizerSettings("sentencepiece", models=models, **others)


def test_numbers_are_those_of_the_model_shifted(model):
    """The special tokens of SentencePiece, <unk>, <s> and </s>, are its numbers 0 to 2."""
    processor = SentencePieceProcessor(model_proto=model)
    shift = len(SPECIALS) - 3
    for line in [*LINES, "Жук (le)"]:
        own = processor.encode(line)
        assert SentencePieces(model).encode([line]) == [
            [UNK if number == 0 else number + shift for number in own]
        ]
    assert len(SentencePieces(model)) == len(processor) + shift


def test_the_fingerprint_is_that_of_the_content(model, tmp_path):
    tokenizer = SentencePieces(model)
    assert tokenizer.fingerprint == hashlib.sha256(model).hexdigest()[:12]
    tokenizer.save(tmp_path / "copy.model")
    assert (tmp_path / "copy.model").read_bytes() == model


def test_normalised_text_comes_back():
    tokenizer = SentencePieces(model_of("sentencepiece unigram"))  # normalises to NFKC
    assert tokenizer.kept("½  ﬁn") == "1⁄2 fin"
    assert tokenizer.decode(tokenizer.encode(["½  ﬁn"])) == ["1⁄2 fin"]


CROSSING = {"split_by_whitespace": False, "vocab_size": 40}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (CROSSING, "crosses white space; train the model with --split_by_whitespace=true"),
        ({"treat_whitespace_as_suffix": True, "vocab_size": 40}, "crosses white space"),
        ({"add_dummy_prefix": False, "vocab_size": 40}, "train with --add_dummy_prefix=true"),
    ],
)
def test_a_model_whose_pieces_are_not_those_of_words(options, message, tmp_path):
    lines = ["of the dog", "of the cat"] * 20
    (tmp_path / "my.model").write_bytes(sentencepiece_model(lines, **IDENTITY, **options))
    with pytest.raises(UserError) as refused:
        Tokenizers.train(ParallelText(lines, lines), settings(tmp_path / "my.model"))
    assert str(refused.value).startswith(f"tokenizer.models.source={tmp_path}/my.model: ")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_no_model(tmp_path):
    (tmp_path / "good.model").write_bytes(model_of("sentencepiece bpe"))
    (tmp_path / "bad.model").write_text("a dog\n")
    with pytest.raises(UserError, match=r"tokenizer\.models\.target=.*bad\.model: not a Sent") as e:
        Tokenizers.train(TEXT, settings(tmp_path / "good.model", tmp_path / "bad.model"))
    assert "\n" not in str(e.value)


def test_a_shared_vocabulary_is_one_file(tmp_path):
    for name in MODELS:
        (tmp_path / f"{name}.model").write_bytes(model_of(name))
    first, second, _ = (tmp_path / f"{name}.model" for name in MODELS)
    with pytest.raises(UserError, match=r"tokenizer\.shared=true: tokenizer\.models has two"):
        Tokenizers.train(TEXT, settings(first, second, shared=True))
    pair = Tokenizers.train(TEXT, settings(first, second))
    assert pair.source.fingerprint != pair.target.fingerprint
    pair.save(tmp_path)
    loaded = Tokenizers.load(tmp_path, "sentencepiece")
    assert [each.fingerprint for each in loaded] == [each.fingerprint for each in pair]


def test_models_are_identified_by_their_content(tmp_path):
    for name, kind in (("one", "sentencepiece bpe"), ("copy", "sentencepiece bpe"),
                       ("other", "sentencepiece unigram")):  # fmt: skip
        (tmp_path / name).write_bytes(model_of(kind))
    one, copy, other = (settings(tmp_path / name).identity for name in ("one", "copy", "other"))
    assert one == copy
    assert one != other


def test_missing_models_are_refused():
    with pytest.raises(UserError, match=r"learns nothing: give .* tokenizer\.models\.source=FILE"):
        Tokenizers.train(TEXT, TokenizerSettings("sentencepiece"))


def test_models_of_another_kind_are_refused(tmp_path):
    (tmp_path / "my.model").write_bytes(model_of("sentencepiece bpe"))
    models = Models(source=tmp_path / "my.model", target=tmp_path / "my.model")
    with pytest.raises(UserError, match=r"tokenizer\.models: tokenizer\.kind=bpe reads no files"):
        TokenizerSettings("bpe", models=models)
