"""What every kind of tokenizer must do."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datamodules.corpus import ParallelText
from datamodules.errors import UserError
from datamodules.tokenization import (
    BOS,
    EOS,
    PAD,
    UNK,
    Bytes,
    SentencePieces,
    Tokenizers,
    TokenizerSettings,
    Words,
    is_tag,
)
from datamodules.tokenization.sentence_pieces import BYTES
from datamodules.tokenization.vocabularies import TOKENIZERS
from datamodules.tokenization.word_pieces import WordPieces
from tests.datamodules.tokenization.kinds import LINES, TRAINED

repeatable = settings(derandomize=True, deadline=None, database=None)
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
ANY_LINE = st.text(st.sampled_from("Lhomen 'pas.<>_▁\t\u2028\xa0\u3000日Ж🙂\u0308")) | ANY_TEXT


@pytest.fixture(params=TRAINED.values())
def kind(request):
    return request.param


@pytest.mark.parametrize("line", LINES)
def test_decode_inverts_encode(tokenizer, line):
    ids = tokenizer.encode([line])[0]
    assert min(ids) > UNK
    assert tokenizer.decode([ids]) == [tokenizer.kept(line)]


@repeatable
@given(ANY_TEXT)
def test_any_text_is_inverted_by_a_vocabulary_that_knows_it(line):
    single_spaced = " ".join(line.split())
    for kind in TRAINED.values():
        tokenizer = kind.train([line], 4000, 1)
        assert tokenizer.decode(tokenizer.encode([line])) == [single_spaced.replace("▁", "_")]


@repeatable
@given(ANY_LINE)
def test_text_without_unknown_tokens_is_inverted(tokenizer, line):
    [ids] = tokenizer.encode([line])
    if UNK not in ids:
        assert tokenizer.decode([ids]) == [tokenizer.kept(line)]


@repeatable
@given(ANY_LINE)
def test_words_of_a_line_agree_with_split(tokenizer, line):
    words = tokenizer.words_of_line(line)
    assert len(words) == len(tokenizer.encode([line])[0])
    assert set(words) <= set(range(len(line.split())))
    assert words == sorted(words)
    if not isinstance(tokenizer, SentencePieces):  # NFKC may leave nothing of a word
        assert sorted(set(words)) == list(range(len(line.split())))


@repeatable
@given(st.data())
def test_words_of_tokens_agree_with_the_decoded_text(tokenizer, data):
    tokens = st.integers(0, len(tokenizer) - 1) | st.sampled_from([PAD, BOS, EOS, UNK])
    ids = data.draw(st.lists(tokens))
    words = tokenizer.words_of_tokens(ids)
    text = tokenizer.decode([ids])[0]
    assert len(words) == len(ids)
    real = [word for word in words if word >= 0]
    assert sorted(set(real)) == list(range(len(text.split())))
    assert real == sorted(real)
    assert all(word == -1 for word, token in zip(words, ids, strict=True) if token < UNK)
    # Putting the tokens of each word together gives the word.
    for index, word in enumerate(text.split()):
        tokens_of_word = [token for token, at in zip(ids, words, strict=True) if at == index]
        assert tokenizer.decode([tokens_of_word]) == [word]


@pytest.mark.parametrize("line", LINES)
def test_both_word_numberings_agree_on_known_text(tokenizer, line):
    ids = tokenizer.encode([line])[0]
    assert tokenizer.words_of_tokens(ids) == tokenizer.words_of_line(line)


def test_specials_frame_but_do_not_show(tokenizer):
    ids = tokenizer.encode(["le chien"])[0]
    assert tokenizer.decode([[BOS, *ids, EOS, PAD, PAD], []]) == ["le chien", ""]
    assert tokenizer.words_of_tokens([BOS, *ids, EOS])[:: len(ids) + 1] == [-1, -1]


def test_text_that_looks_like_a_special_token_is_text(tokenizer):
    literal = "<s></s> <pad> <unk>"
    ids = tokenizer.encode([literal])[0]
    assert not {PAD, BOS, EOS} & set(ids)
    if not isinstance(tokenizer, Words):  # to which s is known inside a word alone
        assert tokenizer.decode([ids]) == [literal]


def test_frequent_text_of_training_makes_no_special_token(kind):
    literal = "<s></s> <pad> <unk>"
    tokenizer = kind.train([literal] * 50, 400, 1)
    [ids] = tokenizer.encode([literal])
    assert min(ids) > UNK
    assert tokenizer.decode([ids]) == [literal]


def test_a_tag_of_the_target_language_is_one_token(kind):
    """A rare tag is one token too, but a tag inside a longer word is plain text."""
    tokenizer = kind.train([f"<2fr> {LINES[0]}", "<2日本> x<2fr> <2fr>,"], 400, 1)
    for line in ("<2fr> L'homme n'aime pas", "le <2日本> chien <2fr>"):
        ids = tokenizer.encode([line])[0]
        assert sum(is_tag(tokenizer.surfaces[token]) for token in ids) == line.count("<2")
        assert tokenizer.decode([ids]) == [line]
        assert tokenizer.words_of_line(line) == tokenizer.words_of_tokens(ids)
    for line in ("x<2fr>", "<2fr>,"):
        ids = tokenizer.encode([line])[0]
        assert not any(is_tag(tokenizer.surfaces[token]) for token in ids)
        assert tokenizer.decode([ids]) == [line]


def test_tags_leave_all_other_tokens_as_they_are(kind):
    size = 300 if kind is Bytes else 90
    plain = kind.train(LINES, size, 1).surfaces
    tagged = kind.train([f"<2fr> {line}" for line in LINES], size + 1, 1).surfaces
    assert "<2fr>" in tagged
    assert [surface for surface in tagged if surface != "<2fr>"] == plain


@pytest.mark.parametrize(
    "word", ["<2>", "<22>", "<2a1>", "<2fr", "2fr>", "<2fr>.", "<s>", "fr", ""]
)
def test_what_is_no_tag(word):
    assert not is_tag(word)


def test_surfaces_are_what_tokens_add_to_a_line(tokenizer):
    assert tokenizer.surfaces[:4] == ["", "", "", ""]
    ids = tokenizer.encode([LINES[0]])[0]
    assert "".join(tokenizer.surfaces[token] for token in ids) == LINES[0].replace(" ", "")


def test_a_marker_in_the_text_reads_as_an_underscore(tokenizer):
    line = "a▁b ▁ ▁▁"
    assert tokenizer.encode([line]) == tokenizer.encode(["a_b _ __"])


def test_unknown_text(tokenizer):
    line = "le Жук, le"
    ids = tokenizer.encode([line])[0]
    knows_bytes = BYTES[0] in tokenizer.numbers
    assert (UNK in ids) != knows_bytes
    assert tokenizer.decode([ids]) == [line if knows_bytes else "le <unk>, le"]
    assert tokenizer.words_of_line(line) == tokenizer.words_of_tokens(ids)


@pytest.mark.parametrize("line", [*LINES, "Ж le▁chien, 漢字 Żn'Ж.", " ▁", ""])
def test_pieces_of_a_line_are_its_text_also_where_unknown(tokenizer, line):
    found = tokenizer.pieces_of_line(line)
    [ids] = tokenizer.encode([line])
    assert len(found) == len(ids)
    if isinstance(tokenizer, WordPieces):
        assert "".join(found) == "".join(line.replace("▁", "_").split())
    for token, text, word in zip(ids, found, tokenizer.words_of_line(line), strict=True):
        if token == UNK:
            assert text in line.replace("▁", "_").split()[word]
        else:
            assert text == tokenizer.surfaces[token]


def test_lines_without_words(tokenizer):
    assert tokenizer.encode(["", " \t "]) == [[], []]
    assert tokenizer.encode([]) == []
    assert tokenizer.words_of_line("") == []
    assert tokenizer.words_of_tokens([]) == []


def test_training_depends_on_the_lines_alone(kind):
    shuffled = LINES * 3
    random.Random(1).shuffle(shuffled)
    size = 300 if kind is Bytes else 90
    first = kind.train(LINES * 3, size, 1)
    assert kind.train(shuffled, size, 1).fingerprint == first.fingerprint
    others = kind.train([*LINES[:3] * 3, "<2fr>"], size, 1)
    assert others.fingerprint != first.fingerprint


def test_save_and_load(tokenizer, tmp_path):
    file = tmp_path / "new" / f"vocabulary{tokenizer.ending}"
    tokenizer.save(file)
    loaded = type(tokenizer).load(file)
    assert loaded.fingerprint == tokenizer.fingerprint
    assert len(loaded) == len(tokenizer)
    for line in [*LINES, "Жук <s>"]:
        ids = tokenizer.encode([line])
        assert loaded.encode([line]) == ids
        assert loaded.decode(ids) == tokenizer.decode(ids)


@pytest.mark.parametrize("content", ["", "{}", '{"version": "1.0"'])
def test_loading_something_else(tokenizer, tmp_path, content):
    (tmp_path / "vocabulary.json").write_text(content)
    with pytest.raises(ValueError, match=r"vocabulary\.json"):
        type(tokenizer).load(tmp_path / "vocabulary.json")


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


@pytest.mark.parametrize(
    ("kind", "wanted", "sides"),
    [("unigram", 4000, 2), ("bpe", 4000, 2), ("bpe", 60, 0), ("words", 4000, 0)],
)
def test_subwords_that_are_far_fewer_than_asked_are_reported(kind, wanted, sides):
    wanted_settings = TokenizerSettings(kind, wanted, 1)
    text = ParallelText(["the cat sees a dog in the garden"] * 9, ["le chat voit un chien"] * 9)
    tokenizers = Tokenizers.train(text, wanted_settings)
    lines = [*tokenizers.far_smaller(wanted_settings)]
    assert len(lines) == sides
    for line, tokenizer in zip(lines, tokenizers, strict=False):
        assert f"has {len(tokenizer):,} tokens" in line
        assert f"tokenizer.vocabulary_size={wanted}" in line
