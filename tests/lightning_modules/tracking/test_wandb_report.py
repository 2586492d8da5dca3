"""The W&B report of a page, built without a server."""

from typing import Any

import pytest

from lightning_modules.metrics.failures import SHARES, TranslationKind
from lightning_modules.tracking.names import FAILURES, UPLOADED
from lightning_modules.tracking.wandb_report import (
    ReportSection,
    TrackedRun,
    WandbPage,
    build_report,
)

RUNS = [
    TrackedRun("id1", "Bahdanau, additive", "#1248e0"),
    TrackedRun("id2", "Bahdanau, additive", "#1248e0"),
    TrackedRun("id3", "Transformer with model.layers=2", "#b468bf"),
]


@pytest.fixture(scope="module")
def spec() -> dict[str, Any]:
    page = WandbPage(
        job_type="compare",
        name="a-comparison",
        config={},
        summary={},
        pictures={},
        tables={},
        page="<p>",
        title="Who translates long sentences?",
        description="Bahdanau does.",
        length_axis="source length (words)",
        sections=[
            ReportSection("Scores", ["a line"], ["bleu_by_length"], ["scores"]),
            ReportSection("How they fail", [], ["failures_by_length"], []),
            ReportSection("Scores", ["another line"], ["exact_by_length"], []),
            ReportSection("Nothing", [], [], []),
        ],
        runs=RUNS,
    )
    report = build_report(page, "a-project", "own")
    content: dict[str, Any] = report._to_model().spec.model_dump(by_alias=True, exclude_none=True)
    return {"title": report.title, "description": report.description, **content}


def nodes(spec, key):
    """Return all values of a key, at any depth."""
    if isinstance(spec, dict):
        own = [spec[key]] if key in spec else []
        return own + [found for each in spec.values() for found in nodes(each, key)]
    return [found for each in spec for found in nodes(each, key)] if isinstance(spec, list) else []


def headings(spec):
    found = [each for each in spec["blocks"] if each.get("type") == "heading"]
    return ["".join(child["text"] for child in each["children"]) for each in found]


def test_each_heading_stands_once(spec):
    assert headings(spec) == [
        "Scores", "How they fail", "The runs", "The page", "What was uploaded",
    ]  # fmt: skip
    titles = [*headings(spec), *nodes(spec, "chartTitle")]
    assert len(titles) == len(set(titles))


def test_figures_have_titles_in_words(spec):
    titles = nodes(spec, "chartTitle")
    assert {"bleu by length", "exact by length", "failures by length"} <= set(titles)
    assert spec["title"] in titles
    assert not any(title.startswith(("figures/", "val/", "train/")) for title in titles)


def test_runs_and_systems_have_the_colours_of_the_page(spec):
    colours = {key: value for each in nodes(spec, "customRunColors") for key, value in each.items()}
    for run in RUNS:
        assert colours[run.id] == run.colour
        [group] = [key for key in colours if key.endswith(f"system.value:{run.system}")]
        assert colours[group] == run.colour


def test_the_report_says_what_was_uploaded(spec):
    assert UPLOADED[1:] in str(spec["blocks"])


def test_every_kind_of_failure_has_its_name_and_title():
    kinds = [kind for kind in TranslationKind if kind is not TranslationKind.RIGHT]
    assert dict(FAILURES) == {f"failures/{SHARES[kind].name}": kind.label for kind in kinds}
