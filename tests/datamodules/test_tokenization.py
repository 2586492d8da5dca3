import gzip
import random
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from datamodules.corpus import ParallelText
from datamodules.errors import UserError
from datamodules.tokenization import (
    BOS,
    EOS,
    PAD,
    UNK,
    Bpe,
    Tokenizers,
    TokenizerSettings,
    Words,
    is_tag,
)

MULTI30K = Path(__file__).parents[3] / "shared" / "data" / "multi30k"

LINES = [
    "L'homme n'aime pas le chien.",
    "Le chien (noir) n’a pas 3,5 ans !",
    "Don't: <s> is no </s> token, nor is <unk> or <pad>.",
    "naïve nai\u0308ve ½ 日本語 🙂 a_b well-known 'quoted' ''",
]
KINDS = (Words, Bpe)

repeatable = settings(derandomize=True, deadline=None, database=None)


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request):
    return request.param.train(LINES, vocabulary_size=400, min_frequency=1)


def pieces(tokenizer, line):
    """Return the decoded text of each token of a line."""
    ids = tokenizer.encode([line])[0]
    return [tokenizer.decode([[token]])[0] for token in ids]


def test_what_a_word_piece_is():
    tokenizer = Words.train(LINES, 400, 1)
    assert pieces(tokenizer, LINES[0]) == ["L'", "homme", "n'", "aime", "pas", "le", "chien", "."]
    assert pieces(tokenizer, "(noir) 3,5") == ["(", "noir", ")", "3", ",", "5"]
    # The same letters inside a word and at its start are different tokens.
    assert len(set(Words.train(["a-a"], 400, 1).encode(["a-a"])[0])) == 3


def test_bpe_crosses_no_word_however_often_words_meet():
    tokenizer = Bpe.train(["of the."] * 100, 400, 1)
    assert pieces(tokenizer, "of the.") == ["of", "the", "."]


@pytest.mark.parametrize("line", LINES)
def test_decode_inverts_encode(tokenizer, line):
    ids = tokenizer.encode([line])[0]
    assert min(ids) > UNK
    assert tokenizer.decode([ids]) == [line]


@repeatable
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_inverted_by_a_vocabulary_that_knows_it(line):
    single_spaced = " ".join(line.split())
    for kind in KINDS:
        tokenizer = kind.train([line], 4000, 1)
        assert tokenizer.decode(tokenizer.encode([line])) == [single_spaced.replace("▁", "_")]


ANY_LINE = st.text(st.sampled_from("Lhomen 'pas.<>_▁\t\u2028\xa0\u3000日Ж🙂\u0308")) | st.text(
    st.characters(exclude_categories=["Cs"])
)


@repeatable
@given(ANY_LINE)
def test_words_of_a_line_agree_with_split(tokenizer, line):
    words = tokenizer.words_of_line(line)
    assert len(words) == len(tokenizer.encode([line])[0])
    assert sorted(set(words)) == list(range(len(line.split())))
    assert words == sorted(words)


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
    # Nor does frequent literal text in training create a special token.
    trained = Bpe.train([literal] * 50, 400, 1)
    ids = trained.encode([literal])[0]
    assert min(ids) > UNK
    assert trained.decode([ids]) == [literal]


@pytest.mark.parametrize("kind", KINDS)
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


@pytest.mark.parametrize("kind", KINDS)
def test_tags_leave_all_other_tokens_as_they_are(kind):
    plain = kind.train(LINES, 90, 1).surfaces
    tagged = kind.train([f"<2fr> {line}" for line in LINES], 91, 1).surfaces
    assert tagged == [*plain[:4], "<2fr>", *plain[4:]]


@pytest.mark.parametrize(
    "word", ["<2>", "<22>", "<2a1>", "<2fr", "2fr>", "<2fr>.", "<s>", "fr", ""]
)
def test_what_is_no_tag(word):
    assert not is_tag(word)


def test_surfaces_are_what_tokens_add_to_a_line(tokenizer):
    assert tokenizer.surfaces[:4] == ["", "", "", ""]
    ids = tokenizer.encode([LINES[0]])[0]
    assert "".join(tokenizer.surfaces[token] for token in ids) == LINES[0].replace(" ", "")


@pytest.mark.parametrize("characters", ["ab", "aab", "abc"])
def test_bpe_by_whole_pieces_is_bpe_by_merges(characters):
    """Looking up a piece before merging gives the same tokens, even if merges could overlap."""
    generator = random.Random(0)
    lines = ["".join(generator.choices(characters, k=1 + size)) for size in range(30)]
    tokenizer = Bpe.train(lines, 60, 1)
    settings = tokenizer._backend.to_str()
    by_merges = tokenizers.Tokenizer.from_str(
        settings.replace('"ignore_merges":true', '"ignore_merges":false')
    )
    assert by_merges.to_str() != settings
    text = [*lines, *tokenizer.surfaces[5:]]
    assert [encoding.ids for encoding in by_merges.encode_batch(text)] == tokenizer.encode(text)


def test_a_marker_in_the_text_reads_as_an_underscore(tokenizer):
    line = "a▁b ▁ ▁▁"
    assert tokenizer.encode([line]) == tokenizer.encode(["a_b _ __"])


def test_unknown_text(tokenizer):
    line = "le Жук, le"
    ids = tokenizer.encode([line])[0]
    assert UNK in ids
    assert tokenizer.decode([ids]) == ["le <unk>, le"]
    assert tokenizer.words_of_line(line) == tokenizer.words_of_tokens(ids)


@pytest.mark.parametrize("line", [*LINES, "Ж le▁chien, 漢字 Żn'Ж.", " ▁", ""])
def test_pieces_of_a_line_are_its_text_also_where_unknown(tokenizer, line):
    found = tokenizer.pieces_of_line(line)
    assert "".join(found) == "".join(line.replace("▁", "_").split())
    [ids] = tokenizer.encode([line])
    surfaces = tokenizer.surfaces
    assert all(
        token == UNK or surfaces[token] == text for token, text in zip(ids, found, strict=True)
    )


def test_lines_without_words(tokenizer):
    assert tokenizer.encode(["", " \t "]) == [[], []]
    assert tokenizer.encode([]) == []
    assert tokenizer.words_of_line("") == []
    assert tokenizer.words_of_tokens([]) == []


@pytest.mark.parametrize("kind", KINDS)
def test_training_depends_on_the_lines_alone(kind):
    shuffled = LINES * 3
    random.Random(1).shuffle(shuffled)
    first = kind.train(LINES * 3, 90, 1)
    assert kind.train(shuffled, 90, 1).fingerprint == first.fingerprint
    assert kind.train(LINES[:3] * 3, 90, 1).fingerprint != first.fingerprint


def test_limits_hold():
    words = Words.train(["a a a b b c"], 6, 1)
    assert len(words) == 6
    assert words.decode(words.encode(["a b c"])) == ["a b <unk>"]
    rare = Words.train(["a a a b b c"], 100, 3)
    assert rare.decode(rare.encode(["a b c"])) == ["a <unk> <unk>"]


def test_a_vocabulary_too_small_for_the_characters():
    with pytest.raises(UserError, match=r"tokenizer\.vocabulary_size=10 .* need 31;"):
        Bpe.train(["abcdefghijklmnopqrstuvwxyz"], 10, 1)


def test_save_and_load(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "new" / "vocabulary.json")
    loaded = type(tokenizer).load(tmp_path / "new" / "vocabulary.json")
    assert loaded.fingerprint == tokenizer.fingerprint
    assert len(loaded) == len(tokenizer)
    for line in [*LINES, "Жук <s>"]:
        ids = tokenizer.encode([line])
        assert loaded.encode([line]) == ids
        assert loaded.decode(ids) == tokenizer.decode(ids)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("content", ["", "{}", '{"version": "1.0"'])
def test_loading_something_else(tmp_path, kind, content):
    (tmp_path / "vocabulary.json").write_text(content)
    with pytest.raises(ValueError, match=r"vocabulary\.json"):
        kind.load(tmp_path / "vocabulary.json")


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


@pytest.mark.parametrize(
    ("name", "value"), [("vocabulary_size", 4), ("min_frequency", 0), ("shared", "perhaps")]
)
def test_wrong_settings_are_refused(name, value):
    good = {"kind": "bpe", "vocabulary_size": 100, "min_frequency": 1, "shared": True}
    with pytest.raises(ValidationError, match=name):
        TokenizerSettings(**(good | {name: value}))


@pytest.mark.real_text
@pytest.mark.parametrize("language", ["de", "en", "fr"])
def test_real_text_survives_bpe(language):
    path = MULTI30K / f"val.{language}.gz"
    if not path.is_file():
        pytest.skip("no multi30k in shared/data")
    lines = gzip.decompress(path.read_bytes()).decode().rstrip("\n").split("\n")
    tokenizer = Bpe.train(lines, 2000, 2)
    encoded = tokenizer.encode(lines)
    assert tokenizer.decode(encoded) == [" ".join(line.split()) for line in lines]
    for line, ids in zip(lines[:200], encoded, strict=False):
        assert tokenizer.words_of_line(line) == tokenizer.words_of_tokens(ids)


def test_a_vocabulary_without_words_is_refused():
    settings = TokenizerSettings("words", vocabulary_size=100, min_frequency=50, shared=False)
    with pytest.raises(UserError, match=r"tokenizer\.min_frequency=50: no word of the training"):
        Tokenizers.train(ParallelText(LINES, LINES), settings)
