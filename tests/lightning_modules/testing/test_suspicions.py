"""Translations that look wrong make warnings with a count and three examples; others pass."""

import pytest

from lightning_modules.testing.suspicions import suspicions_of_output
from tests.helpers.run_folders import TEXT, translations

REFERENCES = [f"le chien {number} dort bien ." for number in range(100)]
SOURCES = [f"the dog {number} sleeps well ." for number in range(100)]


def told(hypotheses, references=REFERENCES, sources=SOURCES):
    return [str(each) for each in suspicions_of_output(references, hypotheses, sources)]


@pytest.mark.parametrize(
    ("change", "first", "line"),
    [
        (lambda line: "", 1, "1 of 100 translations are empty: “”"),
        (
            lambda line: f"{line} <unk>",
            5,
            "5 of 100 translations have an unknown word (<unk>): “le chien 0 dort bien . <unk>”; "
            "“le chien 1 dort bien . <unk>”; “le chien 2 dort bien . <unk>”",
        ),
        (lambda line: " ".join([line] * 9), 1, "1 of 100 translations are far longer"),
        (lambda line: "собака спит", 1, "1 of 100 translations are in another script"),
        (
            lambda line: line.replace("le chien", "the dog").replace("dort bien", "sleeps well"),
            1,
            "1 of 100 translations are copies of the source: “the dog 0 sleeps well .”",
        ),
    ],
)
def test_each_suspicion_has_count_and_examples(change, first, line):
    changed = [change(each) if number < first else each for number, each in enumerate(REFERENCES)]
    [found] = told(changed)
    assert found.startswith(line)


def test_tokenised_output_is_told_only_where_references_are_not():
    plain = [line.replace(" .", ".") for line in REFERENCES]
    assert told(REFERENCES) == []
    assert "look tokenised" in told(REFERENCES, plain)[0]
    assert told(plain, plain) == []


def test_ordinary_mistakes_are_no_suspicion():
    for variant in ("none", "luong"):
        hypotheses = translations(TEXT.references, variant)
        hypotheses = [line or "x" for line in hypotheses]
        assert suspicions_of_output(TEXT.references, hypotheses, TEXT.sources) == []
