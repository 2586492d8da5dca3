"""Words, BPE, unigram and characters: what cuts inside whitespace-separated words."""

import gzip
import json
import random
from pathlib import Path

import pytest
import tokenizers
from tokenizers import models, trainers

from datamodules.errors import UserError
from datamodules.tokenization import SPECIALS, UNK, Bpe, Characters, Unigram, Words
from datamodules.tokenization.word_pieces import PIECES
from tests.datamodules.tokenization.kinds import LINES

MULTI30K = Path(__file__).parents[4] / "shared" / "data" / "multi30k"


def pieces(tokenizer, line):
    ids = tokenizer.encode([line])[0]
    return [tokenizer.decode([[token]])[0] for token in ids]


def test_what_a_word_piece_is():
    tokenizer = Words.train(LINES, 400, 1)
    assert pieces(tokenizer, LINES[0]) == ["L'", "homme", "n'", "aime", "pas", "le", "chien", "."]
    assert pieces(tokenizer, "(noir) 3,5") == ["(", "noir", ")", "3", ",", "5"]
    # The same letters inside a word and at its start are different tokens.
    assert len(set(Words.train(["a-a"], 400, 1).encode(["a-a"])[0])) == 3


@pytest.mark.parametrize("kind", [Bpe, Unigram])
def test_subwords_cross_no_word_however_often_words_meet(kind):
    tokenizer = kind.train(["of the."] * 100, 400, 1)
    assert all(len(text.split()) <= 1 for text in tokenizer.surfaces)
    assert "the." not in tokenizer.surfaces
    assert pieces(Bpe.train(["of the."] * 100, 400, 1), "of the.") == ["of", "the", "."]


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


def test_words_keep_the_most_frequent():
    words = Words.train(["a a a b b c"], 6, 1)
    assert len(words) == 6
    assert words.decode(words.encode(["a b c"])) == ["a b <unk>"]
    rare = Words.train(["a a a b b c"], 100, 3)
    assert rare.decode(rare.encode(["a b c"])) == ["a <unk> <unk>"]


@pytest.mark.parametrize("kind", [Bpe, Unigram])
def test_a_vocabulary_too_small_for_the_characters(kind):
    with pytest.raises(UserError, match=r"tokenizer\.vocabulary_size=10 .* need 31;"):
        kind.train(["abcdefghijklmnopqrstuvwxyz"], 10, 1)


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


def test_characters_are_tokens_and_so_is_the_marker():
    tokenizer = Characters.train(LINES, 400, 1)
    assert pieces(tokenizer, "le chien.") == ["", *"le", "", *"chien."]
    assert max(map(len, tokenizer.surfaces)) == 1


def test_a_run_of_unknown_characters_is_one_token():
    tokenizer = Characters.train(["abc"], 400, 1)
    [ids] = tokenizer.encode(["aЖукc xyz"])
    assert ids.count(UNK) == 2
    assert tokenizer.decode([ids]) == ["a<unk>c <unk>"]


def test_characters_keep_the_most_frequent():
    tokenizer = Characters.train(["aaabbc"], 7, 1)  # four special tokens, a marker, a, b
    assert tokenizer.surfaces[4:] == ["", "a", "b"]
    assert Characters.train(["aaabbc"], 400, 2).surfaces[4:] == ["", "a", "b"]


def test_unigram_depends_on_counts_not_on_the_order_of_lines():
    generator = random.Random(0)
    words = ["low", "lower", "newest", "widest", "wide", "new"]
    lines = [" ".join(generator.choices(words, k=9)) for _ in range(80)]
    first = Unigram.train(lines, 60, 1)
    generator.shuffle(lines)
    assert Unigram.train(lines, 60, 1).fingerprint == first.fingerprint
    assert Unigram.train([" ".join(lines)], 60, 1).fingerprint == first.fingerprint
    assert Unigram.train([*lines, lines[0]], 60, 1).fingerprint != first.fingerprint


def test_unigram_takes_the_most_probable_cut():
    line = "low lower lowest newest widest wide new"
    tokenizer = Unigram.train([line] * 9, 40, 1)
    scores = dict(json.loads(tokenizer._backend.to_str())["model"]["vocab"][4:])
    for word in line.split():
        [ids] = tokenizer.encode([word])
        chosen = sum(scores[tokenizer._pieces[token]] for token in ids)
        assert chosen == pytest.approx(best_score(f"▁{word}", scores))


def best_score(text, scores):
    if not text:
        return 0.0
    cuts = [end for end in range(1, len(text) + 1) if text[:end] in scores]
    sums = (scores[text[:end]] + best_score(text[end:], scores) for end in cuts)
    return max(sums, default=-float("inf"))


def test_a_rare_character_is_unknown_to_unigram():
    tokenizer = Unigram.train(["low lower lowest Ж"] * 2 + ["q"], 60, 2)
    assert UNK in tokenizer.encode(["q"])[0]
    assert UNK not in tokenizer.encode(["Ж"])[0]


@pytest.mark.parametrize("size", [20, 40, 90])
def test_vocabularies_are_those_that_the_library_learns_from_whole_lines(size):
    generator = random.Random(size)
    words = ["".join(generator.choices("abécd,", k=1 + number % 5)) for number in range(60)]
    lines = [" ".join(generator.choices(words, k=9)) for _ in range(40)]
    options = {"vocab_size": size, "min_frequency": 2, "special_tokens": list(SPECIALS)}
    for kind, model, trainer in (
        (Words, models.WordLevel(unk_token="<unk>"), trainers.WordLevelTrainer(**options)),
        (Bpe, models.BPE(), trainers.BpeTrainer(**options, initial_alphabet=["▁"])),
    ):
        library = tokenizers.Tokenizer(model)
        library.pre_tokenizer = PIECES
        library.train_from_iterator(lines, trainer)
        learned = kind.train(lines, size, 2)._backend
        assert learned.get_vocab() == library.get_vocab(with_added_tokens=False)
        merges = [json.loads(each.to_str())["model"].get("merges") for each in (learned, library)]
        assert merges[0] == merges[1]
