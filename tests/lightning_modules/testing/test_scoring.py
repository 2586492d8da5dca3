"""Baselines of a run: counted as systems are, in the run's own buckets."""

import pytest

from datamodules.nearest_copy import NEAREST_COPY
from lightning_modules.metrics.bleu import corpus_bleu
from lightning_modules.metrics.chosen_metrics import METRICS
from lightning_modules.metrics.metric import ReferenceText
from lightning_modules.metrics.systems import EvalSet, Output, System
from lightning_modules.metrics.words import PLAIN, WordRule, WordRules
from lightning_modules.testing.output_suspicions import suspicions_of_output
from lightning_modules.testing.run_scores import score_output
from lightning_modules.testing.scoring import PHRASE_TABLE, baselines_of_run
from sweeps.comparison.evaluation import evaluate
from tests.helpers.made_text import statistics_of
from tests.helpers.run_folders import SCORING, TEXT, scoring_of, translations

SOURCES = ["a b c d", "a b c d e f", "x", "a b c d e"]
REFERENCES = ["a b c d", "f e d c b a", "y", "a b c d e"]
TEST = EvalSet(REFERENCES, SOURCES)


def test_scores_are_those_of_the_translations():
    scoring = scoring_of(edges=[4, 5, 9], resamples=100)
    [buckets] = scoring.buckets([TEST])
    lines = {PHRASE_TABLE: REFERENCES, NEAREST_COPY: SOURCES}
    scores = baselines_of_run(TEST, lines, list(METRICS.values()), buckets)
    assert scores[PHRASE_TABLE].scores == pytest.approx({"bleu": 100, "exact": 100})
    copy = scores[NEAREST_COPY]
    assert copy.scores == pytest.approx({"bleu": corpus_bleu(SOURCES, REFERENCES), "exact": 50})
    exact = {lengths: part["exact"] for lengths, part in copy.by_length.items()}
    assert exact == {"1–4": 50, "5": 100, "6–9": 0}


def test_only_the_metrics_of_the_run_are_counted():
    scores = baselines_of_run(TEST, {"any": SOURCES}, [METRICS["bleu"], METRICS["ter"]], [])
    assert [set(each.scores) for each in scores.values()] == [{"bleu"}]


FRENCH = [f"le chien {number} dort bien ." for number in range(100)]
ENGLISH = [f"the dog {number} sleeps well ." for number in range(100)]


def test_translations_in_another_form_are_told_with_the_setting():
    cased = [f"Anna {number} dort." for number in range(20)]
    lower = list(map(str.lower, cased))
    [line] = told(lower, cased, None)
    start = "20 of 20 translations have no capital letters, unlike references (0%); "
    assert line.startswith(f"{start}scoring.lowercase=true ignores case: “anna 0 dort.”; “")
    rules = WordRules(PLAIN, WordRule("13a", lowercase=True))
    assert suspicions_of_output(ReferenceText(cased, rules=rules), lower) == []


def told(hypotheses, references=FRENCH, sources=ENGLISH):
    return [
        str(each) for each in suspicions_of_output(ReferenceText(references, sources), hypotheses)
    ]


@pytest.mark.parametrize(
    ("change", "first", "line"),
    [
        (lambda line: "", 1, "1 of 100 translations are empty: “the dog 0 sleeps well .”"),
        (
            lambda line: f"{line} <unk>",
            5,
            "5 of 100 translations have an unknown word (<unk>): “le chien 0 dort bien . <unk>”; "
            "“le chien 1 dort bien . <unk>”; “le chien 2 dort bien . <unk>”",
        ),
        (lambda line: " ".join([line] * 9), 1, "1 of 100 translations are far longer"),
        (lambda line: f"{line[:5]}@@ {line[5:]}", 5, "5 of 100 translations have marks of subw"),
        (lambda line: f"▁{line}", 5, "5 of 100 translations have marks of subwords (@@, ▁)"),
        (lambda line: f"H-3\t-0.5\t{line}", 1, "1 of 100 translations begin as fairseq writes"),
        (lambda line: "собака спит", 1, "1 of 100 translations are in another script"),
        (
            lambda line: line.replace("le chien", "the dog").replace("dort bien", "sleeps well"),
            1,
            "1 of 100 translations are copies of the source: “the dog 0 sleeps well .”",
        ),
    ],
)
def test_each_suspicion_has_count_and_examples(change, first, line):
    changed = [change(each) if number < first else each for number, each in enumerate(FRENCH)]
    [found] = told(changed)
    assert found.startswith(line)


def test_tokenised_output_is_told_only_where_references_are_not():
    plain = [line.replace(" .", ".") for line in FRENCH]
    assert told(FRENCH) == []
    assert "look tokenised" in told(FRENCH, plain)[0]
    assert told(plain, plain) == []


def test_ordinary_mistakes_are_no_suspicion():
    for variant in ("none", "luong"):
        hypotheses = translations(TEXT.references, variant)
        hypotheses = [line or "x" for line in hypotheses]
        assert suspicions_of_output(ReferenceText(TEXT.references, TEXT.sources), hypotheses) == []


def test_intervals_of_a_run_are_those_of_its_comparison():
    hypotheses = translations(TEXT.references)
    statistics = statistics_of(hypotheses, TEXT.references)
    test = EvalSet(TEXT.references, TEXT.sources)
    system = System("bahdanau", test, [Output(1, hypotheses, statistics)])
    fields, curve = score_output(system, SCORING)
    evaluation = evaluate([system], SCORING)
    assert fields["intervals"].keys() == fields["scores"].keys() >= {"bleu", "ter"}
    for name, interval in fields["intervals"].items():
        shown = evaluation.estimate(system, None, name)
        assert shown is not None
        assert (shown.value, (shown.low, shown.high)) == (fields["scores"][name], interval)
    for point in curve:
        shown = evaluation.estimate(system, point.bounds, "bleu")
        assert shown is not None
        assert (shown.value, (shown.low, shown.high)) == (point.bleu, point.bleu_interval)
