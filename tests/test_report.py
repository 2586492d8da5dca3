"""What a comparison writes and prints, and how a Hydra multirun ends with one."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from omegaconf import OmegaConf
from rich.console import Console

from datamodules.errors import UserError
from sweeps.callback import ComparisonCallback
from sweeps.compare import build_comparison
from sweeps.comparison import collect
from sweeps.report import attention_cards, render_report
from sweeps.summary import print_comparison
from tests.run_folders import attention, make_failure, make_run

PROJECT = Path(__file__).parent.parent
HOSTILE = "</script><script>alert(1)</script>"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A comparison of three variants, one with two seeds, and a failed job, in its folder."""
    out = tmp_path_factory.mktemp("sweep")
    runs = [
        make_run(out / "0", "none", 1),
        make_run(out / "1", "luong", 1),
        make_run(out / "2", "luong", 2),
        make_run(out / "3", "transformer", 1, parameters=2_000_000),
        make_failure(out / "4", "bahdanau", error="out of [red]memory[/red]"),
    ]
    return build_comparison(runs, out, "a sweep"), out


def test_the_files_are_all_there_and_nothing_is_left_half_written(built):
    _, out = built
    files = {path.name for path in out.iterdir() if path.is_file()}
    figures = {f"bleu_by_length.{ending}" for ending in ("csv", "svg", "png", "pdf")}
    assert files == {"comparison.json", "report.html"} | figures
    assert (out / "bleu_by_length.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "bleu_by_length.pdf").read_bytes().startswith(b"%PDF")
    assert (out / "bleu_by_length.svg").read_text().startswith("<svg")


def test_the_csv_has_every_run_and_bucket_once(built):
    _, out = built
    with (out / "bleu_by_length.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["variant", "seed", "length_low", "length_high", "sentences", "bleu"]
    keys = [(row["variant"], row["seed"], row["length_low"]) for row in rows]
    assert len(set(keys)) == len(keys) == 4 * 6


def test_the_printed_figure_names_what_it_shows(built):
    _, out = built
    svg = (out / "bleu_by_length.svg").read_text()
    for words in ("BLEU", "source length (words)", "longest training sentence: 50 words"):
        assert words in svg
    for words in ("none", "luong", "transformer", "11–20", "n = 190"):
        assert words in svg


def test_alignment_errors_are_shown_where_there_are_any(built, tmp_path):
    _, out = built
    assert "error, %" not in (out / "report.html").read_text()
    runs = [
        make_run(tmp_path / "0", "luong", 1, aer=0.1),
        make_run(tmp_path / "1", "luong", 2, aer=0.2),
        make_run(tmp_path / "2", "none", 1),
    ]
    comparison = build_comparison(runs, tmp_path, "a sweep")
    [luong, none] = json.loads((tmp_path / "comparison.json").read_text())["variants"]
    assert luong["aer_percent"]["mean"] == pytest.approx(15)
    assert none["aer_percent"] is None
    assert "15.0 <small>±&nbsp;7.1" in (tmp_path / "report.html").read_text()
    said = io.StringIO()
    print_comparison(comparison, tmp_path / "report.html", Console(width=100, file=said))
    assert "AER %" in said.getvalue()


def test_the_json_holds_means_runs_conditions_and_failures(built):
    _, out = built
    comparison = json.loads((out / "comparison.json").read_text())
    by_label = {variant["label"]: variant for variant in comparison["variants"]}
    assert by_label["luong"]["bleu"]["mean"] == pytest.approx((85.3 + 85.4) / 2)
    assert [run["folder"] for run in by_label["luong"]["runs"]] == ["1", "2"]
    assert {c["name"]: c["holds"] for c in comparison["conditions"]}["parameters"] is False
    assert comparison["failed"] == [
        {"label": "bahdanau, seed 1", "folder": "4", "error": "out of [red]memory[/red]"}
    ]


@pytest.mark.parametrize("width", [80, 100])
def test_the_terminal_shows_it_all_within_its_width(built, width):
    comparison, _ = built
    console = Console(width=width, file=io.StringIO(), color_system=None, record=True)
    print_comparison(comparison, Path("outputs/report.html"), console)
    text = console.export_text()
    assert all(len(line) <= width for line in text.splitlines())
    for words in ("51–60", "1,500,000", "63.2", "85.3 ± 0.1", "outputs/report.html"):
        assert words in text
    assert "✗ NOT HELD parameters" in text
    assert "✗ failed job bahdanau, seed 1" in text
    assert "[red]memory[/red]" in text


def test_the_page_is_loud_about_what_is_wrong(built):
    comparison, _ = built
    page = render_report(comparison)
    assert "Not a fair comparison: 1 of 7 conditions not held" in page
    assert "✗ NOT HELD" in page
    assert "out of [red]memory[/red]" in page
    assert len(page.encode()) < 3_000_000


def test_a_fair_comparison_raises_no_alarm(tmp_path):
    page = render_report(collect([make_run(tmp_path / "0"), make_run(tmp_path / "1", "luong")]))
    assert "NOT HELD" not in page
    assert 'class="card alarm"' not in page


def test_hostile_words_stay_words(tmp_path):
    words = [HOSTILE, "\"'`", "שלום", "語", "{{7*7}}", "<img src=x onerror=alert(1)>"]
    run = make_run(tmp_path / "0", words=(words, words), variant=HOSTILE, git_commit=HOSTILE)
    page = render_report(collect([run, make_failure(tmp_path / "1", error=HOSTILE)]))
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "שלום" in page
    assert "{{7*7}}" in page


def test_cards_show_the_longest_readable_sentence_that_all_kept(tmp_path):
    first, short, second, endless = (
        attention(["w"] * words, ["v"]) | {"id": words} for words in (20, 3, 19, 21)
    )
    runs = [make_run(tmp_path / str(i), v) for i, v in enumerate(("luong", "transformer", "none"))]
    (runs[0] / "attention.json").write_text(json.dumps([first, short, second, endless]))
    (runs[1] / "attention.json").write_text(json.dumps([short, endless, second]))
    luong, transformer, none = attention_cards(collect(runs))
    assert luong.chart == transformer.chart
    assert luong.chart is not None
    assert len(luong.chart["encoding"]["x"]["sort"]) == 19
    assert none.chart is None
    assert "no attention" in none.note


@pytest.mark.parametrize(
    ("text", "note"),
    [(None, "No attention was recorded."), ("[{}]", "attention.json cannot be read: id: Field")],
)
def test_an_unreadable_attention_is_said_on_its_card(tmp_path, text, note):
    run = make_run(tmp_path / "0")
    (run / "attention.json").unlink()
    if text:
        (run / "attention.json").write_text(text)
    [card] = attention_cards(collect([run]))
    assert card.chart is None
    assert card.note.startswith(note)


def test_no_finished_run_is_the_users_matter(tmp_path):
    failed = [make_failure(tmp_path / "0"), make_failure(tmp_path / "1", "none", error="no data")]
    with pytest.raises(
        UserError, match=r"the loss is not a number \(luong, seed 1\); no data \(none, seed 1\)"
    ) as error:
        build_comparison(failed, tmp_path, "sweep")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "report.html").exists()


def test_the_callback_leaves_other_multiruns_alone(tmp_path):
    (tmp_path / "0" / ".hydra").mkdir(parents=True)
    ComparisonCallback().on_multirun_end(OmegaConf.create({"hydra": {"sweep": {"dir": tmp_path}}}))
    assert not (tmp_path / "report.html").exists()


def test_the_callback_loads_nothing_heavy():
    code = "import sys, sweeps.callback; print({'altair', 'torch', 'jinja2'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=PROJECT, check=True
    )
    assert done.stdout == "set()\n"


CONFIG = """
defaults: [_self_]
task: run
variant: none
runs: []
hydra:
  callbacks: {comparison: {_target_: sweeps.callback.ComparisonCallback}}
  sweep: {dir: sweep, subdir: "${hydra.job.num}"}
  run: {dir: single}
"""
APP = """
from pathlib import Path
import hydra
from hydra.core.hydra_config import HydraConfig
from sweeps.compare import compare
from tests.run_folders import make_failure, make_run

@hydra.main(version_base="1.3", config_path=".", config_name="config")
def main(cfg):
    if cfg.task == "compare":
        return compare(cfg)
    out = Path(HydraConfig.get().runtime.output_dir)
    make = make_failure if cfg.variant == "broken" else make_run
    make(out, cfg.variant)

main()
"""


@pytest.fixture
def app(tmp_path):
    """Run a small Hydra program whose jobs leave run folders; returns the finished process."""
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "app.py").write_text(APP)

    def run(*arguments):
        return subprocess.run(
            [sys.executable, "app.py", *arguments],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(PROJECT), "COLUMNS": "100"},
            check=False,
        )

    return run


@pytest.mark.parametrize(
    ("variants", "status", "told"),
    [
        ("luong,none", 0, "open sweep/report.html in a browser"),
        ("luong,broken", 1, "✗ failed job broken, seed 1"),
        ("broken", 2, "error: no run finished"),
    ],
)
def test_a_multirun_ends_with_its_comparison_and_status(app, tmp_path, variants, status, told):
    done = app("-m", f"variant={variants}")
    assert done.returncode == status, done.stderr
    assert told in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "sweep" / "report.html").exists() == (status < 2)


def test_the_compare_task_takes_runs_and_folders_of_runs(app, tmp_path):
    make_run(tmp_path / "one", "none")
    make_run(tmp_path / "many" / "0", "luong")
    make_run(tmp_path / "many" / "1", "transformer")
    done = app("task=compare", "runs=[one,many]")
    assert done.returncode == 0, done.stderr
    comparison = json.loads((tmp_path / "single" / "comparison.json").read_text())
    labels = [variant["label"] for variant in comparison["variants"]]
    assert labels == ["none", "luong", "transformer"]


@pytest.mark.parametrize(
    ("runs", "told"), [("[]", "nothing to compare"), ("nowhere", "nowhere is no run")]
)
def test_the_compare_task_names_what_is_missing(app, runs, told):
    done = app("task=compare", f"runs={runs}")
    assert done.returncode != 0
    assert told in done.stderr
