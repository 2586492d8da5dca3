"""Statistics of a corpus against plain loops over its sentences."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datamodules.corpus import SPLITS, ParallelText
from datamodules.corpus_statistics import MOST_BINS, SideCounts, bins_of, side_statistics
from datamodules.encoded_corpus import EncodedCorpus
from datamodules.tokenization import UNK, TokenizerSettings
from datamodules.translation_data import TranslationData
from tests.datamodules.samples import InParts
from tests.helpers.data_settings import batch_sizes, cleaning_settings

CLEANING = cleaning_settings(unicode=True, ratio=2.0, copies=True, held_out=True, duplicates=True)
SIDES = ("source", "target")
WORDS = ["der", "Hund", "l'homme", "pas.", "Käse", "(sehr)", "3.5", "Jäger", "e\u0301te\u0301"]


def text(count, seed, rare=""):
    random = np.random.default_rng(seed)
    words = [*WORDS, rare] if rare else WORDS
    lengths = random.integers(1, 9, count)
    source = [" ".join(random.choice(words, n)) for n in lengths]
    return ParallelText(source, [" ".join(reversed(line.split())) for line in source])


TRAIN, OTHER = text(200, 0), text(20, 2, "Ж")
TEST = ParallelText(OTHER.source + TRAIN.source[:3], OTHER.target + TRAIN.target[:3])


def corpus_of(size=40):
    """Return a corpus whose test text has words that training lacks, and a leak."""
    told = {"left_out": {"longer than 9 words": 2}}
    return InParts(TRAIN, TEST, size, text(30, 1, "unseen"), told=lambda number: told)


@pytest.fixture
def make(tmp_path):
    def make(kind="bpe", cleaning=CLEANING, max_tokens=64):
        tokenizer = TokenizerSettings(kind, 70, 1, shared=False)
        batching = batch_sizes(max_tokens, 200)
        folder = tmp_path / "cache"
        return TranslationData(corpus_of(), cleaning, tokenizer, batching, None, 3, folder)

    return make


def rank(lengths, share):
    """The least length that a share of the sentences do not exceed."""
    return sorted(lengths)[math.ceil(share * len(lengths)) - 1]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["bpe", "words"])
def test_every_number_is_that_of_a_plain_loop(make, kind):
    data = make(kind)
    corpus, found = data.encoded_corpus, data.encoded_corpus.statistics
    for split in SPLITS:
        for name, tokenizer in zip(SIDES, data.tokenizers, strict=True):
            encoded = dict(zip(SIDES, corpus.encoded[split].sides, strict=True))[name]
            tokens = [
                encoded.tokens[start : start + length].tolist()
                for start, length in zip(encoded.starts, encoded.lengths, strict=True)
            ]
            lines = tokenizer.decode(tokens) if split == "train" else None
            lines = lines or getattr(corpus.text[split], name)
            side = found.splits[split][name]
            words = [len(line.split()) for line in lines]
            assert side.words == sum(words)
            assert side.types == len({word for line in lines for word in line.split()})
            assert side.tokens == sum(map(len, tokens))
            assert side.unknown == sum(token == UNK for line in tokens for token in line)
            for lengths, measured in ((words, side.in_words), (map(len, tokens), side.in_tokens)):
                lengths = list(lengths)
                assert measured.mean == pytest.approx(sum(lengths) / len(lengths))
                assert measured.median == rank(lengths, 0.5)
                assert measured.percentile_95 == rank(lengths, 0.95)
                assert measured.longest == max(lengths)
            ends = [*found.bins[1:], math.inf]
            assert side.histogram == [
                sum(low <= each < high for each in words)
                for low, high in zip(found.bins, ends, strict=True)
            ]
    assert found.splits["test"]["source"].unknown > 0
    assert found.splits["train"]["source"].unknown == 0


@pytest.mark.long
def test_reading_and_cleaning_are_counted(make):
    data = make()
    found = data.encoded_corpus.statistics
    assert found.pairs_read == 200
    assert found.left_out == {"val": {}, "test": {}}
    steps = {step.step: step for step in found.cleaning}
    limit = steps.pop("longer than 9 words")
    assert (limit.seen, limit.count) == (210, 10)
    composed = steps["characters composed (NFC)"]
    assert composed.seen == 200
    assert composed.count == sum("e\u0301" in line for line in TRAIN.source)
    assert all(len(step.examples) <= 3 for step in found.cleaning)
    gone = sum(step.count for step in steps.values() if step.leaves_out)
    assert gone == 200 - len(data.encoded_corpus.encoded["train"])
    assert set(found.seconds) == {"text", "vocabularies", "tokens"}
    assert found.pairs_per_second == pytest.approx(200 / sum(found.seconds.values()))
    assert found.leaked == 0  # the pairs of the test set were left out


def test_leaks_are_counted_as_the_training_text_has_the_sentences(make):
    leaks = make(cleaning=cleaning_settings(unicode=True)).encoded_corpus
    pairs = set(zip(TRAIN.source, TRAIN.target, strict=True))
    naive = sum(pair in pairs for pair in zip(TEST.source, TEST.target, strict=True))
    assert leaks.statistics.leaked == naive >= 3
    assert leaks.suspicions[0].startswith(f"{naive} of 23 test pairs are training pairs too")


@pytest.mark.long
@pytest.mark.parametrize("max_tokens", [24, 64, 1000])
def test_padding_is_that_of_the_batches(make, max_tokens):
    data = make(max_tokens=max_tokens)
    real, all_positions = np.zeros(2), np.zeros(2)
    for batch in data.train_dataloader():
        for place, mask in enumerate((batch.src_mask, batch.tgt_mask)):
            real[place] += mask.sum().item()
            all_positions[place] += mask.numel()
    assert list(data.statistics["padding"].values()) == pytest.approx(1 - real / all_positions)


@pytest.mark.long
def test_padding_of_a_huge_corpus_is_that_of_its_first_pool(make, monkeypatch):
    """Every pool has pairs from all over the corpus."""
    monkeypatch.setattr("datamodules.batching.sampler.POOL", 50)
    data = make(max_tokens=30)
    padding = data.statistics["padding"]
    monkeypatch.undo()
    assert list(padding.values()) == pytest.approx(
        list(make(max_tokens=30).statistics["padding"].values()), abs=0.05
    )


@pytest.mark.long
def test_parts_and_a_warm_store_have_the_same_statistics(make):
    cold = make().encoded_corpus
    assert make().encoded_corpus.statistics == cold.statistics
    whole = EncodedCorpus.of(
        corpus_of(200),
        CLEANING,
        TokenizerSettings("bpe", 70, 1, shared=False),
        cold.folder / "whole",
    )
    assert whole.statistics is not None
    assert cold.statistics is not None
    assert whole.statistics.splits == cold.statistics.splits
    assert whole.statistics.bins == cold.statistics.bins


lengths = st.lists(st.integers(0, 3000), min_size=1, max_size=60)


@settings(derandomize=True, deadline=None, database=None)
@given(lengths, lengths)
def test_bins_are_few_and_hold_every_sentence(first, second):
    sides = [SideCounts(np.bincount(each), np.bincount(each), 0, 0) for each in (first, second)]
    bins = bins_of(sides)
    assert len(bins) <= MOST_BINS
    assert len({b - a for a, b in pairwise(bins)}) <= 1
    for side, given_lengths in zip(sides, (first, second), strict=True):
        histogram = side_statistics(side, bins).histogram
        assert sum(histogram) == len(given_lengths)
