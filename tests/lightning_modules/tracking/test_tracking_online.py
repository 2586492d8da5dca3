"""The real W&B client and a local server: the data that arrive, and the cost of a bad server."""

import csv
import json
import os
import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lightning_modules.runs.paths import TRACKER_ID
from lightning_modules.tracking.results import TABLE_MAPS
from tests.helpers.commands import TINY, places, succeed
from tests.helpers.commands import run as command
from tests.helpers.wandb_server import ENTITY, KEY, Run, WandbServer

pytestmark = pytest.mark.long

PLANTED = "planted-secret"
"""A secret in the environment, and in an address among the settings."""
QUICK = [
    *TINY,
    "model=luong_global",
    "decoding=greedy",
    "scoring.resamples=100",
    "trainer.log_every_n_steps=2",
    f"logger.tags=['postgresql://me:{PLANTED}@host/studies']",
]


def train(space: Path, name: str, *arguments: str, **environment: str) -> tuple[str, float]:
    """Train a tiny model into ``space/name``; return its output and its seconds."""
    started = time.perf_counter()
    folder = f"hydra.run.dir={space}/{name}"
    output = succeed(
        *QUICK, *places(space), folder, *arguments, HOME=str(space), A_TOKEN=PLANTED, **environment
    )
    return output, time.perf_counter() - started


def train_beside(space: Path, name: str, **environment: str) -> tuple[str, float, float]:
    """Train beside a training without a server, so that both find the machine equally busy.

    Return the output of the first, and the seconds of both.
    """
    with ThreadPoolExecutor() as both:
        tracked = both.submit(train, space, name, **environment)
        _, usual = both.submit(train, space, f"{name}-usual").result()
        output, seconds = tracked.result()
    return output, seconds, usual


def curve_of(history: list[dict]) -> dict[int, float]:
    name = "bleu_by_length"
    return {
        row[f"{name}/length"]: row[f"{name}/bleu"] for row in history if f"{name}/length" in row
    }


def curve_in(folder: Path) -> dict[int, float]:
    with (folder / "bleu_by_length.csv").open() as file:
        return {int(row["length_high"]): float(row["bleu"]) for row in csv.DictReader(file)}


def synchronise(output: str, server: WandbServer, space: Path, replacing: str = "") -> Run:
    """Paste the command that a training printed; return the only run that arrives."""
    command = re.findall(r"later: (.+)", output)[-1]
    if replacing:
        command = command.replace(replacing, server.url)
    environment = os.environ | server.environment | {"HOME": str(space), "NETRC": "/nonexistent"}
    subprocess.run(command, shell=True, env=environment, check=True, timeout=100, cwd=space)
    [run] = server.runs.values()
    return run


@pytest.fixture(scope="module")
def offline(space) -> tuple[str, float]:
    """Output and seconds of a training without a login."""
    return train(space, "offline", "logger.artifacts=true")


@pytest.fixture(scope="module")
def online(space, offline) -> tuple[str, WandbServer]:
    with WandbServer() as server:
        # Other tests share the processors: the last data may take longer than for a user.
        given = ["logger.artifacts=true", "logger.finish_seconds=60"]
        output, _ = train(space, "online", *given, **server.environment)
    return output, server


@pytest.fixture(scope="module")
def run(online) -> Run:
    [only] = online[1].runs.values()
    return only


def test_the_address_of_the_run_is_told(online, space):
    output, server = online
    id = (space / "online" / TRACKER_ID).read_text().strip()
    assert f"W&B online: {server.url}/{ENTITY}/attention-bench/runs/{id}\n" in output
    assert "W&B stopped" not in output


def test_the_run_arrives_with_its_configuration(run, space):
    assert run.fields["displayName"] == "luong_global-1"
    assert run.fields["groupName"] == "luong_global"
    assert run.fields["jobType"] == "train"
    assert run.fields["tags"] == ["postgresql://me:***@host/studies"]
    assert run.exit_code == 0
    assert run.alerts == []
    assert run.fields["notes"].startswith("python run.py data.train_size=300 ")
    assert run.config["command"] == run.fields["notes"]
    assert run.config["comparison"] is None
    assert run.fields["commit"] == run.config["git_commit"].partition("+")[0]
    result = json.loads((space / "online" / "result.json").read_text())
    assert run.config["model_name"] == "luong_global"
    assert run.config["seed"] == 1
    assert run.config["parameters"] == result["parameters"]
    assert run.config["data_fingerprint"] == result["data"]["fingerprint"]
    assert run.config["folder"] == str(space / "online")
    assert {name: run.config[name] for name in result["config"]} == result["config"]


def test_a_failure_is_told_at_once(space):
    with WandbServer() as server:
        given = [*QUICK, *places(space), f"hydra.run.dir={space}/failed", "optimizer.lr=1e38"]
        environment = {"HOME": str(space), **server.environment}
        done = command(*given, "logger.finish_seconds=60", "scheduler=constant", **environment)
    assert done.returncode != 0, done.stdout
    [run] = server.runs.values()
    [alert] = run.alerts
    assert alert["title"] == "luong_global-1 failed"
    assert "NaN or infinite" in alert["text"] or "the training loss is" in alert["text"]
    assert alert["severity"] == "ERROR"
    assert run.exit_code == 1


def test_the_course_of_training_arrives(run):
    rows = [row for row in run.history if "train/loss" in row]
    assert rows
    logged = {name for row in run.history for name in row}
    train_metrics = ("loss", "learning_rate", "gradient_norm", "target_tokens_per_second")
    assert {"val/loss", "val/bleu", *(f"train/{name}" for name in train_metrics)} <= logged
    assert "train/peak_memory_mib" in logged
    assert all(row["trainer/global_step"] > 0 for row in rows)
    maps = [row for row in run.history if "attention/validation" in row]
    assert len(maps) == sum("val/bleu" in row for row in run.history) > 1
    pictures = [run.files[row["attention/validation"]["path"]] for row in maps]
    assert all(picture.startswith(b"\x89PNG") for picture in pictures)
    assert len(set(pictures)) == len(pictures)  # attention moves


def test_the_curve_arrives_as_it_is_in_the_file(run, space):
    known = curve_in(space / "online")
    assert curve_of(run.history) == known
    at = {high: f"{high - 9}–{high} words" for high in known}
    bleu = {high: run.summary[f"test/bleu/{bucket}"] for high, bucket in at.items()}
    assert bleu == pytest.approx(known, abs=1e-4)
    for bucket in at.values():
        low, high = (run.summary[f"test/bleu_{end}/{bucket}"] for end in ("low", "high"))
        assert low <= run.summary[f"test/bleu/{bucket}"] <= high
        assert {f"test/{name}/{bucket}" for name in ("chrf", "exact")} <= run.summary.keys()
    assert run.summary["test/bleu_low"] <= run.summary["test/bleu"] <= run.summary["test/bleu_high"]
    drawn = {metric.get("1"): metric for metric in run.config["_wandb"]["m"]}
    assert not any("*" in str(name) for name in drawn)
    assert "bleu_by_length/bleu" in drawn


def test_translations_and_artifacts_arrive(online, run, space):
    server, folder = online[1], space / "online"
    table = json.loads(run.files[run.summary["predictions"]["path"]])
    predictions = [json.loads(line) for line in (folder / "predictions.jsonl").open()]
    columns = ["id", "length", "source", "reference", "hypothesis", "score", "attention"]
    assert table["columns"] == columns
    rows = [dict(zip(columns, row, strict=True)) for row in table["data"]]
    assert [row["score"] for row in rows] == [line["score"] for line in predictions]
    assert [row["length"] for row in rows] == [len(line["source"].split()) for line in predictions]
    tables = [kept["files"] for kept in server.artifacts.values() if kept["type"] == "run_table"]
    pictures = [name for files in tables for name in files if name.endswith(".png")]
    assert len(pictures) == min(len(predictions), TABLE_MAPS)
    id = (folder / TRACKER_ID).read_text().strip()
    model, lines = server.artifacts[f"model-{id}"], server.artifacts[f"predictions-{id}"]
    assert model["committed"]
    assert lines["committed"]
    tokenizers = {f"tokenizers/{file.name}" for file in (folder / "tokenizers").iterdir()}
    assert set(model["files"]) == {"checkpoints/best.ckpt", *tokenizers}
    fingerprint = run.config["data_fingerprint"]
    assert set(run.used) == {f"corpus-{fingerprint}", f"tokenizers-{fingerprint}"}
    assert set(server.artifacts[f"tokenizers-{fingerprint}"]["files"]) == {
        file.name for file in (folder / "tokenizers").iterdir()
    }
    contents = set(server.uploads.values())
    for name in ("checkpoints/best.ckpt", "predictions.jsonl"):
        assert (folder / name).read_bytes() in contents


def test_no_secret_is_told_or_kept(online, offline, space):
    output, server = online
    [console] = ["\n".join(run.console) for run in server.runs.values()]
    assert "test BLEU" in console
    written = [file.read_bytes() for file in space.rglob("*") if file.is_file()]
    assert len(written) > 20
    received = [*server.uploads.values()]
    received += [repr(vars(run)).encode() for run in server.runs.values()]
    for secret in (KEY, PLANTED):
        assert secret not in output
        assert not any(secret.encode() in content for content in (*written, *received))


def test_an_offline_run_is_synchronised_with_the_command_that_is_told(offline, space):
    output, _ = offline
    assert "W&B offline (not logged in); later: " in output
    with WandbServer() as server:
        run = synchronise(output, server, space)
    assert run.fields["groupName"] == "luong_global"
    assert curve_of(run.history) == curve_in(space / "offline")
    assert run.files[run.summary["predictions"]["path"]]
    made = [name for name in server.artifacts if "warnings" not in name]
    # Tokenizers, model, predictions and the table of translations; the server is told of the
    # corpus too.
    assert {server.artifacts[name]["type"] for name in made} == {
        *("dataset", "tokenizers", "model", "predictions", "run_table")
    }
    assert all(artifact["committed"] for artifact in server.artifacts.values())


@pytest.mark.timed
def test_a_server_that_dies_costs_little_and_loses_nothing(space):
    with WandbServer() as server:
        server.on_stream = server.kill
        output, seconds, usual = train_beside(space, "killed", **server.environment)
    assert "W&B online: " in output
    assert output.count("W&B stopped (") == 1
    assert seconds < usual + 10
    with WandbServer() as other:
        run = synchronise(output, other, space, replacing=server.url)
    assert curve_of(run.history) == curve_in(space / "killed")
    assert any("val/bleu" in row for row in run.history)


@pytest.mark.timed
@pytest.mark.exhaustive
def test_a_server_that_breaks_costs_little(space):
    """Its first answer is the last good one: no run can be started."""
    with WandbServer() as server:
        answer = server.answer

        def once(path: str, body: bytes) -> object:
            server.error = 500
            return answer(path, body)

        server.answer = once  # type: ignore[method-assign]
        output, seconds, usual = train_beside(space, "broken", **server.environment)
    assert re.search(r"W&B offline \(.*\); later: ", output)
    assert "W&B online" not in output
    assert not server.runs
    assert seconds < usual + 10


@pytest.mark.timed
@pytest.mark.exhaustive
def test_a_slow_server_costs_little(offline, space):
    with WandbServer(delay=0.7) as server:
        output, seconds, usual = train_beside(space, "slow", **server.environment)
    assert "test BLEU" in output
    assert seconds < usual + 10
    assert curve_in(space / "slow") == curve_in(space / "slow-usual") == curve_in(space / "offline")
