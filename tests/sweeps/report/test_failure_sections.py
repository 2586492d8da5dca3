"""Sections on failures, seeds and single sentences, of systems made to fail in one way."""

import json
import zlib
from base64 import b64decode
from typing import Any

import numpy as np
import pytest

from lightning_modules.metrics.failures import TranslationKind, repeated_words
from lightning_modules.metrics.systems import EvalSet, Output, System
from lightning_modules.metrics.text_metrics import Bleu, ExactMatch, sentence_bleu
from lightning_modules.metrics.words import PLAIN
from sweeps.comparison.collect import Comparison
from sweeps.comparison.evaluation import evaluate
from sweeps.report.failure_gallery import failure_gallery
from sweeps.report.findings import Findings
from sweeps.report.html import environment, packed
from sweeps.report.sections import sentence_table
from sweeps.report.sections.failures import Failures
from sweeps.report.sections.seeds import SeedSpread
from sweeps.report.sections.sentence_table import SentenceTable
from sweeps.report.sections.significance import DIFFERENCE, Significance
from sweeps.report.sentence_cards import hypothesis_parts
from tests.helpers.failing_systems import (
    LENGTHS,
    WORDS,
    cut,
    looping,
    made_test,
    one_wrong,
    system,
    unknown,
)


def findings_of(*systems):
    return Findings("made", evaluate(systems, LENGTHS), Comparison([], [], []))


@pytest.fixture(scope="module")
def findings():
    return findings_of(system("loops", looping), system("steady"), system("cuts", cut, share=0.05))


def test_the_gallery_opens_at_the_longest_group_with_the_system_that_falls(findings):
    gallery = failure_gallery(findings)
    assert gallery.groups[gallery.first].lengths == "21–30 words"
    [sentence] = gallery.groups[gallery.first].sentences
    first, *others = sentence.examples
    assert (first.label, first.kind) == ("the loops, labelled", TranslationKind.LONG)
    assert int(first.share.removesuffix("%")) == pytest.approx(50, abs=15)
    assert {each.kind for each in others} == {TranslationKind.WRONG}  # cuts are too rare
    # Sentences of at most 20 words are right, and nothing is shown of them.
    assert [group.lengths for group in gallery.groups] == ["21–30 words"]


def test_all_systems_fail_on_one_sentence_as_each_often_does(findings):
    [sentence] = failure_gallery(findings).groups[0].sentences
    [kinds] = findings.failures.kinds["loops"]
    [example, *others] = sentence.examples
    assert len(others) == 2
    assert kinds[sentence.number] == example.kind == TranslationKind.LONG
    reference = "".join(text for text, _ in sentence.reference)
    assert reference == made_test().references[sentence.number]
    assert "".join(text for text, _ in example.parts).split()[:6] == reference.split()[:6]
    assert {mark for _, mark in example.parts} == {"", "loop"}


def somewhat_cut(words, rng):
    """Cut to a length at random, of which all are too short."""
    return words[: rng.randint(3, len(words) * 2 // 3 - 1)]


def kept(words, rng):
    return words


@pytest.mark.parametrize("share", [0.15, 0.4, 1.0])
@pytest.mark.parametrize("otherwise", [one_wrong, kept])
@pytest.mark.parametrize("fails", [somewhat_cut, looping, unknown])
def test_a_failure_that_is_shown_is_neither_mild_nor_bad_for_its_kind(fails, otherwise, share):
    """Even where the other translations of the system are far better."""
    for others in ([], [system("steady", share=0.0, otherwise=kept)]):
        found = findings_of(system("fails", fails, share, otherwise=otherwise), *others)
        [sentence] = failure_gallery(found).groups[-1].sentences
        failing, *_ = found.evaluation.systems
        [kinds] = found.failures.kinds["fails"]
        bleu = sentence_bleu(failing.outputs[0].statistics)[kinds == sentence.examples[0].kind]
        low, high = np.quantile(bleu, [0.25, 0.75])
        assert low <= sentence.examples[0].bleu <= high


def test_rare_failures_are_shown_too_where_all_else_is_right():
    """Their share is never 0%: a system has at least the failure that is shown."""
    found = findings_of(system("cuts", cut, share=0.03, from_words=1, otherwise=kept))
    groups = failure_gallery(found).groups
    examples = [sentence.examples[0] for group in groups for sentence in group.sentences]
    assert {example.kind for example in examples} == {TranslationKind.SHORT}
    shares = [int(example.share.removesuffix("%")) for example in examples]
    assert min(shares) >= 1


def test_a_share_below_one_percent_is_not_said_to_be_nothing():
    sentences = [" ".join(WORDS[:12])] * 250
    test = EvalSet(sentences, sentences)
    lines = [" ".join(WORDS[:3]), *test.references[1:]]
    metrics = [Bleu(), ExactMatch()]
    counts = {metric.statistics: metric.count(test, lines) for metric in metrics}
    one = System("once", test, [Output(1, lines, counts, metrics)], "once")
    [group] = failure_gallery(findings_of(one)).groups
    [sentence] = group.sentences
    assert (sentence.number, sentence.examples[0].share) == (0, "under 1%")


def test_an_empty_translation_is_said_to_be_nothing():
    macros: Any = environment().get_template("macros.html.j2").module
    assert "nothing" in macros.marked(hypothesis_parts("", "a b", PLAIN))
    assert "nothing" not in macros.marked(hypothesis_parts("a", "a b", PLAIN))


def test_loops_are_shaded_where_a_translation_repeats_itself():
    said = "a b c d a b c d e"
    assert hypothesis_parts(said, "a b c d e f g h i", PLAIN) == [
        ("a b c d ", ""),
        ("a b c d", "loop"),
        (" e", ""),
    ]
    words = said.split()
    assert "".join(text for text, mark in hypothesis_parts(said, "x", PLAIN) if mark == "loop") == (
        " ".join(word for word, each in zip(words, repeated_words(words), strict=True) if each)
    )


def test_the_section_has_a_panel_for_each_system_and_one_file_for_all(findings):
    section = Failures(findings)
    labels = [each.label for each in findings.evaluation.systems]
    assert [label for label, _ in section.panels] == labels
    assert list(section.page_figures()) == [name for _, name in section.panels]
    assert list(section.figures(400.0)) == ["failures_by_length"]
    assert section.figures("container") == {}
    # The keys stand as the bands do, the highest first; the lines from the first that fits.
    names = [kind.label for kind in TranslationKind]
    assert [name for _, name, _ in section.keys] == names[::-1]
    assert [line.partition(":")[0] for line in section.lines] == names


def test_differences_are_those_of_the_tests_against_the_best(findings):
    [group] = findings.group_tests
    chart = Significance(findings).figures("container")[DIFFERENCE].to_dict()
    rows = max((data for data in _data(chart) if "score" in data[0]), key=len)
    best, *others = group.ranked
    assert {row["score"] for row in rows if row["system"] == best.label} == {0}
    for other in others:
        drawn = {row["group"]: row["score"] for row in rows if row["system"] == other.label}
        assert drawn == {
            bounds.label: test.difference.value for bounds, test in group.by_length(other, best)
        }


def _data(spec):
    yield from spec.get("datasets", {}).values()
    for part in (spec, *spec.get("layer", [])):
        if "values" in part.get("data", {}):
            yield part["data"]["values"]


def test_seeds_are_compared_in_pairs():
    seeds = (1, 2, 3)
    section = SeedSpread(
        findings_of(system("loops", looping, seeds=seeds), system("steady", seeds=seeds))
    )
    [table] = section.tables()
    assert table.rows == [["steady", "loops", "1, 2, 3 and 1, 2, 3", 100.0, 9]]
    assert list(section.figures(400.0)) == ["bleu_by_seed"]
    alone = SeedSpread(findings_of(system("loops", looping, seeds=seeds), system("steady")))
    assert alone.tables() == []
    assert alone.figures(400.0) == {}


def test_every_sentence_is_on_the_page_with_all_translations(findings, monkeypatch):
    section = SentenceTable(findings)
    data = section.page_data()["translations"]
    systems = findings.evaluation.systems
    assert data["systems"] == [each.label for each in systems]
    assert len(data["rows"]) == section.sentences == 240
    for number, length, source, reference, texts, scores, kinds in data["rows"]:
        assert reference == source == made_test().references[number]
        assert length == len(source.split())
        assert texts == [each.outputs[0].hypotheses[number] for each in systems]
        assert kinds == [findings.failures.kinds[each.name][0][number] for each in systems]
        right = [kind == TranslationKind.RIGHT for kind in kinds]
        assert [score > 99 for score in scores] == right
    monkeypatch.setattr(sentence_table, "MOST_TRANSLATIONS", 30)
    few = SentenceTable(findings)
    assert len(few.shown) == 10
    assert set(np.diff(few.shown)) == {24}


def test_packed_data_are_unpacked_as_they_were():
    data = {"</script>": ["“é”", 1.5, None, True]}
    letters = packed(data)
    assert letters.isascii()
    assert "<" not in letters
    assert json.loads(zlib.decompress(b64decode(letters))) == data


@pytest.mark.parametrize("section", [Failures, SeedSpread, SentenceTable, Significance])
def test_one_system_alone_has_no_comparison(section):
    alone = section(findings_of(system("steady")))
    if section in (SeedSpread, Significance):
        assert alone.tables() == []
        assert alone.figures("container") == {}
    else:
        assert alone.page_data() or alone.page_figures()
