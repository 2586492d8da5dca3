"""The histogram of lengths shows every sentence of a corpus."""

import pytest

from datamodules.corpus_statistics import CorpusStatistics
from lightning_modules.figures.charts import as_spec
from lightning_modules.figures.histograms import bin_labels, length_histogram
from tests.helpers.made_text import statistics


def test_the_shares_of_each_line_are_those_of_its_sentences():
    found = CorpusStatistics.model_validate(statistics())
    spec = as_spec(length_histogram(found, ("en", "fr"), "Lengths"))
    lines: dict[tuple[str, str], list[dict]] = {}
    for each in spec["data"]["values"]:
        lines.setdefault((each["split"], each["side"]), []).append(each)
    assert len(lines) == 6
    for (split, side), points in lines.items():
        counted = found.splits[split][side.partition(" ")[0]].histogram
        assert [point["sentences"] for point in points] == counted
        assert sum(point["share"] for point in points) == pytest.approx(100)


def test_bins_are_named_by_their_lengths():
    assert list(bin_labels([1, 2, 3]).values()) == ["1", "2", "3+"]
    assert list(bin_labels([1, 6, 11]).values()) == ["1–5", "6–10", "11+"]
    assert bin_labels([1]) == {1: "1+"}
