"""Why BLEU falls: parts of its loss, the probability of the end, errors of search and of model."""

from typing import Any

import numpy as np
import pytest
from omegaconf import OmegaConf

from lightning_modules import decoding
from lightning_modules.decoding import Search
from lightning_modules.metrics import ends, search_errors
from lightning_modules.metrics.bleu_losses import PARTS
from lightning_modules.runs.files import read_arrays, write_arrays
from lightning_modules.runs.paths import CONF, STATISTICS
from sweeps.report.html import render_report
from sweeps.report.report import ReportSettings, make_report
from sweeps.report.sections.end_of_sentence import Ends
from sweeps.report.sections.search_or_model import SEARCHES, SearchErrors
from sweeps.report.sections.why_bleu_falls import BleuLosses
from tests.helpers.run_folders import TEXT, findings_of, make_run, unsealed
from tests.helpers.variants import configuration

HALVES = [" ".join(line.split()[: -(-len(line.split()) // 2)]) for line in TEXT.references]
BACKWARDS = [" ".join(reversed(line.split())) for line in TEXT.references]
LENGTHS = [len(line.split()) + 1 for line in TEXT.references]
SIZE = len(LENGTHS)
SEARCH = {"search": "BeamSearch", "length_penalty": 0.0, "length": None}


def add(run, **arrays):
    """Add statistics to those of a run; return the run."""
    known = read_arrays(run / STATISTICS) or {}
    write_arrays(run / STATISTICS, {**known, **arrays})
    return unsealed(run)


def rows_of(table) -> list[dict[str, Any]]:
    keys = [column.key for column in table.columns]
    return [dict(zip(keys, row, strict=True)) for row in table.rows]


@pytest.fixture
def wrong(tmp_path):
    """Systems with different faults, one of which has two seeds."""
    return findings_of(
        [
            make_run(tmp_path / "0", "halves", hypotheses=HALVES),
            make_run(tmp_path / "1", "backwards", hypotheses=BACKWARDS),
            make_run(tmp_path / "2", "luong", 1),
            make_run(tmp_path / "3", "luong", 2),
        ]
    )


def test_parts_of_each_length_group_sum_to_the_loss_of_bleu(wrong):
    _, *parts = BleuLosses(wrong).tables()
    assert [table.name for table in parts] == [f"{part.name}_by_length" for part in PARTS]
    for rows in zip(*map(rows_of, parts), strict=True):
        [name] = {row["system"] for row in rows}
        [system] = [each for each in wrong.evaluation.systems if each.name == name]
        for bounds in wrong.evaluation.bounds:
            lost = sum(row[bounds.label].value for row in rows)
            bleu = wrong.evaluation.mean(system, bounds, "bleu")
            assert lost == pytest.approx(100 - bleu, abs=1e-9)


def test_a_fall_is_the_sum_of_its_parts(wrong):
    fall, *_ = BleuLosses(wrong).tables()
    rows = {row["system"]: row for row in rows_of(fall)}
    assert set(rows) == {"halves", "backwards", "luong"}
    for system in wrong.evaluation.systems:
        row = rows[system.name]
        assert (row["from"], row["to"]) == ("1–10 words", "11–20 words")  # the last group is thin
        first, last, *_ = wrong.evaluation.bounds
        before, after = (wrong.evaluation.mean(system, each, "bleu") for each in (first, last))
        assert row["bleu_fall"].value == pytest.approx(before - after, abs=1e-9)
        parts = [row[part.name] for part in PARTS]
        assert sum(part.value for part in parts) == pytest.approx(before - after, abs=1e-9)
        assert all(part.low - 1e-9 <= part.value <= part.high + 1e-9 for part in parts)
    assert rows["halves"]["lost_to_order"].value == pytest.approx(0, abs=1e-9)
    assert rows["backwards"]["lost_to_length"].value == pytest.approx(0, abs=1e-9)
    assert rows["luong"]["lost_to_words"].deviation is not None


def test_each_part_is_drawn_against_length(wrong):
    assert set(BleuLosses(wrong).figures("container")) == {f"{p.name}_by_length" for p in PARTS}


def eos(before: float, end: float):
    """Probabilities of EOS before the end of each reference, and at the end."""
    each = (np.array([before] * (length - 1) + [end]) for length in LENGTHS)
    return ends.end_counts(-np.log(probabilities) for probabilities in each)


def test_the_end_has_one_row_for_each_training_and_length_group(tmp_path):
    oracle = ["model=bahdanau", "decoding.length=reference"]
    runs = [
        add(make_run(tmp_path / "0"), eos=eos(0.01, 0.5)),
        add(make_run(tmp_path / "1", overrides=oracle), eos=eos(0.01, 0.5)),
        add(make_run(tmp_path / "2", "luong", config={"label_smoothing": 0.0}), eos=eos(0.02, 0.9)),
        make_run(tmp_path / "3", "transformer"),
    ]
    section = Ends(findings_of(runs))
    [table] = section.tables()
    rows = rows_of(table)
    assert [row["system"] for row in rows] == ["bahdanau"] * 4 + ["luong"] * 4
    assert [row["group"] for row in rows[:4]] == ["all", *(f"{n} words" for n in BUCKETS)]
    for row, at_end in zip(rows, [50] * 4 + [90] * 4, strict=True):
        assert row["eos_0"].value == pytest.approx(at_end)
        assert row["eos_2"].value == pytest.approx(1 if at_end == 50 else 2)
    assert rows[1]["eos_32"] is None  # no reference is so long
    chart = section.figures("container")["eos_by_position"].to_dict(validate=False)
    assert "11–20 words" in str(chart["title"])


BUCKETS = ("1–10", "11–20", "21–30")


def scored(tmp_path, name, output, reference, tokens=5.0, **changes):
    """A run of one training, whose translations and references have these log-probabilities."""
    lengths = np.full(SIZE, tokens)
    made = make_run(tmp_path / name, **({"decoding": SEARCH} | changes))
    return add(
        made,
        output_likelihood=np.stack([-np.broadcast_to(output, SIZE), lengths], 1),
        likelihood=np.stack([-np.broadcast_to(reference, SIZE), lengths], 1),
    )


def shares(tmp_path, *runs):
    table, *_ = SearchErrors(findings_of(runs)).tables()
    return {
        row["system"]: [row[kind].value for kind in ("right", "search_errors", "model_errors")]
        for row in rows_of(table)
    }


def test_wrong_translations_are_errors_of_the_search_or_of_the_model(tmp_path):
    """One in four is right, and of every other one the reference has the higher score."""
    right = np.arange(SIZE) % 4 == 0
    lines = [r if ok else f"x {r}" for r, ok in zip(TEXT.references, right, strict=True)]
    better = np.where(np.arange(SIZE) % 2, -3.0, -5.0)
    run = scored(tmp_path, "0", -4.0, better, hypotheses=lines)
    [found] = shares(tmp_path, run).values()
    errors = [right.mean(), (np.arange(SIZE) % 2).mean()]
    assert found == pytest.approx([100 * each for each in (*errors, 1 - sum(errors))])


def test_a_translation_of_another_search_shows_a_search_error(tmp_path):
    """The oracle may not find translations of another length, but finds what all may."""
    wrong = {"hypotheses": [f"x {line}" for line in TEXT.references]}
    oracle = {
        "decoding": SEARCH | {"length": "reference"},
        "overrides": ["model=bahdanau", "decoding.length=reference"],
    }
    other = {"config": {"label_smoothing": 0.0}, "variant": "luong"}
    runs = [
        scored(tmp_path, "0", -4.0, -9.0, **wrong),
        scored(tmp_path, "1", -3.0, -9.0, **wrong, **oracle),
        scored(tmp_path, "2", -6.0, -9.0, **wrong, **other),
    ]
    found = shares(tmp_path, *runs)
    assert found.pop("luong") == [0, 0, 100]
    assert sorted(found.values()) == [[0, 0, 100], [0, 100, 0]]
    assert found["bahdanau, decoding.length=reference"] == [0, 0, 100]


def test_scores_are_those_by_which_the_search_ranks():
    """A longer translation of lower probability, of which a penalty thinks higher."""
    short, long = np.array([[4.0, 2.0]]), np.array([[5.0, 8.0]])
    assert search_errors.search_scores(short, 0) == -4 > search_errors.search_scores(long, 0)
    assert search_errors.search_scores(long, 1) == pytest.approx(-5 / (13 / 6))
    assert search_errors.search_scores(long, 1) > search_errors.search_scores(short, 1)


@pytest.mark.parametrize(
    "changes", [{"search": "SamplingSearch"}, {"coverage_penalty": 0.2}, {"no_repeat_ngram": 3}]
)
def test_searches_for_something_else_are_not_judged(tmp_path, changes):
    run = scored(tmp_path, "0", -4.0, -5.0, decoding=SEARCH | changes)
    assert SearchErrors(findings_of([run])).tables() == []


def test_runs_without_probabilities_have_neither_ends_nor_errors(wrong):
    assert Ends(wrong).tables() == SearchErrors(wrong).tables() == []
    assert Ends(wrong).figures("container") == {}


def test_the_judged_searches_are_there():
    for name in SEARCHES:
        assert issubclass(getattr(decoding, name), Search)


def test_the_comparison_asks_for_what_its_sections_show():
    shipped = OmegaConf.load(CONF / "comparison" / "length.yaml")
    assert shipped.scoring.probabilities
    assert "override /report: length" in (CONF / "comparison" / "length.yaml").read_text()
    sections = configuration("report=length").report.sections
    assert list(sections)[:4] == ["bleu_by_length", "bleu_losses", "ends", "search_errors"]


@pytest.mark.long
def test_the_page_has_all_sections(tmp_path):
    run = scored(tmp_path, "0", -4.0, -5.0)
    findings = findings_of([add(run, eos=eos(0.01, 0.5)), make_run(tmp_path / "1", "none")])
    content = OmegaConf.to_container(configuration("report=length").report)
    report = make_report(findings, ReportSettings.model_validate(content))
    assert {"bleu_fall", "lost_to_words_by_length", "eos_by_position"} <= set(report.tables)
    assert {"search_errors", "search_errors_by_length", "model_errors_by_length"} <= set(
        report.tables
    )
    assert {"lost_to_length_by_length", "eos_by_position"} <= set(report.figures)
    page = render_report(report)
    for heading in (BleuLosses.heading, Ends.heading, SearchErrors.heading):
        assert heading in page
