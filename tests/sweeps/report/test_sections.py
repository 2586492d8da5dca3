"""Sections of the report: a user's own, mistakes in these, and data that is no table."""

import json
from dataclasses import replace

import pytest
from omegaconf import DictConfig, OmegaConf

from sweeps.comparison.collect import Comparison
from sweeps.report.html import render_report
from sweeps.report.publish import publish
from sweeps.report.report import make_report
from sweeps.report.sections.method import method
from sweeps.report.wandb_comparison import report_sections
from tests.helpers.commands import ROOT, TINY, example, mistake, places, succeed
from tests.helpers.refusals import refused
from tests.helpers.run_folders import REPORT, TEXT, findings_of, make_run
from tests.helpers.wandb_server import WandbServer

QUICK = ["scoring.resamples=100", "scoring.edges=[10,20,30]"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder of two runs, one of which says each word twice."""
    folder = tmp_path_factory.mktemp("runs")
    make_run(folder / "0", "none")
    twice = [" ".join(f"{word} {word}" for word in line.split()) for line in TEXT.references]
    make_run(folder / "1", "luong", hypotheses=twice)
    return folder


@pytest.fixture(scope="module")
def findings(runs):
    return findings_of([runs / "0", runs / "1"])


@pytest.mark.exhaustive
@pytest.mark.long
def test_the_example_of_the_page_is_in_every_form(runs, tmp_path):
    [command] = example("report_section", tmp_path)
    arguments = [part.replace("RUNS_DIR", str(runs)) for part in command]
    out = tmp_path / "out"
    patient = "logger.finish_seconds=60"  # other tests share the processors
    places = [f"hydra.run.dir={out}", f"outputs={tmp_path}/outputs", *QUICK, patient]
    with WandbServer() as server:
        surroundings = {"PYTHONPATH": str(tmp_path), "HOME": str(tmp_path), **server.environment}
        succeed(*arguments, *places, **surroundings)
    table = json.loads((out / "tables" / "repetitions.json").read_text(encoding="utf-8"))
    assert {row["system"]: row["rate"] > 50 for row in table["rows"]}["luong"] is True
    for ending in ("svg", "png", "pdf"):
        assert (out / "figures" / f"repetitions.{ending}").is_file()
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("<h2>Words said twice</h2>") == 1
    assert page.count('<table id="repetitions"') == page.count('data-figure="repetitions"') == 1
    assert "words_by_frequency" not in page
    assert not (out / "tables" / "words_by_frequency.csv").exists()
    [logged] = server.runs.values()
    assert {"tables/repetitions", "figures/repetitions"} <= logged.summary.keys()
    [report] = server.reports.values()
    for part in ("Words said twice", "tables/repetitions", "figures/repetitions"):
        assert part in report["spec"]


def test_a_search_for_candidates_is_in_the_line_of_its_search_alike_for_all_seeds(tmp_path):
    runs = []
    for seed in (1, 2):
        candidates = {"_target_": "a.SamplingSearch", "n_best": 16, "top_k": None, "seed": seed}
        search = {"search": "MinimumBayesRisk", "candidates": candidates, "seconds": 3.0 + seed}
        runs.append(make_run(tmp_path / str(seed), "none", seed, decoding=search))
    assert dict(method(findings_of(runs)))["Decoding"] == [
        "search MinimumBayesRisk, candidates (search SamplingSearch, n best 16)"
    ]


MISTAKES = """
import altair as alt

from sweeps.comparison.tables import Column, Table
from sweeps.report.sections import Section


class Unfinished(Section):
    pass


class Raising(Section):
    heading = "Raising"

    def tables(self):
        return {}["missing"]


class Wordy(Section):
    heading = "Wordy"

    def tables(self):
        return ["a table"]


class BrokenChart(alt.Chart):
    def to_dict(self, *args, **options):
        raise ValueError("no data")


class Sketchy(Section):
    heading = "Sketchy"

    def figures(self, width):
        return {"sketch": BrokenChart()}


class Repeated(Section):
    heading = "Repeated"

    def tables(self):
        return [Table("scores", "Scores", [Column("a", "a")], [[1]], {})]


class BadPage(Section):
    heading = "Bad page"
    template = "{{ section.nothing.at_all }}"


class BadLines(Section):
    heading = "Bad lines"
    lines = (1,)
"""


@pytest.fixture
def settings(tmp_path, monkeypatch):
    (tmp_path / "mistaken_sections.py").write_text(MISTAKES)
    monkeypatch.syspath_prepend(tmp_path)

    def give(name):
        mine = f"mistaken_sections.{name}"
        sections = {"scores": REPORT.sections["scores"], "mine": mine}
        return REPORT.model_copy(update={"sections": sections})

    return give


def show(findings, settings):
    report = make_report(findings, settings)
    assert report.tables
    assert isinstance(report.figures, dict)
    for part in report.parts:
        assert part.lines is not None
    render_report(report)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Unfinished", "Unfinished lacks heading"),
        ("Raising", "Raising fails: mistaken_sections.py, line … : KeyError: 'missing'"),
        ("Wordy", "Wordy: tables() gives a str"),
        ("Repeated", "scores is a name of another section"),
        ("Sketchy", "Sketchy fails: mistaken_sections.py, line … : ValueError: no data"),
        ("BadPage", "BadPage fails: UndefinedError"),
        ("BadLines", "BadLines: lines() gives a int"),
    ],
)
def test_a_mistake_in_a_section_is_one_line(findings, settings, name, words):
    with refused(f"report.sections.mine=mistaken_sections.{name}: ", *words.split(" … ")):
        show(findings, settings(name))


@pytest.mark.long
@pytest.mark.parametrize("name", ["Raising", pytest.param("Sketchy", marks=pytest.mark.exhaustive)])
@pytest.mark.exhaustive
def test_a_mistake_ends_the_command_before_a_file_is_written(runs, tmp_path, settings, name):
    settings(name)
    command = ["task=compare", f"runs={runs}", f"hydra.run.dir={tmp_path}/out", *QUICK]
    line = mistake(*command, "logger=none", f"+report.sections.mine=mistaken_sections.{name}")
    assert f"{name} fails" in line
    assert not (tmp_path / "out" / "comparison.json").exists()
    assert "report.sections.scores=3: " in mistake(*command, "report.sections.scores='3'")


def test_a_mistake_in_a_section_ends_a_multirun_before_its_first_job(tmp_path, settings):
    settings("Unfinished")
    command = ["-m", "model=seq2seq,bahdanau", *TINY, *places(tmp_path), "logger=none"]
    line = mistake(*command, "+report.sections.mine=mistaken_sections.Unfinished")
    assert "report.sections.mine=mistaken_sections.Unfinished: Unfinished lacks heading" in line
    assert not list(tmp_path.rglob("result.json"))


def test_a_defect_of_the_harness_keeps_its_traceback(findings, monkeypatch):
    def broken(self):
        raise KeyError("a defect")

    monkeypatch.setattr("sweeps.report.sections.speed.Speed.tables", broken)
    with pytest.raises(KeyError, match="a defect"):
        assert make_report(findings, REPORT).tables


@pytest.mark.long
def test_sections_without_anything_are_left_out(tmp_path):
    """Files have no speed, no learning curves and no studies."""
    findings = findings_of([make_run(tmp_path / "0", "none")])
    report = make_report(replace(findings, comparison=Comparison([], [], [])), REPORT)
    page = render_report(report)
    headings = [section.heading for section in report_sections(report) if any(section[1:])]
    for heading in ("Quality against cost", "How the systems learned", "Conditions", "Tuning"):
        assert f"<h2>{heading}</h2>" not in page
    assert "Tuning" not in headings
    assert "Conditions" not in headings


def test_another_logger_takes_no_report(findings, tmp_path, monkeypatch, capsys):
    """The files are there; only the logger of W&B takes a report."""
    asked = []
    monkeypatch.setattr(
        "sweeps.report.wandb_comparison.publish_comparison", lambda *given: asked.append(1)
    )
    report = make_report(findings, REPORT.model_copy(update={"sections": {}}))
    (tmp_path / "report.html").touch()
    for target in ("pytorch_lightning.loggers.CSVLogger", None):
        publish(report, tmp_path, OmegaConf.create({"_target_": target} if target else {}))
    assert asked == []
    logger = OmegaConf.load(ROOT / "conf" / "logger" / "wandb.yaml")
    assert isinstance(logger, DictConfig)
    publish(report, tmp_path, logger)
    assert asked == [1]
    assert "open " in capsys.readouterr().out
