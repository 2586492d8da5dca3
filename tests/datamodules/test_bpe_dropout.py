"""BPE dropout: merges for many words at once, and training sentences cut anew in every epoch."""

from collections import Counter
from itertools import chain, product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from datamodules.batching import Feed, Pieces, PieceSampler, Place
from datamodules.batching.bpe_dropout import Merges, draws
from datamodules.batching.pieces import UpdatePiece
from datamodules.encoded_corpus import EncodedCorpus
from datamodules.sequences import Sequences
from datamodules.tokenization import EOS, UNK, Bpe, TokenizerSettings
from datamodules.translation_data import TranslationData
from tests.datamodules.samples import InParts, random_text
from tests.datamodules.tokenization.kinds import LINES
from tests.datamodules.tokenization.test_tokenizers import ANY_LINE, repeatable
from tests.helpers.data_settings import NO_CLEANING, batch_sizes

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


WORDS = ["Hund", "l'homme", "n'aime", "pas.", "Käse", "(sehr)", "Hundehütte", "homme", "<2fr>"]


TRAIN, TEST = random_text(WORDS, 120, 0), random_text(WORDS, 20, 1)


def settings(dropout=0.3, shared=False):
    return TokenizerSettings("bpe", 90, 1, shared, dropout=dropout)


@pytest.fixture
def data(tmp_path):
    def made(dropout=0.3, seed=3, shared=False, size=120, place="cache"):
        tokenizer = settings(dropout, shared)
        sizes = batch_sizes(64, 200)
        folder = tmp_path / place
        return TranslationData(
            InParts(TRAIN, TEST, size), NO_CLEANING, tokenizer, sizes, None, seed, folder
        )

    return made


def tokens(batch):
    """Return the tokens of each sentence of a batch, by the sentence's number."""
    real = [[ids[: ids.index(EOS)] for ids in side.tolist()] for side in (batch.src, batch.tgt_out)]
    return dict(zip(batch.ids.tolist(), zip(*real, strict=True), strict=True))


def epoch_of(data, number, skip=0, place=None):
    batches = data._training_batches()
    batches.skip(skip)
    sampler = PieceSampler(batches, place or Place())
    sampler.set_epoch(number)
    pieces = Pieces(data.encoded_corpus.encoded["train"], data.dropout)
    return list(Feed(pieces, sampler, workers=2))


def sentences(batches):
    return {number: cut for batch in batches for number, cut in tokens(batch).items()}


@pytest.mark.parametrize("shared", [True, False])
def test_batches_hold_the_text_in_other_tokens(data, shared):
    made = data(shared=shared)
    cut = sentences(epoch_of(made, 0))
    pairs = made.text("train")
    assert sorted(cut) == list(range(len(pairs)))
    for number, sides in cut.items():
        for tokenizer, ids, lines in zip(
            made.tokenizers, sides, (pairs.source, pairs.target), strict=True
        ):
            assert tokenizer.decode([ids]) == [lines[number]]
    plain = sentences(epoch_of(data(0.0, shared=shared), 0))
    assert np.mean([cut[number] != plain[number] for number in plain]) > 0.8


def test_the_order_is_that_without_dropout(data):
    ids, plain = (
        [batch.ids.tolist() for batch in epoch_of(data(share), 1)] for share in (0.5, 0.0)
    )
    assert ids == plain


def test_nothing_left_out_is_no_dropout(data):
    for batch, plain in zip(epoch_of(data(1e-18), 2), epoch_of(data(0.0), 2), strict=True):
        for one, other in zip(batch, plain, strict=True):
            if one is not None:  # no packed or rounded form
                assert torch.equal(torch.as_tensor(one), torch.as_tensor(other))


@pytest.mark.long
def test_cuts_depend_on_seed_epoch_and_sentence_alone(data):
    made = data()
    first = sentences(epoch_of(made, 1))
    assert sentences(epoch_of(data(place="again", size=7), 1)) == first
    for other in (epoch_of(made, 2), epoch_of(data(seed=4), 1)):
        assert sentences(other) != first
    rows = np.array([5, 80, 3])
    for row in rows:  # alone, and in a batch of others
        alone = made.dropout.cut(np.array([row]), 1)
        assert alone.src.flat().tolist() == first[row][0]
    [batch] = [Pieces(alone, made.dropout)[UpdatePiece(rows, 0, 1, 1)]]
    assert tokens(batch) == {row: first[row] for row in rows.tolist()}


def test_equal_words_are_cut_independently(data):
    made = data()
    number = next(n for n, line in enumerate(made.text("train").source) if " " in line)
    cuts = set()
    for epoch in range(60):
        pair = made.dropout.cut(np.array([number]), epoch)
        cuts.add(tuple(pair.src.flat().tolist()))
    assert len(cuts) > 10


@pytest.mark.parametrize("ranks", [1, 2])
def test_pieces_and_ranks_see_the_update_of_one_process(data, ranks):
    made = data()
    whole = epoch_of(made, 1)
    shares = [epoch_of(made, 1, place=Place(rank, ranks, pieces=4)) for rank in range(ranks)]
    turns = 4 // ranks
    for index, update in enumerate(whole):
        pieces = [piece for share in shares for piece in share[index * turns : (index + 1) * turns]]
        assert sentences(pieces) == tokens(update)
        real = int(update.tgt_mask.sum())
        assert sum(piece.weight for piece in pieces) == pytest.approx(1)
        for piece in pieces:
            assert piece.update_tokens == update.update_tokens == real
            assert np.array_equal(piece.update_lengths, update.update_lengths)
        sides = update.src_mask, update.tgt_mask
        assert np.array_equal(update.lengths, [mask.sum(1).tolist() for mask in sides])


def test_validation_and_test_never_drop(data):
    made, plain = data(), data(0.0)
    for loader in ("val_dataloader", "test_dataloader"):
        for batch, other in zip(getattr(made, loader)(), getattr(plain, loader)(), strict=True):
            assert batch.src.equal(other.src)
            assert batch.tgt_out.equal(other.tgt_out)


def test_the_number_of_updates_follows_the_longer_sentences(data):
    made, plain = data(0.5), data(0.0)
    real = sum(batch.update_tokens for batch in epoch_of(made, 0))
    assert made.updates(real) == made.updates_per_epoch
    assert made.updates(10_000) < plain.updates(10_000)


def test_the_longest_cut_is_that_into_characters(data):
    made = data(1 - 2**-40)
    for pairs in (made.dropout.longest(), made.dropout.cut(np.arange(120), 0)):
        for side, lines in zip(pairs.sides, (TRAIN.source, TRAIN.target), strict=True):
            words = [line.split() for line in lines]
            characters = [
                sum(1 if word == "<2fr>" else 1 + len(word) for word in line) for line in words
            ]
            assert side.lengths.tolist() == characters


@pytest.mark.long
@pytest.mark.parametrize("size", [120, 7])
def test_only_dropout_prepares_words(tmp_path, size):
    plain = EncodedCorpus.of(
        InParts(TRAIN, TEST, size), NO_CLEANING, settings(0.0), tmp_path / "plain"
    )
    spelled = EncodedCorpus.of(
        InParts(TRAIN, TEST, size), NO_CLEANING, settings(), tmp_path / "spelled"
    )
    assert plain.spelled is None
    assert spelled.spelled is not None
    names = [{file.name for file in (tmp_path / place).iterdir()} for place in ("plain", "spelled")]
    assert names[0] < names[1]
    assert {name.split(".")[2] for name in names[1] - names[0]} == {"words", "characters"}
    for side, tokenizer, lines in zip(
        spelled.spelled, spelled.tokenizers, (TRAIN.source, TRAIN.target), strict=True
    ):
        assert isinstance(tokenizer, Bpe)
        words = [word for line in lines for word in line.split()]
        characters = side.characters.select(side.words.flat()).flat().tolist()
        assert side.words.lengths.tolist() == [len(line.split()) for line in lines]
        assert characters == list(chain.from_iterable(tokenizer.characters(words)))
