"""The pages of contrastive pairs and of alignments: what was found, figures, tables."""

import re

import altair as alt
import numpy as np

from lightning_modules.figures.heat_map import attention_map
from lightning_modules.figures.lines import Lines, point
from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.runs.schema import Accuracy, SentenceAttention
from lightning_modules.tasks.align import FoundAlignment, GoldSummary
from lightning_modules.tasks.contrast import ContrastSummary, FoundContrast
from sweeps.report.task_page import TaskPage, TaskPart, write_task_page
from sweeps.tasks.align import align_page
from sweeps.tasks.contrast import contrast_page

GIVEN = "python run.py task=mine"


def contrasted():
    right = Accuracy(pairs=120, value=75.0, low=70.0, high=80.0)
    accuracy = {"all": {"all": right}, "distance": {"1": right}, "category": {"<number>": right}}
    summary = ContrastSummary(variant="bahdanau", seed=1, set="grammar", accuracy=accuracy)
    points = [
        {"place": place, **point("Bahdanau", str(place), Estimate(75.0, 70.0, 80.0))}
        for place in (1, 2)
    ]
    x = alt.X("place:Q", title="Distance (words)")
    lines = Lines({"bahdanau": "Bahdanau"}, points, x, "right choices (%)", from_zero=False)
    return FoundContrast(summary, lines, "Bahdanau, additive")


def aligned(layers=2):
    errors: dict[str, float | None] = {"0": 0.5, "1": 0.25, "mean": 0.375}
    summary = GoldSummary(
        variant="transformer", search="BeamSearch", pairs=3, aligned=2, layer=1, layers=layers,
        head="mean", heads=2, step="predicted", entropy=1.5, distance=0.1, coverage=0.9,
        aer=0.25, precision=0.5, recall=0.75, found_and_sure=1, found_and_possible=2, found=4,
        sure=2, aer_by_step={"predicted": 0.25}, aer_by_layer={"0": errors, "mean": errors},
    )  # fmt: skip
    drawn = SentenceAttention.between(7, "a b", "c d", np.array([[0.5, 0.5], [0.1, 0.9]]))
    return FoundAlignment(summary, {"heat_map_7": attention_map(drawn, "T", "s")}, "Transformer")


def test_the_page_of_contrastive_pairs(tmp_path):
    text = write_task_page(contrast_page(contrasted(), GIVEN), tmp_path).read_text("utf-8")
    assert "<h1>Bahdanau, additive, seed 1: right translations against wrong ones</h1>" in text
    assert "prefers the right translation in 75.0% [70.0, 80.0] of 120 pairs." in text
    assert 'data-figure="accuracy_by_distance"' in text
    assert "&lt;number&gt;" in text
    assert f"<code>{GIVEN}</code>" in text


def test_pairs_without_distances_have_no_figure(tmp_path):
    page = contrast_page(contrasted()._replace(lines=None), GIVEN)
    text = write_task_page(page, tmp_path).read_text("utf-8")
    assert "accuracy_by_distance" not in text.partition("<script")[0]
    assert 'id="groups"' in text


def test_the_page_of_alignments_has_the_maps_and_the_best_head_in_bold(tmp_path):
    text = write_task_page(align_page(aligned(), GIVEN), tmp_path).read_text("utf-8")
    assert "2 of 3 pairs aligned by layer 1 of 0-1, the mean of 2 heads" in text
    assert 'data-figure="heat_map_7"' in text
    assert re.findall(r'role="tab" id="tab-(\w+)"', text) == ["alignment", "alignment_error_rates"]


def test_a_part_without_content_is_left_out(tmp_path):
    parts = [TaskPart("empty", "Nothing here"), TaskPart("full", "Something", ["a <line>"])]
    page = TaskPage("A title", "An answer.", {}, parts, {}, ["a warning"])
    text = write_task_page(page, tmp_path).read_text("utf-8")
    assert "Nothing here" not in text
    assert "a &lt;line&gt;" in text
    assert "Suspicious" in text
