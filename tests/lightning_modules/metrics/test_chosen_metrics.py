"""Metrics found by name or dotted path, and every way to get one's own metric wrong."""

import sys

import numpy as np
import pytest

from datamodules.errors import UserError
from lightning_modules.metrics.chosen_metrics import (
    METRICS,
    check_counts,
    find_metrics,
    find_recorded_metric,
    in_order,
    signatures,
    translation_statistics,
    try_metrics,
)
from lightning_modules.metrics.metric import ReferenceText
from lightning_modules.metrics.text_metrics import TEXT_METRICS, Bleu, ChrfPlusPlus, Ter
from tests.helpers.commands import mistake, write

BASES = """
import numpy as np

from lightning_modules.metrics.metric import Metric, ReferenceText, TextMetric, ratio
from lightning_modules.metrics.text_metrics import Chrf


class Words(TextMetric):
    name = "words"
    label = "words"
    better = 0
    signature = "v1"

    def count(self, text, hypotheses):
        return np.array([(len(line.split()), 1) for line in hypotheses], float)

    def score(self, sums):
        return ratio(sums)


class SourceWords(Words):
    name = "source_words"
    needs_sources = True


class Better(Chrf):
    name = "chrf-better"


class Rival(Words):
    name = "words"


class NoText(Metric):
    pass


class NoName(TextMetric):
    label, better, count, score = "x", 1, Words.count, Words.score


class NoScore(TextMetric):
    name, label, better, count = "x", "x", 1, Words.count


class Wanting(Words):
    def __init__(self, model):
        pass
"""
ODD = {
    "Taken": 'name = "perplexity"',
    "TakenStatistics": 'name, statistics = "y", "links"',
    "Slash": 'name = "a/b"',
    "Unnamed": 'label = ""',
    "Best": 'better = "higher"',
    "Short": "count = lambda *lists: np.ones((1, 2))",
    "Flat": "count = lambda *lists: np.ones(len(lists[-1]))",
    "Undefined": "count = lambda *lists: [(1.0, 1.0), (np.nan, 1.0)]",
    "Wordy": 'count = lambda *lists: [("a", "b")] * len(lists[-1])',
    "Total": "score = lambda self, sums: sums.sum()",
    "Rows": "score = lambda self, sums: sums[:, 0]",
}
"""Bodies of classes that cannot be used, derived from ``Words``."""
MODULE = BASES + "".join(f"\n\nclass {name}(Words):\n    {body}\n" for name, body in ODD.items())
MISTAKES = {
    "chrf chrf": "scoring.metrics=chrf: chrf is there twice; give each once",
    "odd.Words odd.Rival": "scoring.metrics=odd.Rival: words is there twice",
    "bleurt": "scoring.metrics=bleurt: choose one of bleu, exact, chrf, chrf.., ter, or give",
    "odd.Missing": "scoring.metrics=odd.Missing: cannot be imported; choose one of bleu",
    "odd.NoText": "scoring.metrics=odd.NoText: is not derived from lightning_modules.metrics",
    "odd.NoScore": "scoring.metrics=odd.NoScore: NoScore lacks score",
    "odd.NoName": "scoring.metrics=odd.NoName: NoName.name=None: is missing; give one",
    "odd.Wanting": "scoring.metrics=odd.Wanting: .*missing 1 required positional argument: 'model'",
    "odd.Taken": "scoring.metrics=odd.Taken: Taken.name='perplexity': this name is taken",
    "odd.TakenStatistics": "TakenStatistics.statistics='links': is taken; give another",
    "odd.Slash": "scoring.metrics=odd.Slash: Slash.name='a/b': give letters, digits",
    "odd.Unnamed": "scoring.metrics=odd.Unnamed: Unnamed.label='': give a text",
    "odd.Best": "scoring.metrics=odd.Best: Best.better='higher': give 1, -1 or 0",
    "odd.Short": r"Short.count returns the shape \(1, 2\), but \(2, columns\) is needed",
    "odd.Flat": r"odd.Flat: Flat.count returns the shape \(2,\), but \(2, columns\) is needed",
    "odd.Undefined": r"odd.Undefined: Undefined.count returns \[nan, 1.0\] for sentence 1, from 0",
    "odd.Wordy": "odd.Wordy: Wordy.count returns no array of numbers, list",
    "odd.Total": r"odd.Total: Total returns the shape \(\), but \(2, 3\) is needed",
    "odd.Rows": r"odd.Rows: Rows cannot compute: odd.py, line \d+: IndexError: too many indices",
}


@pytest.fixture(autouse=True)
def odd(tmp_path, monkeypatch):
    """A module ``odd`` of a user."""
    (tmp_path / "odd.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("odd", None)


def names(metrics):
    return [metric.name for metric in metrics]


def test_bleu_is_always_there_and_comes_first():
    assert names(find_metrics([])) == ["bleu"]
    assert names(find_metrics(["ter", "odd.Words", "bleu"])) == ["bleu", "ter", "words"]
    path = "lightning_modules.metrics.text_metrics.Bleu"
    assert names(find_metrics(["chrf", path])) == ["bleu", "chrf"]


def test_tables_have_the_harness_s_order_and_then_the_user_s_metrics():
    assert names(in_order(find_metrics(TEXT_METRICS))) == list(METRICS)
    chosen = names(in_order(find_metrics(["odd.Words", "ter", "chrf"])))
    without = [name for name in METRICS if name not in ("chrf++", "exact")]
    assert chosen == [*without, "words"]
    assert names(in_order([*find_metrics(["ter"]), Ter(), Bleu()])).count("ter") == 1


@pytest.mark.parametrize(("path", "line"), MISTAKES.items(), ids=list(MISTAKES))
def test_a_mistake_is_one_line(path, line):
    with pytest.raises(UserError, match=line) as caught:
        try_metrics(path.split())
    assert len(str(caught.value).splitlines()) == 1


def test_a_training_does_not_begin_with_a_metric_that_cannot_score(tmp_path):
    where = ["logger=none", f"hydra.run.dir={tmp_path}/run", f"cache_dir={tmp_path}/cache"]
    tiny = ["data.train_size=50", "data.val_size=4", "data.test_size=4"]
    line = mistake(*tiny, *where, "scoring.metrics=[bleu,odd.Flat]")
    assert line.startswith("error: scoring.metrics=odd.Flat: Flat.count returns the shape (2,)")
    assert not (tmp_path / "run" / "history.csv").exists()


def test_equal_statistics_are_counted_once(monkeypatch):
    counted = []

    def count(self, text, hypotheses):
        counted.append(self.name)
        return np.ones((len(hypotheses), 24))

    monkeypatch.setattr(ChrfPlusPlus, "count", count)
    metrics = find_metrics(["chrf++", "chrf", "odd.Better"])
    statistics = translation_statistics(metrics, ReferenceText(["a", "c"]), ["a", "b"])
    assert list(statistics) == ["bleu", "chrf"]
    assert counted == ["chrf++"]


def test_sources_must_be_there_where_a_metric_needs_them(tmp_path):
    metrics = find_metrics(["odd.SourceWords"])
    with pytest.raises(UserError) as caught:
        translation_statistics(metrics, ReferenceText(["a"]), ["a b"])
    line = "scoring.metrics=odd.SourceWords: SourceWords needs the sources; give sources=FILE"
    assert str(caught.value) == line
    file = write(tmp_path / "lines", ["a b c"] * 3)
    files = [f"references={file}", f"systems.a={file}", "scoring.unit=reference_words"]
    where = ["logger=none", f"hydra.run.dir={tmp_path}/out", "scoring.metrics=[odd.SourceWords]"]
    assert mistake("task=evaluate", *files, *where) == f"error: {line}"
    counted = translation_statistics(metrics, ReferenceText(["a"], ["x"]), ["a b"])
    assert counted["source_words"].tolist() == [[2, 1]]


def test_a_recorded_metric_that_is_gone_is_a_warning(caplog):
    assert find_recorded_metric("gone.Metric") is None
    [record] = caplog.records
    assert record.getMessage().startswith("scoring.metrics=gone.Metric: cannot be imported")
    assert record.getMessage().endswith("its scores are left out")
    metric = find_recorded_metric("odd.Words")
    assert metric is not None
    assert metric.name == "words"


def test_runs_with_other_columns_are_counted_anew():
    [_, words] = find_metrics(["odd.Words"])
    check_counts(words, [np.ones((3, 2)), np.ones((5, 2))])
    with pytest.raises(UserError, match="2 columns for one run and 3 for another; count anew"):
        check_counts(words, [np.ones((3, 2)), np.ones((3, 3))])


def test_signatures_of_a_users_metrics_come_last():
    metrics = find_metrics(["odd.Words", "odd.Better"])
    added = dict(list(signatures(ReferenceText([]), metrics).items())[5:])
    assert list(added) == ["words", "chrf-better"]
    assert added["words"] == "v1"
