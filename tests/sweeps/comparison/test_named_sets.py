"""Several test sets in one run, and sentences without unknown words, in tables and curves."""

import pytest

from lightning_modules.metrics.bleu import corpus_bleu
from lightning_modules.runs.files import read_predictions
from sweeps.comparison.collect import collect
from sweeps.comparison.evaluation import evaluate, evaluate_sets
from sweeps.comparison.score_tables import score_tables
from tests.helpers.run_folders import SCORING, TEXT, Text, make_run, translations

SENTENCES = len(TEXT.references)
SETS = ["talks" if number % 3 else "news" for number in range(SENTENCES)]
"""The sentences of the sets stand mixed."""


def systems(*runs):
    return [variant.system for variant in collect(runs).variants]


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
