"""A comparison in W&B: its run and its report, on a local server and in a file."""

import csv
import json
import os
import re
import shlex
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from lightning_modules.figures.picture_files import NARROW
from lightning_modules.runs.paths import TRACKER_ID
from lightning_modules.tracking.wandb_report import metric_names
from tests.helpers.commands import run as run_command
from tests.helpers.pages import HOSTILE
from tests.helpers.run_folders import TEXT, make_failure, make_run
from tests.helpers.wandb_server import ENTITY, KEY, Run, WandbServer

pytestmark = pytest.mark.long

PROJECT = "attention-bench"
BUCKETS = ("1–10", "11–20", "21–30")
JOBS = [("none", 1), (HOSTILE[0], 1), (HOSTILE[0], 2)]


def compared(space: Path, name: str, *given: str, **environment: str) -> str:
    where = [f"runs={space}/runs", f"hydra.run.dir={space}/{name}", f"outputs={space}/outputs"]
    settings = ["scoring.resamples=100", "scoring.edges=[10,20,30]"]
    done = run_command("task=compare", *where, *settings, *given, HOME=str(space), **environment)
    assert done.returncode == 1, done.stderr  # one of the jobs failed
    return done.stdout


@pytest.fixture(scope="module")
def space(tmp_path_factory) -> Path:
    """A folder with three tracked runs, an untracked run and a failed job."""
    space = tmp_path_factory.mktemp("compared")
    for number, (variant, seed) in enumerate(JOBS):
        baselines: Any = {"phrase_table": TEXT.references, "nearest_copies": TEXT.sources}
        folder = make_run(space / "runs" / str(number), variant, seed, **baselines)
        (folder / TRACKER_ID).write_text(f"id{number}\n")
    make_run(space / "runs" / "3", "untracked")
    make_failure(space / "runs" / "4", "luong")
    return space


@pytest.fixture(scope="module")
def online(space) -> tuple[str, WandbServer]:
    with WandbServer() as server:
        # Other tests share the processors: the last data may take longer than for a user.
        output = compared(space, "online", "logger.finish_seconds=60", **server.environment)
    return output, server


@pytest.fixture(scope="module")
def run(online) -> Run:
    [only] = online[1].runs.values()
    return only


@pytest.fixture(scope="module")
def offline(space) -> str:
    return compared(space, "offline")


def parts(node: object, key: str) -> list:
    if isinstance(node, dict):
        values = [node[key]] if key in node else []
        return values + [value for part in node.values() for value in parts(part, key)]
    return [value for part in node for value in parts(part, key)] if isinstance(node, list) else []


LINK = re.compile(r'  <div><dt>Weights &amp; Biases</dt> <dd><a href="(.*)">.*\n')


def links_to_wandb(folder: Path) -> list[str]:
    page = (folder / "report.html").read_text(encoding="utf-8")
    return [unescape(link) for link in LINK.findall(page)]


def title_of(folder: Path) -> str:
    """Return the heading of the page."""
    [title] = re.findall("<h1>(.*)</h1>", (folder / "report.html").read_text(encoding="utf-8"))
    return unescape(title)


def without_link(page: str) -> str:
    return LINK.sub("", page)


def test_no_two_systems_share_a_metric():
    names = metric_names(["a, b=1", "a b 1", "a*b", "日本", "<b>", "…", "!"])
    assert list(names.values()) == ["a_b_1", "a_b_1_2", "a_b", "日本", "b", "system", "system_2"]


def test_the_run_of_the_comparison_arrives(online, run, space):
    assert "W&B online: " in online[0]
    assert run.fields["jobType"] == run.fields["groupName"] == "compare"
    assert run.fields["displayName"] == "online"
    assert run.exit_code == 0
    assert run.config["runs"] == ["id0", "id1", "id2"]
    assert run.config["systems"] == ["none", HOSTILE[0], "untracked"]
    assert run.config["failed"] == ["luong, seed 1"]
    assert run.config["conditions"]["data"]["holds"] is True
    assert run.config["comparison"] == "online"
    assert run.fields["tags"] == ["compare", "online"]
    assert run.fields["notes"].startswith("python run.py task=compare runs=")


@pytest.mark.exhaustive
def test_the_page_leads_to_the_report(online, offline, space):
    file = json.loads((space / "online" / "wandb_report.json").read_text(encoding="utf-8"))
    assert file["url"].startswith("http")
    assert f"W&B report: {file['url']}" in online[0]
    assert links_to_wandb(space / "online") == [file["url"]]
    assert links_to_wandb(space / "offline") == []


def test_its_scores_are_those_of_the_table(run, space):
    with (space / "online" / "tables" / "bleu_by_length.csv").open(encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    names = metric_names(["none", HOSTILE[0], "untracked", "phrase table", "nearest copy"])
    known = {
        f"test/{names[row['system']]}/bleu{ending}{bucket}": float(row[f"{column}{ending}"])
        for row in table
        for column, bucket in (("BLEU", ""), *((each, f"/{each} words") for each in BUCKETS))
        for ending in ("", "_low", "_high")
        if f"{column}{ending}" in row
    }
    assert len(known) >= 5 * 3 * 3
    assert {name: run.summary[name] for name in known} == pytest.approx(known)
    assert run.summary["test/phrase_table/exact"] == pytest.approx(100)
    assert run.summary["test/none/exact"] < 100
    assert "test/none/chrf/11–20 words" in run.summary


def test_one_chart_has_a_line_for_each_system(run, space):
    assert not any("bleu_by_length/length" in row for row in run.history)
    table = json.loads(run.files[run.summary["bleu_by_length_table"]["path"]])
    lines: dict[str, list[float]] = {}
    for row in table["data"]:
        line = dict(zip(table["columns"], row, strict=True))
        lines.setdefault(line["lineKey"], []).append(line["lineVal"])
    assert list(lines) == ["none", HOSTILE[0], "untracked", "phrase table", "nearest copy"]
    assert lines["none"] == [run.summary[f"test/none/bleu/{each} words"] for each in BUCKETS]


def test_its_tables_figures_and_page_arrive(online, run, space):
    folder = space / "online"
    for file in (folder / "tables").glob("*.csv"):
        with file.open(encoding="utf-8") as lines:
            [header, *rows] = csv.reader(lines)
        table = json.loads(run.files[run.summary[f"tables/{file.stem}"]["path"]])
        assert table["columns"] == header[: len(table["columns"])]
        shown = [["" if cell is None else str(cell) for cell in row] for row in table["data"]]
        assert shown == [row[: len(table["columns"])] for row in rows]
    for file in (folder / "figures").glob("*.png"):
        if file.stem.endswith(NARROW):  # the same picture for a column of a paper
            continue
        assert run.files[run.summary[f"figures/{file.stem}"]["path"]] == file.read_bytes()
    page = run.files[run.summary["report"]["path"]].decode()
    # The page was logged before the report had an address.
    assert page == without_link((folder / "report.html").read_text(encoding="utf-8"))


def test_figures_have_the_captions_of_their_files(run, space):
    for key, logged in run.summary.items():
        if key.startswith("figures/"):
            name = key.removeprefix("figures/")
            beside = space / "online" / "figures" / f"{name}.txt"
            text = beside.read_text(encoding="utf-8") if beside.is_file() else ""
            assert logged["caption"] == f"{name.replace('_', ' ')}: online\n{text}".strip()
    assert "95% bootstrap intervals" in run.summary["figures/bleu_by_length"]["caption"]


def test_the_report_arrives(online, run, space):
    output, server = online
    [report] = server.reports.values()
    assert report["projectName"] == PROJECT
    assert report["entityName"] == ENTITY
    assert report["type"] == "runs"
    assert report["displayName"] == title_of(space / "online")
    assert re.search(rf"W&B report: {server.url}/{ENTITY}/{PROJECT}/reports/\S+\n", output)
    spec = json.loads(report["spec"])
    kept = json.loads((space / "online" / "wandb_report.json").read_text(encoding="utf-8"))
    assert kept["url"] in output
    drawn = [panel["config"] for grid in parts(spec, "panels") if isinstance(grid, list)
             for panel in grid if panel["viewType"] == "Run History Line Plot"]  # fmt: skip
    assert drawn[0]["xAxis"] == "bleu_by_length/length"
    assert drawn[0]["metrics"] == ["bleu_by_length/bleu"]
    assert (drawn[0]["groupBy"], drawn[0]["groupAgg"]) == ("system.value", "mean")
    assert drawn[0]["groupArea"] == "minmax"
    shown = {id for filter in parts(spec, "filters") if isinstance(filter, list)
             for each in filter for id in each["value"]}  # fmt: skip
    comparison_id = (space / "online" / TRACKER_ID).read_text().strip()
    assert shown == {"id0", "id1", "id2", comparison_id}
    assert comparison_id in server.runs


def test_the_report_shows_what_there_is(online, run):
    [report] = online[1].reports.values()
    spec = json.loads(report["spec"])
    kinds = {panel["viewType"] for grid in parts(spec, "panels") if isinstance(grid, list)
             for panel in grid}  # fmt: skip
    assert {"Run History Line Plot", "Bar Chart", "Run Comparer", "Media Browser"} <= kinds
    keys = {key for keys in parts(spec, "mediaKeys") for key in keys}
    logged = {key for key in run.summary if key.startswith("figures/")}
    assert logged
    assert keys == logged | {"report", "attention/test", "attention/validation"}
    text = json.dumps(spec, ensure_ascii=False)
    for line in ("failed, luong, seed 1: the loss is not a number", "held, data: ", "nrefs:1|"):
        assert line in text


@pytest.mark.exhaustive
@pytest.mark.long
def test_offline_the_report_is_in_a_file_and_one_command_publishes_it(offline, space):
    """The command publishes the report after ``wandb sync``."""
    assert "W&B offline (not logged in); later: " in offline
    publish = re.findall(r"W&B report: .* server: (.+)", offline)[-1]
    assert publish == f"python run.py task=report runs={space}/offline"
    assert not (space / "offline" / "wandb_report.json").exists()
    sync = re.findall(r"later: (.+)", offline)[0]
    with WandbServer() as server:
        environment = os.environ | server.environment | {"HOME": str(space)}
        subprocess.run(sync, shell=True, env=environment, check=True, timeout=100, cwd=space)
        [(id, synchronised)] = server.runs.items()
        assert synchronised.fields["jobType"] == "compare"
        summary = synchronised.summary
        again = shlex.split(publish.removeprefix("python run.py "))
        done = run_command(
            *again, "logger.mode=online", f"outputs={space}/outputs", HOME=str(space),
            **server.environment,
        )  # fmt: skip
        assert done.returncode == 1  # one of the jobs failed
        assert "W&B report: http" in done.stdout
        assert list(server.runs) == [id]  # one comparison is one run
        assert server.runs[id].summary.keys() == summary.keys()
        subprocess.run(sync, shell=True, env=environment, check=True, timeout=100, cwd=space)
        assert list(server.runs) == [id]
    [report] = server.reports.values()
    assert report["displayName"] == title_of(space / "offline")


def test_no_key_is_told_or_kept(online, space):
    output, server = online
    received = [
        *server.uploads.values(),
        *(repr(vars(run)).encode() for run in server.runs.values()),
    ]
    written = [file.read_bytes() for file in space.rglob("*") if file.is_file()]
    assert KEY not in output + repr(server.reports)
    assert not any(KEY.encode() in content for content in (*written, *received))
