"""What sections hold: right choices, tests of pairs, learning curves, speed, corpora."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader

from datamodules.batching import as_built
from datamodules.contrast_pairs import ContrastPair
from datamodules.corpus import ParallelText
from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.chosen_metrics import METRICS
from lightning_modules.metrics.contrast_choices import PairChoices
from lightning_modules.metrics.pair_tests import PairTest
from lightning_modules.ranks.updates import RankFlags
from lightning_modules.runs.files import BrokenFileError, read_history, read_run, write_arrays
from lightning_modules.runs.paths import CONTRAST
from lightning_modules.training.budgets import Budget
from lightning_modules.training.callbacks import History, TrainingBudget
from lightning_modules.training.flops import Flops
from sweeps.comparison.collect import collect
from sweeps.comparison.significance_tables import (
    SENTENCES,
    SignificanceTests,
    conclusions,
    table_of_tests,
)
from sweeps.report.html import render_report
from sweeps.report.publish import write_figures
from sweeps.report.report import make_report
from sweeps.report.sections.agreement import contrasts
from sweeps.report.sections.ladder import Steps
from sweeps.report.sections.learning import learning_curves, learning_table
from sweeps.report.sections.significance import MatrixCell, significance_matrices
from sweeps.report.sections.speed import Speed, speed_table
from sweeps.report.wandb_comparison import report_sections
from sweeps.tasks.compare import build_comparison
from tests.helpers.made_text import corpus
from tests.helpers.pages import without_pictures
from tests.helpers.run_folders import (
    REPORT,
    SCORING,
    findings_of,
    history,
    make_run,
    result,
    text,
    unsealed,
)
from tests.lightning_modules.training.test_training import batch, module, pairs

PAIRS = [
    ContrastPair(f"s {n}", f"t {n}", f"w {n}", ("number", "case")[n % 2], 1 + n % 12, n % 3 == 0)
    for n in range(240)
]


def choices_of(share: float, pairs=PAIRS) -> PairChoices:
    """Right choices in about ``share`` of the pairs, drawn with a fixed seed."""
    margins = np.where(np.random.default_rng(7).random(len(pairs)) < share, 1.0, -1.0)
    return PairChoices.of(pairs, np.ones(len(pairs)), 1 + margins)


@pytest.fixture
def folder(tmp_path):
    make_run(tmp_path / "0", "good", choices=choices_of(0.9))
    make_run(tmp_path / "1", "bad", choices=choices_of(0.5))
    make_run(tmp_path / "2", "old")
    make_run(tmp_path / "3", "other", choices=choices_of(0.9, PAIRS[:100]))
    return tmp_path


@pytest.fixture
def findings(folder):
    return findings_of([folder / str(number) for number in range(4)])


def test_systems_are_compared_on_the_same_pairs_only(findings):
    first, second = contrasts(findings.evaluation)
    assert [system.name for system in first.systems] == ["good", "bad"]
    assert [system.name for system in second.systems] == ["other"]
    assert not second.tests.tests
    tested = {each.subset: each for each in first.tests.tests}
    wanted = {"all pairs", "number", "case", "no attractor", "attractor"}
    assert set(tested) == wanted | {"distance 1–5", "distance 6–10", "distance 11–15"}
    assert tested["all pairs"].p_bootstrap_holm < 0.05
    assert tested["all pairs"].p_randomisation_holm < 0.05
    assert tested["all pairs"].difference.value == pytest.approx(
        100 * (choices_of(0.9).right_choices - choices_of(0.5).right_choices).mean()
    )


@pytest.mark.long
def test_every_form_of_the_report_has_the_choices(findings):
    report = make_report(findings, REPORT)
    names = {"contrast_by_distance", "contrast_by_category", "contrast_every_distance"}
    assert names | {"contrast_significance", "contrast_by_distance_2"} <= set(report.tables)
    assert "contrast_by_distance" in report.figures
    page = render_report(report)
    assert "Agreement against distance" in page
    assert page.index('data-figure="bleu_by_length"') < page.index(
        'data-figure="contrast_by_distance"'
    )


@pytest.mark.long
def test_without_choices_there_is_no_section(tmp_path):
    report = make_report(findings_of([make_run(tmp_path / "0", "old")]), REPORT)
    assert not any(name.startswith("contrast") for name in report.tables)
    assert "Agreement against distance" not in render_report(report)


@pytest.mark.parametrize("damage", ["lacks", "longer"])
def test_a_damaged_file_is_named(folder, damage):
    arrays = choices_of(0.5)._asdict()
    if damage == "lacks":
        del arrays["right"]
    else:
        arrays["right"] = np.ones(3)
    write_arrays(folder / "2" / CONTRAST, arrays)
    with pytest.raises(BrokenFileError, match=r"contrast\.npz cannot be read"):
        read_run(folder / "2")


def family(*rows):
    """Tests given as (first, second, lengths, sentences, difference, corrected p-value)."""
    tests = [
        PairTest(
            first, second, lengths, count, Estimate(value, value - 1, value + 2), p, p, None, p, p
        )
        for first, second, lengths, count, value, p in rows
    ]
    return SignificanceTests(METRICS["bleu"], tests, resamples=10_000)


def test_every_pair_stands_once_as_the_first_system_minus_the_second():
    matrices = significance_matrices(
        family(("a", "b", "all", 65, 2.5, 0.01), ("a", "b", "1–10", 32, -1.0, 0.05)),
        {"a": "A", "b": "B", "c": "C"},
    )
    assert [(matrix.lengths, matrix.sentences) for matrix in matrices] == [
        ("all", "65"),
        ("1–10", "32"),
    ]
    whole, short = (dict(matrix.rows) for matrix in matrices)
    assert whole == {
        "A": [MatrixCell("better", "+2.50", "[1.50, 4.50]", "p = 0.0100"), None],
        "B": [None, None],
    }
    assert [matrix.columns for matrix in matrices] == [["B", "C"]] * 2
    assert [cell and cell.symbol for cell in whole["A"]] == ["↑", None]
    assert short["A"][0] == MatrixCell("alike", "−1.00", "[−2.00, 1.00]", "p = 0.0500")
    assert short["A"][0].symbol == "≈"
    [turned] = significance_matrices(family(("a", "b", "all", 65, 2.5, 0.01)), {"b": "B", "a": "A"})
    assert dict(turned.rows) == {
        "B": [MatrixCell("worse", "−2.50", "[−4.50, −1.50]", "p = 0.0100")]
    }


def test_a_p_value_at_the_floor_is_shown_as_less_with_the_reason():
    least = 71 / 10_001
    pairs = [("a", str(n), "all", 65, 1.0, 0.5 if n else least) for n in range(71)]
    tests = family(*pairs)
    [matrix] = significance_matrices(tests, {"a": "A", "0": "0", "1": "1"})
    [at_floor, other] = dict(matrix.rows)["A"]
    assert at_floor
    assert other
    assert (at_floor.p, other.p) == ("p ≤ 0.0071", "p = 0.5000")
    assert "10,000 resamples" in tests.why_no_less
    assert "71 tests less than 0.0071" in tests.why_no_less


def test_methods_that_disagree_are_marked_and_explained():
    made = family(("a", "b", "all", 65, 1.0, 0.01), ("a", "c", "all", 65, 1.0, 0.01))
    assert not made.why_they_disagree
    apart = replace(made.tests[1], p_randomisation_holm=0.06)
    made = replace(made, tests=[made.tests[0], apart])
    [matrix] = significance_matrices(made, {"a": "a", "b": "b", "c": "c"})
    [agreed, marked] = dict(matrix.rows)["a"]
    assert agreed
    assert marked
    assert not agreed.disagreement
    assert marked.symbol == "≈†"
    assert "0.0600" in marked.disagreement
    assert made.why_they_disagree.startswith("†")
    systems: Any = [SimpleNamespace(name=name, label=name, outputs=[None]) for name in "abc"]
    table = table_of_tests(made, systems, SENTENCES, {"resamples": 10_000}, 10_000)
    assert [row[-1] for row in table.rows] == ["differ", "methods disagree †"]
    assert made.why_they_disagree in table.note


@pytest.mark.parametrize(("flops", "drawn"), [((100, 110), False), ((100, 130), True)])
def test_costs_that_hardly_differ_have_no_figure(tmp_path, flops, drawn):
    trained = result()["training"]
    runs = [
        make_run(tmp_path / name, name, training=trained | {"flops": spent})
        for name, spent in zip(("none", "luong"), flops, strict=True)
    ]
    figures = Speed(findings_of(runs)).figures("container")
    assert ("bleu_by_flops" in figures) == drawn


def test_methods_that_find_the_same_pairs_share_a_line():
    made = family(("a", "b", "all", 65, 1.0, 0.01), ("a", "c", "all", 65, 1.0, 0.2))
    systems = [SimpleNamespace(name=name) for name in "abc"]
    evaluation: Any = SimpleNamespace(
        groups=[SimpleNamespace(systems=systems)],
        systems=[SimpleNamespace(outputs=[1, 2])],
        labels={name: name.upper() for name in "abc"},
    )
    both = "BLEU differs in 1 of 2 pairs by paired bootstrap and approximate randomisation"
    [line] = conclusions(evaluation, made)
    assert line == f"{both} (p < 0.05 after Holm's correction over 2 tests); not “A” and “C”"
    evaluation.systems.append(SimpleNamespace(outputs=[1]))  # whose other runs are not known
    assert conclusions(evaluation, made) == [line.replace("BLEU", "BLEU of these translations", 1)]
    apart = replace(made.tests[0], p_randomisation_holm=0.06)
    first, second, *_ = conclusions(evaluation, replace(made, tests=[apart, made.tests[1]]))
    assert "in 1 of 2 pairs by paired bootstrap (" in first
    assert "in 0 of 2 pairs by approximate randomisation (" in second


def test_the_terminal_explains_once_why_methods_disagree():
    pairs = family(*((first, "z", "all", 65, 1.0, 0.01) for first in "abc"))
    apart = [replace(each, p_randomisation_holm=0.06) for each in pairs.tests[:2]]
    made = replace(pairs, tests=[*apart, pairs.tests[2]])
    systems = [SimpleNamespace(name=name) for name in "abcz"]
    evaluation: Any = SimpleNamespace(
        groups=[SimpleNamespace(systems=systems)],
        systems=[],
        labels={name: name.upper() for name in "abcz"},
    )
    *_, first, second, why = conclusions(evaluation, made)
    assert first == "“A” and “Z”: bootstrap (p = 0.0100) and randomisation (p = 0.0600) disagree †"
    assert second.startswith("“B” and “Z”: ")
    assert why.startswith("† Only one of")
    assert not any("†" in line for line in conclusions(evaluation, pairs))


class Loader(DataLoader):
    """Batches that nobody waits for."""

    waited = 0.0


class Texts(pl.LightningDataModule):
    """Training batches; the first batch is also the validation batch."""

    def __init__(self, batches):
        super().__init__()
        self.batches = batches

    def train_dataloader(self):
        return Loader(self.batches, batch_size=None, collate_fn=as_built)

    def val_dataloader(self):
        return Loader(self.batches[:1], batch_size=None, collate_fn=as_built)

    def text(self, split):
        lines = ["a b c"] * 3
        return ParallelText(lines, lines, None)


def fit(trained, batches, callback):
    budget = TrainingBudget(Budget(kind="target_tokens", amount=10_000))
    budget.pairs, budget.flops = pairs([3, 7, 5]), Flops(np.zeros(6))
    trainer = pl.Trainer(
        max_steps=len(batches),
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        check_val_every_n_epoch=None,
        val_check_interval=2,
        callbacks=[RankFlags(), budget, callback],
    )
    trainer.fit(trained, datamodule=Texts(batches))


def test_a_point_is_kept_for_each_validation(tmp_path):
    trained = module("bahdanau", partial(torch.optim.SGD, lr=0.0))  # the loss stays as it is
    trained.model.eval()
    batches = [batch([3, 7, 5]), batch([2]), batch([4, 4]), batch([9])]
    with torch.no_grad():
        losses = [trained.loss(one, trained.label_smoothing).item() for one in batches]
        validated = trained.loss(batches[0]).item()
    trained.train()
    fit(trained, batches, History(str(tmp_path)))
    points = read_history(tmp_path)
    tokens = [int(one.tgt_mask.sum()) for one in batches]
    assert [point.target_tokens for point in points] == [sum(tokens[:2]), sum(tokens)]
    for point, pair in zip(points, (slice(0, 2), slice(2, 4)), strict=True):
        mean = np.average(losses[pair], weights=tokens[pair])
        assert point.train_loss == pytest.approx(mean, rel=0.05)  # dropout moves it
        assert point.val_loss == pytest.approx(validated, rel=1e-5)
        assert 0 <= point.val_bleu <= 100
    assert 0 < points[0].seconds < points[1].seconds


@pytest.mark.parametrize(
    "content", [b"\xff", b"target_tokens\n5\n", b"a,b\n1,2\n", b"<html>\n</html>\n"]
)
def test_another_file_of_this_name_is_refused(tmp_path, content):
    (tmp_path / "history.csv").write_bytes(content)
    with pytest.raises(BrokenFileError, match=r"history\.csv cannot be read: "):
        read_history(tmp_path)


def test_runs_without_a_history_are_left_out(tmp_path, caplog):
    runs = [
        make_run(tmp_path / "0", "none"),
        make_run(tmp_path / "1", "luong", 1, history=history(1, 3)),
        make_run(tmp_path / "2", "luong", 2, history=history(2, 2)),
        unsealed(make_run(tmp_path / "3", "transformer", history=history())),
    ]
    (tmp_path / "3" / "history.csv").write_text("broken\n1\n")
    curves = learning_curves(collect(runs))
    assert [(curve.system.name, curve.seed) for curve in curves] == [("luong", 1), ("luong", 2)]
    tokens = [[point.target_tokens for point in curve.points] for curve in curves]
    assert tokens == [[1001, 2001, 3001], [1002, 2002]]
    table = learning_table(curves, len(runs))
    assert [(row[0], row[1]) for row in table.rows] == [("luong", 1)] * 3 + [("luong", 2)] * 2
    assert [row[2] for row in table.rows] == [*tokens[0], *tokens[1]]
    assert table.origin == {"runs": "2 of 4"}
    assert f"{tmp_path}/3/history.csv cannot be read" in caplog.text
    assert "; left out of the learning curves" in caplog.text
    assert learning_curves(collect(runs[:1])) == []


def costs(runs) -> dict[str, dict[str, object]]:
    table = speed_table(collect(runs))
    names = [column.key for column in table.columns[1:]]
    return {str(row[0]): dict(zip(names, row[1:], strict=True)) for row in table.rows}


def test_costs_are_means_over_the_seeds_that_recorded_them(tmp_path):
    runs = [
        make_run(tmp_path / str(seed), seed=seed, peak_device_memory_mib=memory)
        for seed, memory in ((1, 100.0), (2, 300.0), (3, None))
    ]
    [found] = costs(runs).values()
    assert found["peak_device_memory_mib"] == 200
    assert found["peak_memory_mib"] == 612.5
    assert found["sentences_per_second"] == 290.2 - 2


def test_each_step_of_a_ladder_is_compared_with_the_one_before(tmp_path):
    runs = [
        make_run(tmp_path / f"{name}{seed}", name, seed)
        for name in ("none", "luong", "transformer")
        for seed in (1, 2)
    ]
    findings = findings_of(runs)
    [table] = Steps(findings).tables()
    keys = [column.key for column in table.columns]
    assert keys[1:4] == ["parameters", "target_tokens_per_second", "sentences_per_second"]
    assert keys[4:] == ["bleu", "gain", "p_holm", "gain_1–10", "gain_11–20"]  # not a thin bucket
    first, *others = (dict[str, Any](zip(keys, row, strict=True)) for row in table.rows)
    assert {first[key] for key in keys[5:]} == {None}
    before = first
    for row in others:
        assert row["gain"].value == pytest.approx(row["bleu"].value - before["bleu"].value)
        pair = row["system"], before["system"]
        tests = findings.significance["bleu"].by_pair
        assert row["gain_1–10"] == tests[(*pair, "1–10")].difference
        before = row
    assert others[0]["p_holm"] < 0.05


def test_translations_of_several_test_sets_are_no_ladder(tmp_path):
    other = [make_run(tmp_path / "0", "none"), make_run(tmp_path / "1", text=text(seed=1))]
    assert Steps(findings_of(other)).tables() == []


def test_the_memory_of_a_gpu_has_a_column_only_where_a_run_recorded_it(tmp_path):
    on_cpu = make_run(tmp_path / "0", "luong")
    assert "peak_device_memory_mib" not in costs([on_cpu])["luong"]
    on_gpu = make_run(tmp_path / "1", "bahdanau", peak_device_memory_mib=2048.0)
    found = costs([on_cpu, on_gpu])
    assert found["luong"]["peak_device_memory_mib"] is None
    assert found["bahdanau"]["peak_device_memory_mib"] == 2048


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Three runs of one corpus, one with other batches; a run of another corpus; an old run."""
    folder = tmp_path_factory.mktemp("runs")
    runs = [
        make_run(folder / "0", "luong", 1, data=corpus("a" * 12)),
        make_run(folder / "1", "luong", 2, data=corpus("a" * 12)),
        make_run(folder / "2", "none", 1, data=corpus("a" * 12, padding=0.125)),
        make_run(folder / "3", "none", 2, data=corpus("b" * 12, cleaned=False)),
        make_run(folder / "4", "bahdanau", 2),
    ]
    with without_pictures():
        made = build_comparison(runs, folder / "out", SCORING, REPORT)
        write_figures(made, folder / "out")
    return made, folder / "out"


@pytest.mark.long
def test_tables_hold_every_corpus_once(report):
    tables = report[0].tables
    corpora = tables["corpora"]
    keys = [column.key for column in corpora.columns]
    rows = [dict(zip(keys, row, strict=True)) for row in corpora.rows]
    assert [(row["fingerprint"], row["source_padding"]) for row in rows] == [
        ("a" * 12, 25.0), ("a" * 12, 12.5), ("b" * 12, 25.0),
    ]  # fmt: skip
    assert rows[0]["pairs_per_second"] == 2.0
    assert {"corpus_splits", "corpus_splits_2", "corpus_cleaning"} <= tables.keys()
    assert "corpus_cleaning_2" not in tables
    assert tables["corpus_cleaning"].rows == [
        ["longer than 50 words", "train", "left out", 20, 15, 75.0, None, None],
        ["came before", "train", "left out", 5, 2, 40.0, 10.0, "“<b>a</b>”; “b”"],
    ]
    row = tables["corpus_splits"].rows[0]
    assert row[:7] == ["train", "en", 3, 37, 9, 40, 5.0]
    assert row[7:] == [pytest.approx(37 / 3), 5, 30, 30, pytest.approx(40 / 3), 6, 31, 31]


@pytest.mark.long
def test_files_page_and_wandb_have_the_section(report):
    made, out = report
    for name in ("length_histogram", "length_histogram_2"):
        assert (out / "figures" / f"{name}.svg").is_file()
    page = (out / "report.html").read_text("utf-8")
    assert page.count("<h2>Data</h2>") == 1
    assert page.count('data-figure="length_histogram') == 2
    assert page.count('<table id="corpus_splits') == 2
    assert "<b>a</b>" not in page.partition("<h2>Data</h2>")[2].partition("<h2>")[0]
    [section] = [each for each in report_sections(made) if each.heading == "Data"]
    assert section.figures == ["length_histogram", "length_histogram_2"]
    assert section.tables == ["corpora", "corpus_splits", "corpus_cleaning", "corpus_splits_2"]
