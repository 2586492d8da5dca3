"""Merges for many words at once, without and with dropout."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datamodules.batching.bpe_dropout import Merges, draws
from datamodules.sequences import Sequences
from datamodules.tokenization import UNK, Bpe
from tests.datamodules.tokenization.kinds import LINES
from tests.datamodules.tokenization.test_every_kind import ANY_LINE, repeatable

TAGGED = [*LINES, "<2fr> L'homme x<2fr>"]
VOCABULARIES = {
    "text": Bpe.train(TAGGED * 2, 300, 1),
    "overlapping": Bpe.train(["aaaa aab abab abaab bbaa"] * 9, 40, 1),
}
NEARLY_ALL = 1 - 2**-40


def merged(tokenizer, words, left_out=0.0, seed=0):
    """Return the tokens of each word; its key follows from its spelling and the seed."""
    characters = Sequences.of(tokenizer.characters(words))
    spelled = [int.from_bytes(word.encode("utf-8", "surrogatepass")[:7]) for word in words]
    keys = draws(np.array(spelled, np.uint64), np.full(len(words), seed))
    tokens, counts = Merges.of(tokenizer).apply(characters, keys, left_out)
    return [part.tolist() for part in np.split(tokens, np.cumsum(counts))[:-1]]


@pytest.mark.parametrize("name", VOCABULARIES)
@repeatable
@given(ANY_LINE | st.text(st.sampled_from("ab '"), max_size=40))
def test_without_dropout_the_tokens_are_the_tokenizers(name, line):
    words = line.split()
    assert merged(VOCABULARIES[name], words) == VOCABULARIES[name].encode(words)


@pytest.mark.parametrize("name", VOCABULARIES)
@repeatable
@given(ANY_LINE, st.floats(0, NEARLY_ALL))
def test_with_dropout_the_text_is_the_same(name, line, left_out):
    tokenizer, words = VOCABULARIES[name], line.split()
    plain, cut = tokenizer.encode(words), merged(tokenizer, words, left_out)
    assert tokenizer.decode(cut) == tokenizer.decode(plain)
    assert [ids.count(UNK) for ids in cut] == [ids.count(UNK) for ids in plain]


def test_nearly_all_merges_left_out_leave_characters():
    tokenizer, words = VOCABULARIES["text"], ["l'homme", "Жhien", "<2fr>", "chien", "日本語"]
    cut = merged(tokenizer, words, NEARLY_ALL)
    assert cut == tokenizer.characters(words)
    surfaces = [[tokenizer.surfaces[token] for token in ids] for ids in cut]
    assert surfaces[0] == ["", *"l'homme"]
    assert surfaces[1] == ["", "", *"hien"]  # an unknown character has no text
    assert surfaces[2] == ["<2fr>"]


@repeatable
@given(st.lists(st.text(st.sampled_from("Lhomen'pasch"), min_size=1), min_size=1))
def test_a_word_is_cut_alike_in_any_company(words):
    tokenizer = VOCABULARIES["text"]
    together = merged(tokenizer, words, 0.3)
    assert together == [merged(tokenizer, [word], 0.3)[0] for word in words]


def test_another_seed_cuts_otherwise():
    tokenizer, words = VOCABULARIES["text"], ["chien", "homme", "well-known"] * 9
    assert merged(tokenizer, words, 0.3, seed=1) == merged(tokenizer, words, 0.3, seed=1)
    assert merged(tokenizer, words, 0.3, seed=1) != merged(tokenizer, words, 0.3, seed=2)


MERGES = {("a", "b"): "ab", ("b", "c"): "bc", ("ab", "c"): "abc", ("a", "bc"): "abc"}


def probabilities(word, left_out):
    """Return the probability of each cut by algorithm 1 of the paper, one merge at a time."""
    possible = [place for place in range(len(word) - 1) if word[place : place + 2] in MERGES]
    ranks = list(MERGES)
    cuts: Counter = Counter()
    for kept in product([True, False], repeat=len(possible)):
        chance = np.prod([1 - left_out if stays else left_out for stays in kept])
        rest = [place for place, stays in zip(possible, kept, strict=True) if stays]
        if not rest:
            cuts[word] += chance
            continue
        best = min(rest, key=lambda place: (ranks.index(word[place : place + 2]), place))
        pair = word[best : best + 2]
        shorter = (*word[:best], MERGES[pair], *word[best + 2 :])
        for cut, share in probabilities(shorter, left_out).items():
            cuts[cut] += chance * share
    return cuts


@pytest.mark.parametrize("left_out", [0.1, 0.5, 0.9])
def test_cuts_are_as_frequent_as_in_the_paper(left_out):
    symbols = ["a", "b", "c", "ab", "bc", "abc"]
    made = Merges(
        [
            (symbols.index(left), symbols.index(right), symbols.index(result))
            for (left, right), result in MERGES.items()
        ]
    )
    word, times = tuple("abcab"), 40_000
    words = Sequences.of([[symbols.index(one) for one in word]] * times)
    tokens, lengths = made.apply(words, np.arange(times).astype(np.uint64), left_out)
    cuts = np.split(tokens, np.cumsum(lengths)[:-1])
    counted = Counter(tuple(symbols[token] for token in cut) for cut in cuts)
    expected = probabilities(word, left_out)
    assert sum(expected.values()) == pytest.approx(1)
    assert counted.keys() <= expected.keys()
    for cut, chance in expected.items():
        deviation = np.sqrt(chance * (1 - chance) / times)
        assert counted[cut] / times == pytest.approx(chance, abs=5 * deviation + 1e-4)


def test_draws_are_those_of_splitmix64():
    """The first numbers of the published generator for the seed 0."""
    first = draws(np.zeros(3, np.uint64), np.arange(3)).tolist()
    assert first == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_no_words():
    tokenizer = VOCABULARIES["text"]
    nothing = Sequences.of([]), np.zeros(0, np.uint64)
    tokens, lengths = Merges.of(tokenizer).apply(*nothing, 0.1)
    assert (len(tokens), len(lengths)) == (0, 0)


def test_a_vocabulary_without_merges():
    tokenizer = Bpe.train(["a b"], 10, 9)
    assert merged(tokenizer, ["a", "ba"]) == tokenizer.encode(["a", "ba"])
