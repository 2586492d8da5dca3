"""The verdict on two toolkits, and the batches of JoeyNMT."""

import numpy as np
import pytest

from sweeps.claims.statistics.verdict import Outcome
from tests.benchmarks.parity.__main__ import equal
from tests.benchmarks.parity.trainings import batches_of

REFERENCES = [
    f"the {word} of sentence {number} is short" for number in range(900) for word in "abc"
]


@pytest.fixture
def translated(tmp_path):
    """Write translations of three seeds, of which each has other wrong words."""

    def write(name, wrong):
        files = []
        for seed in range(3):
            rng = np.random.default_rng(seed)
            lines = [
                " ".join("x" if rng.random() < wrong else word for word in line.split())
                for line in REFERENCES
            ]
            files.append(tmp_path / f"{name}{seed}")
            files[-1].write_text("".join(f"{line}\n" for line in lines))
        return files

    return write


@pytest.mark.parametrize(
    ("ours", "outcome"), [(0.1, Outcome.HELD), (0.05, Outcome.FAILED), (0.4, Outcome.FAILED)]
)
def test_toolkits_are_equal_within_one_bleu_alone(translated, ours, outcome):
    verdict = equal(REFERENCES, translated("ours", ours), translated("theirs", 0.1))
    assert verdict.outcome == outcome
    assert (verdict.effect > 0) == (ours < 0.1)


def test_a_batch_ends_with_the_sentence_that_fills_it():
    assert batches_of(np.array([50]), 50) == 1
    assert batches_of(np.full(21, 5), 50) == 3
    assert batches_of(np.array([1, 50, 1]), 50) == 2
