"""Baselines of a run: counted as systems are, in the run's own buckets."""

import pytest

from lightning_modules.metrics.bleu import corpus_bleu
from lightning_modules.metrics.chosen_metrics import METRICS
from lightning_modules.metrics.systems import TestSet
from lightning_modules.metrics.uncertainty.bootstrap_scores import score_subsets
from lightning_modules.testing.baselines import (
    COPY,
    PHRASE_TABLE,
    baseline_scores,
    baselines_of_run,
)
from lightning_modules.testing.scoring_settings import Scoring

SOURCES = ["a b c d", "a b c d e f", "x", "a b c d e"]
REFERENCES = ["a b c d", "f e d c b a", "y", "a b c d e"]
TEST = TestSet(REFERENCES, SOURCES)


def test_scores_are_those_of_the_translations():
    scoring = Scoring(edges=[4, 5, 9], resamples=100)
    systems = baselines_of_run(TEST, REFERENCES, list(METRICS.values()))
    [buckets] = scoring.buckets([TEST])
    subsets = score_subsets(systems, list(METRICS.values()), buckets, scoring.draws)
    scores = {system.name: baseline_scores(system, subsets) for system in systems}
    assert scores[PHRASE_TABLE].scores == pytest.approx({"bleu": 100, "exact": 100})
    copy = scores[COPY]
    assert copy.scores == pytest.approx({"bleu": corpus_bleu(SOURCES, REFERENCES), "exact": 50})
    exact = {lengths: part["exact"] for lengths, part in copy.by_length.items()}
    assert exact == {"1–4": 50, "5": 100, "6–9": 0}


def test_only_the_metrics_of_the_run_are_counted():
    [table, copy] = baselines_of_run(TEST, SOURCES, [METRICS["bleu"], METRICS["ter"]])
    assert set(table.outputs[0].statistics) == set(copy.outputs[0].statistics) == {"bleu"}


def test_without_a_phrase_table_there_are_no_baselines():
    assert baselines_of_run(TEST, None, [METRICS["bleu"]]) == []
