"""Systems scored side by side: baselines, several test sets, sentences without unknown words."""

import io
import re

import pytest
from rich.console import Console

from lightning_modules.figures.lines import looks_scales
from lightning_modules.figures.palette import PLAIN
from lightning_modules.metrics.bleu import corpus_bleu
from lightning_modules.runs.files import read_predictions
from sweeps.comparison.collect import collect
from sweeps.comparison.evaluation import evaluate, evaluate_sets
from sweeps.comparison.score_tables import by_length, score_tables
from sweeps.report.sections.length_curves import length_lines
from sweeps.report.terminal import print_findings
from tests.helpers import run_folders
from tests.helpers.run_folders import SCORING, TEXT, Text, make_run, text, translations

PHRASES = translations(TEXT.references, "phrases")
WORSE = translations(TEXT.references, "none", 9)


@pytest.fixture
def findings_of(tmp_path):
    """Return the findings of runs; each gives the arguments of ``make_run``."""

    def findings(*runs, scoring=SCORING):
        folders = [make_run(tmp_path / str(n), **run) for n, run in enumerate(runs)]
        return run_folders.findings_of(folders, scoring)

    return findings


def names(systems):
    return [system.name for system in systems]


def run(variant="none", phrase_table=PHRASES, **more):
    copies = more.get("text", TEXT).sources
    return {"variant": variant, "phrase_table": phrase_table, "nearest_copies": copies, **more}


def test_baselines_are_no_systems(findings_of):
    found = findings_of(run(), run("luong"))
    assert names(found.evaluation.systems) == ["none", "luong"]
    assert names(found.evaluation.baselines) == ["phrase table", "nearest copy"]
    tests = found.significance["bleu"].tests
    assert {(test.first, test.second) for test in tests} == {("none", "luong")}
    assert "phrase table" not in found.every_seed


def test_scores_of_systems_are_the_same_without_baselines(findings_of):
    with_baselines = findings_of(run(), run("luong")).evaluation
    for output in (output for system in with_baselines.systems for output in system.outputs):
        object.__setattr__(output, "baselines", {})
    without = evaluate(with_baselines.systems, SCORING)
    assert without.baselines == []
    for system in without.systems:
        for bounds in (None, *without.bounds):
            for metric in ("bleu", "exact", "ter"):
                assert without.estimate(system, bounds, metric) == with_baselines.estimate(
                    system, bounds, metric
                )


def test_tables_have_baselines_last_and_without_seeds(findings_of):
    evaluation = findings_of(run(), run("luong")).evaluation
    bleu, exact, ter = (
        next(each for each in evaluation.metrics if each.name == name)
        for name in ("bleu", "exact", "ter")
    )
    whole, attention = score_tables(evaluation)
    for table in (whole, by_length(evaluation, bleu), by_length(evaluation, exact)):
        baselines = [["phrase table", None], ["nearest copy", None]]
        assert [row[:2] for row in table.rows[2:]] == baselines
        assert "Without a model: phrase table (" in table.note
    for table in (attention, by_length(evaluation, ter)):
        assert [row[0] for row in table.rows] == ["none", "luong"]
        assert "Without a model" not in table.note


def test_buckets_are_those_of_the_comparison(findings_of):
    scoring = SCORING.model_copy(update={"edges": [5, 30]})
    evaluation = findings_of(run(), scoring=scoring).evaluation
    table, copy = evaluation.baselines
    for bounds in evaluation.bounds:
        assert evaluation.estimate(table, bounds, "bleu") is not None
        estimate = evaluation.estimate(copy, bounds, "exact")
        assert estimate is not None
        assert estimate.value < 10


def test_the_figure_has_a_dashed_line_with_a_name_for_each(findings_of):
    evaluation = findings_of(run(), run("luong")).evaluation
    lines = length_lines(evaluation, evaluation.metrics[0], "container")
    assert list(lines.baselines) == ["phrase table", "nearest copy"]
    dashes = looks_scales(lines.labels, lines.baselines)[2].to_dict()
    drawn = dict(zip(dashes["domain"], dashes["range"], strict=True))
    assert all(drawn[name] != list(PLAIN) for name in lines.baselines)
    assert drawn["phrase table"] != drawn["nearest copy"]
    [aer] = [each for each in evaluation.metrics if each.name == "aer"]
    assert length_lines(evaluation, aer, "container").baselines == {}


def test_the_terminal_shows_them_in_80_columns(findings_of):
    found = findings_of(run(), run("luong"))
    console = Console(width=80, record=True, file=io.StringIO())
    print_findings(found, console)
    shown = console.export_text()
    lines = [line.split() for line in shown.splitlines()]
    assert any(line[:3] == ["phrase", "table", "–"] for line in lines)
    assert ["system", "seed", "BLEU", "1–10", "11–20", "21–30*", "EM", "AER"] in lines


def test_other_training_text_has_another_phrase_table(findings_of):
    found = findings_of(run(), run("luong", WORSE), run("transformer", WORSE))
    assert names(found.evaluation.baselines) == [
        "phrase table of none", "nearest copy", "phrase table of luong",
    ]  # fmt: skip


def test_a_translation_without_a_model_above_all_systems_is_named(findings_of):
    for table, named in ((TEXT.references, True), (["nothing"] * len(TEXT.references), False)):
        found = findings_of(run("none", table), run("luong", table))
        told = "; the phrase table, without a model, has 100.0"
        assert found.headline[0].claim.endswith(told) == named
        assert (found.behind is not None) == named
        assert not named or re.fullmatch(
            r"Even “\w+”, which has the highest BLEU \(\d+\.\d on the whole test set\), does not "
            r"reach the phrase table \(100\.0\), which has no model, "
            r"but is given the true links between words\.",
            str(found.behind),
        )
    assert findings_of(run("none", TEXT.references)).behind is None  # in the answer of a run


def test_each_test_set_has_its_own(findings_of):
    other = text(5)
    lines = translations(other.references, "phrases")
    found = findings_of(run(), run("luong", lines, text=other))
    baselines = found.evaluation.baselines
    assert names(baselines) == [
        "phrase table of none", "nearest copy of none",
        "phrase table of luong", "nearest copy of luong",
    ]  # fmt: skip
    assert [each.test.references[0] for each in baselines[::2]] == [
        TEXT.references[0], other.references[0],
    ]  # fmt: skip


def test_a_system_may_have_the_name_of_a_baseline(findings_of):
    evaluation = findings_of(run("nearest copy")).evaluation
    assert names(evaluation.baselines) == ["phrase table", "nearest copy #2"]
    system = evaluation.estimate(evaluation.systems[0], None, "bleu")
    copy = evaluation.estimate(evaluation.baselines[1], None, "bleu")
    assert system is not None
    assert copy is not None
    assert system.value > 10 > copy.value


SENTENCES = len(TEXT.references)
SETS = ["talks" if number % 3 else "news" for number in range(SENTENCES)]
"""The sentences of the sets stand mixed."""


def systems(*runs):
    return collect(runs).systems


def chosen(lines, numbers):
    return [lines[number] for number in numbers]


def test_a_set_is_evaluated_as_if_it_were_alone(tmp_path):
    """With its baselines, and in its own buckets."""
    runs = {
        name: make_run(tmp_path / name, name, sets=SETS, phrase_table=TEXT.sources)
        for name in ("luong", "none")
    }
    found = evaluate_sets(systems(*runs.values()), SCORING)
    assert list(found) == ["news", "talks"]
    for name, evaluation in found.items():
        numbers = [number for number in range(SENTENCES) if SETS[number] == name]
        text = Text(*(chosen(lines, numbers) for lines in TEXT))
        alone = [
            make_run(
                tmp_path / f"{name} {variant}",
                variant,
                text=text,
                hypotheses=chosen(translations(TEXT.references, variant), numbers),
                phrase_table=text.sources,
            )
            for variant in runs
        ]
        expected = evaluate(systems(*alone), SCORING)
        assert evaluation.bounds == expected.bounds
        assert evaluation.sentences(None) == [len(numbers)]
        pairs = zip(
            [*evaluation.systems, *evaluation.baselines],
            [*expected.systems, *expected.baselines],
            strict=True,
        )
        for mine, other in pairs:
            for bounds in (None, *expected.bounds):
                score = evaluation.estimate(mine, bounds, "bleu")
                assert score == expected.estimate(other, bounds, "bleu")


def parts_of(*runs):
    """Return the part, the number of sentences and BLEU of each row of the table, by system."""
    evaluation = evaluate(systems(*runs), SCORING)
    [*tables] = [table for table in score_tables(evaluation) if table.name == "scores_by_part"]
    return [(row[0], *row[2:5]) for table in tables for row in table.rows]


def test_sentences_without_unknown_words_are_those_that_every_system_knows(tmp_path):
    """Also if the first system, of subwords, knows all words."""
    known = make_run(tmp_path / "0", "none")
    runs = [known]
    for job, (variant, numbers) in enumerate({"luong": [0, 3], "bahdanau": [3, 7]}.items(), 1):
        runs.append(make_run(tmp_path / str(job), variant, unknown=numbers))
    rows = parts_of(*runs)
    assert [row[:3] for row in rows] == [
        (name, "without UNK", SENTENCES - 3) for name in ("none", "luong", "bahdanau")
    ]
    kept = [number for number in range(SENTENCES) if number not in (0, 3, 7)]
    for run, (*_, bleu) in zip(runs, rows, strict=True):
        lines = chosen([each.hypothesis for each in read_predictions(run)], kept)
        assert bleu.value == pytest.approx(corpus_bleu(lines, chosen(TEXT.references, kept)))
        assert bleu.low < bleu.value < bleu.high


@pytest.mark.parametrize(
    ("sets", "unknown"), [(None, []), (["news"] * SENTENCES, []), (None, range(SENTENCES))]
)
def test_one_set_of_known_words_alone_or_of_none_has_no_parts(tmp_path, sets, unknown):
    run = make_run(tmp_path, sets=sets, unknown=unknown)
    assert parts_of(run) == []
    assert evaluate_sets(systems(run), SCORING) == {}
