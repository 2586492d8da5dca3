"""Warnings: test pairs in the training text, and targets that equal their sources."""

from datamodules.corpus import ParallelText
from datamodules.suspicions import suspicions_of_corpus

REFERENCES = [f"le chien {number} dort bien ." for number in range(100)]
SOURCES = [f"the dog {number} sleeps well ." for number in range(100)]
TEST = ParallelText(SOURCES, REFERENCES)


def test_a_sound_corpus_is_not_suspicious():
    assert suspicions_of_corpus(ParallelText(["a"] * 50, ["b"] * 50), TEST) == []


def test_test_pairs_in_the_training_text_are_told():
    [leak] = suspicions_of_corpus(ParallelText(SOURCES[:2], REFERENCES[:2]), TEST)
    assert str(leak) == (
        "2 of 100 test pairs are training pairs too: “the dog 0 sleeps well .”; "
        "“the dog 1 sleeps well .”"
    )


def test_an_equal_source_alone_is_no_leak():
    assert suspicions_of_corpus(ParallelText(SOURCES, ["other"] * 100), TEST) == []


def test_copies_are_told():
    copies = ParallelText(SOURCES, SOURCES)
    assert [each.lines for each in suspicions_of_corpus(copies, copies)] == [100, 100, 100]
