"""Warnings: test pairs in the training text, and targets that equal their sources."""

import pytest

from datamodules.corpus import ParallelText
from datamodules.encoded_corpus import EncodedCorpus
from datamodules.tokenization import TokenizerSettings
from tests.datamodules.samples import InParts
from tests.helpers.data_settings import NO_CLEANING

REFERENCES = [f"le chien {number} dort bien ." for number in range(100)]
SOURCES = [f"the dog {number} sleeps well ." for number in range(100)]
TEST = ParallelText(SOURCES, REFERENCES)


@pytest.fixture
def suspicions(tmp_path):
    settings = TokenizerSettings("words", 500, 1, shared=False)

    def of(training, test, generated=True):
        corpus = InParts(training, test, 30)
        corpus.source, corpus.target, corpus.generated = "en", "fr", generated
        return EncodedCorpus.of(corpus, NO_CLEANING, settings, tmp_path / "prepared").suspicions

    return of


def test_a_sound_corpus_is_not_suspicious(suspicions):
    assert suspicions(ParallelText(["a"] * 50, ["b"] * 50), TEST) == []


def test_test_pairs_in_the_training_text_are_told(suspicions):
    [leak] = suspicions(ParallelText(SOURCES[:2], REFERENCES[:2]), TEST)
    assert leak == (
        "2 of 100 test pairs are training pairs too: “the dog 0 sleeps well .”; "
        "“the dog 1 sleeps well .”"
    )


def test_an_equal_source_alone_is_no_leak(suspicions):
    assert suspicions(ParallelText(SOURCES, ["other"] * 100), TEST) == []


def test_copies_are_told(suspicions):
    copies = ParallelText(SOURCES, SOURCES)
    assert [each.partition(":")[0] for each in suspicions(copies, copies)] == [
        "100 of 100 test pairs are training pairs too",
        "100 of 100 training sources equal their target",
        "100 of 100 test sources equal their reference",
    ]


@pytest.mark.parametrize("split", ["training", "validation"])
def test_swapped_languages_of_each_split_are_told(suspicions, split):
    right = ParallelText(SOURCES[:60], REFERENCES[:60])
    wrong = ParallelText(right.target, right.source)
    chosen = (wrong, right) if split == "training" else (right, wrong)
    told = [
        each.partition(":")[0] for each in suspicions(*chosen, generated=False) if "swapped" in each
    ]
    assert len(told) == 1
    assert f"{split} pairs have the languages swapped (data.source, data.target)" in told[0]
    seen = 30 if split == "training" else 60  # the first part; the whole split
    assert f" of {seen} " in told[0]
