"""W&B: its mode is chosen at once, without a prompt; nothing it does reaches the training."""

import logging
import re
import socket
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import wandb

from lightning_modules.figures import heat_map
from lightning_modules.metrics.curves import CurvePoint
from lightning_modules.metrics.lengths import Bounds
from lightning_modules.metrics.resampling import Interval
from lightning_modules.runs.files import RunScores, remove_earlier
from lightning_modules.runs.paths import MULTIRUN, TRACKER_ID
from lightning_modules.runs.schema import (
    Accuracy,
    Baseline,
    Data,
    Prediction,
    Result,
    SentenceAttention,
    SubsetScores,
)
from lightning_modules.tracking import wandb_run
from lightning_modules.tracking.results import log_test
from lightning_modules.tracking.trackers import comparison_of
from lightning_modules.tracking.wandb_logger import FailsafeWandbLogger
from lightning_modules.tracking.wandb_run import new_id
from tests.helpers.made_text import corpus
from tests.helpers.run_folders import scoring_of
from tests.helpers.wandb_server import WandbServer

PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy")


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    for name in ("WANDB_MODE", "WANDB_API_KEY", "WANDB_BASE_URL", *PROXIES):
        monkeypatch.delenv(name, raising=False)


def logged_in(monkeypatch, answer, server="http://127.0.0.1:9"):
    def login(**arguments):
        assert arguments == {"prompt": False, "verify": False}
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(wandb, "login", login)
    settings = SimpleNamespace(settings=SimpleNamespace(base_url=server))
    monkeypatch.setattr(wandb, "setup", lambda: settings)


def chosen_at_once(requested="auto"):
    """Choose, and insist on doing so in under three seconds."""
    started = time.perf_counter()
    chosen = wandb_run.choose_mode(requested)
    assert time.perf_counter() - started < 3
    return chosen


def test_a_wish_is_followed(monkeypatch):
    logged_in(monkeypatch, AssertionError("login was asked for"))
    assert wandb_run.choose_mode("offline")[0] == "offline"
    assert wandb_run.choose_mode("disabled")[0] == "disabled"
    monkeypatch.setenv("WANDB_MODE", "disabled")
    assert wandb_run.choose_mode("auto") == ("disabled", "WANDB_MODE")


def test_offline_without_a_login_or_with_a_malformed_key(monkeypatch):
    logged_in(monkeypatch, False)
    assert chosen_at_once() == ("offline", "not logged in")
    logged_in(monkeypatch, wandb.errors.AuthenticationError("API key must have\n40+ characters"))
    assert chosen_at_once() == ("offline", "API key must have 40+ characters")


def test_offline_where_nothing_listens(monkeypatch):
    with WandbServer() as server:
        url = server.url
    logged_in(monkeypatch, True, url)
    chosen, reason = chosen_at_once()
    assert chosen == "offline"
    assert reason.startswith(f"{url} cannot be reached: ")


def test_offline_where_names_are_looked_up_for_ever(monkeypatch):
    """The time limit of a connection does not cover the look-up."""
    logged_in(monkeypatch, True, "http://wandb.invalid")
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: time.sleep(10))
    assert chosen_at_once() == (
        "offline",
        "http://wandb.invalid cannot be reached: no answer within 2 seconds",
    )


def test_offline_where_the_server_is_broken_or_slow(monkeypatch):
    with WandbServer(error=500) as broken, WandbServer(delay=5) as slow:
        logged_in(monkeypatch, True, broken.url)
        assert chosen_at_once() == ("offline", f"{broken.url} answers 500")
        logged_in(monkeypatch, True, slow.url)
        assert chosen_at_once()[0] == "offline"


def test_the_proxy_is_asked(monkeypatch):
    # The proxy answers every request itself, which looks to the client like forwarding.
    logged_in(monkeypatch, True, "http://wandb.invalid")
    with WandbServer() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        assert chosen_at_once() == ("online", "logged in")
        assert proxy.requests == 1
    assert chosen_at_once()[0] == "offline"


def test_the_command_to_synchronise_can_be_pasted(monkeypatch, tmp_path):
    folder = tmp_path / "a b" / "offline-run-1"
    monkeypatch.setattr("shutil.which", lambda _: "/bin/wandb")
    assert wandb_run.sync_command(folder) == f"wandb sync '{folder}'"
    assert "sync --include-online /" in wandb_run.sync_command(tmp_path / "run-1")
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:8080")
    command = wandb_run.sync_command(folder)
    assert command == f"WANDB_BASE_URL=http://127.0.0.1:8080 wandb sync '{folder}'"
    monkeypatch.setenv("WANDB_BASE_URL", "http://me:secret@127.0.0.1:8080")
    assert "secret" not in wandb_run.sync_command(folder)
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert "-m wandb sync" in wandb_run.sync_command(folder)


class FakeRun:
    """Records the calls on a run; ``act`` can make a call fail or hang."""

    project, id, dir = "p", "i", "/outputs/wandb/offline-run-i/files"
    name, offline, disabled, url = "luong-1", True, False, "http://127.0.0.1:9/luong-1"

    def __init__(self):
        self.summary, self.logged, self.ended, self.lines = {}, [], [], []
        self.defined, self.act = {}, lambda: None

    def define_metric(self, name, **options):
        self.defined[name] = options

    def write_logs(self, line):
        self.act()
        self.lines.append(line)

    def log(self, values):
        self.act()
        self.logged.append(values)

    def finish(self, exit_code):
        self.act()
        self.ended.append(exit_code)


@pytest.fixture(autouse=True)
def no_more_log_lines():
    """Trackers that a test leaves open take the log lines of no other test."""
    root = logging.getLogger()
    before = list(root.handlers)
    yield
    root.handlers[:] = before


def logger_in(save_dir, folder, mode="offline"):
    labels: Any = {"project": "p", "name": "n", "group": "g", "job_type": "train", "tags": []}
    limits: Any = {"mode": mode, "artifacts": False, "finish_seconds": 4}
    return FailsafeWandbLogger(save_dir=save_dir, folder=folder, **labels, **limits)


def tracked():
    run = FakeRun()
    with patch.object(wandb_run, "_start_run", lambda *_, **__: run):
        return run, logger_in(Path(), Path())


@pytest.mark.parametrize(
    ("found", "accepts", "limits"),
    [
        (("offline", "not logged in"), True, [("offline", 60)]),
        (("online", "logged in"), True, [("online", 3)]),
        (("online", "logged in"), False, [("online", 3), ("offline", 60)]),
    ],
)
def test_a_busy_machine_has_a_minute_to_start_a_run_and_a_server_three_seconds(
    tmp_path, monkeypatch, found, accepts, limits
):
    run, given = FakeRun(), []

    def init(mode, settings, **_):
        given.append((mode, settings.init_timeout))
        if mode == "online" and not accepts:
            raise TimeoutError("no answer")
        return run

    monkeypatch.setattr(wandb, "init", init)
    monkeypatch.setattr(wandb, "setup", lambda settings: None)
    monkeypatch.setattr(wandb_run, "choose_mode", lambda _: found)
    logger_in(tmp_path, tmp_path, mode="auto")
    assert given == limits


def fail():
    raise BrokenPipeError("the service\nis gone")


def test_an_error_is_told_once_and_ends_the_tracking(caplog):
    run, tracker = tracked()
    tracker.log_metrics({"train/loss": 1.0}, 7)
    run.act = fail
    with caplog.at_level(logging.WARNING):
        tracker.log_metrics({"train/loss": 2.0}, 8)
        run.act = lambda: None
        tracker.log_metrics({"train/loss": 3.0}, 9)
        tracker.close()
    assert run.logged == [{"train/loss": 1.0, "trainer/global_step": 7}]
    assert run.ended == [0]
    [line] = caplog.messages
    assert line.startswith("W&B stopped (the service is gone); later: ")
    assert line.endswith("sync /outputs/wandb/offline-run-i")


def test_the_log_is_given_to_the_run_until_its_end(caplog):
    run, tracker = tracked()
    with caplog.at_level(logging.INFO):
        logging.getLogger("lightning").info("epoch %d of postgresql://me:%s@host", 1, "secret")
        tracker.close()
        logging.getLogger("lightning").info("later")
    assert run.lines == ["epoch 1 of postgresql://me:***@host"]


@pytest.mark.parametrize(
    ("error", "offline", "alerts"),
    [
        (ValueError("at postgresql://me:secret@host"), False, 1),
        (ValueError("no server"), True, 0),
        (KeyboardInterrupt(), False, 0),
        (None, False, 0),
    ],
)
def test_a_failure_is_told_where_a_server_is_reached(error, offline, alerts):
    run, tracker = tracked()
    run.offline, told = offline, []
    run.alert = lambda title, text, level: told.append((title, text, level))
    tracker.close(error)
    expected = ("luong-1 failed", "at postgresql://me:***@host", "ERROR")
    assert told == [expected] * alerts
    assert run.ended == [int(error is not None)]


def test_what_hangs_is_left_alone(caplog):
    run, tracker = tracked()
    run.act = lambda: time.sleep(5)
    started = time.perf_counter()
    with caplog.at_level(logging.WARNING):
        tracker.send(lambda run: run.log({}), 0.1)
    assert time.perf_counter() - started < 1
    assert "no answer within 0.1 seconds" in caplog.text


SCORING = scoring_of(edges=[10, 20])


def outcome(attention, data):
    lines = [
        Prediction(id=n, source=s, reference=s, hypothesis=s, score=100.0)
        for n, s in enumerate(("a b", "a b c"))
    ]
    curve = [
        CurvePoint("luong", 1, Bounds(1, 10), 2, {"bleu": 61.512345}, Interval(50, 70), ""),
        CurvePoint("luong", 1, Bounds(11, 20), 0, {}, None, ""),
        CurvePoint("luong", 1, Bounds(21, None), 1, {"bleu": 5.0}, None, ""),
    ]
    result = Result(
        variant="luong",
        seed=1,
        scores={"bleu": 60.5, "aer": 12.0},
        intervals={"bleu": (50, 70)},
        subsets={"news": SubsetScores(sentences=1, scores={"bleu": 70.0})},
        baselines={"phrase table": Baseline(scores={"bleu": 40.0, "exact": 5.0}, by_length={})},
        contrast={"category": {"number": Accuracy(pairs=4, value=75.0, low=50.0, high=100.0)}},
        suspicions=["1 of 2 translations are empty: “”"],
        data=data,
    )
    return RunScores(result, lines, {}, curve=curve, attention=attention)


def run_of_test(attention, data=None):
    """The run that a test with this attention was logged to."""
    run, tracker = tracked()
    log_test(tracker, outcome(attention, data or Data()), SCORING, Path(), step=9)
    return run


def test_scores_curve_translations_and_a_heat_map_are_logged():
    run = run_of_test([np.eye(2), np.eye(3)], Data(suspicions=["a leak"]))
    assert run.summary == {
        "test/bleu": 60.5, "test/bleu_low": 50, "test/bleu_high": 70, "test/aer": 12.0,
        "test/bleu/1–10 words": 61.512345, "test/bleu/21+ words": 5.0,
        "test/bleu_low/1–10 words": 50, "test/bleu_high/1–10 words": 70,
        "baseline/phrase_table/bleu": 40.0, "baseline/phrase_table/exact": 5.0,
        "contrast/category/number": 75.0, "test/news/bleu": 70.0,
        "failures/right": 100.0, "failures/wrong": 0.0, "failures/unknown": 0.0,
        "failures/short": 0.0, "failures/long": 0.0,
    }  # fmt: skip
    logged = {key: values[key] for values in run.logged for key in values}
    curve = [values for values in run.logged if "bleu_by_length/bleu" in values]
    assert [tuple(point.values()) for point in curve] == [(10, 61.5123, 2), (21, 5.0, 1)]
    assert logged["predictions"].data == [
        [0, 2, "a b", "a b", "a b", 100.0, logged["predictions"].data[0][-1]],
        [1, 3, "a b c", "a b c", "a b c", 100.0, logged["predictions"].data[1][-1]],
    ]
    picture = logged["predictions"].data[1][-1].image
    assert picture.size == (18, 18)
    assert [picture.getpixel((6 * column, 0)) for column in range(3)] == [0, 255, 255]
    assert logged["attention/test"]._caption == "sentence 1: a b c → a b c"
    assert logged["attention/test"].format == "png"
    assert logged["warnings"].data == [["a leak"], ["1 of 2 translations are empty: “”"]]


def test_the_corpus_is_summed_up():
    # Lines of 2, 5 and 30 words; 2 of 40 tokens are unknown.
    run = run_of_test([None, None], Data(**corpus("a" * 12)))
    found = {name: value for name, value in run.summary.items() if name.startswith("data/")}
    assert found["data/leaked"] == 1
    assert found["data/padding/source"] == 0.25
    assert found["data/test/unknown/target"] == 2 / 40
    assert found["data/train/mean_words/source"] == pytest.approx(37 / 3)
    assert found["data/train/pairs"] == 60_000


def test_a_model_without_attention_logs_no_heat_map():
    run = run_of_test([None, None])
    assert not any("attention/test" in values for values in run.logged)
    [table] = [values["predictions"] for values in run.logged if "predictions" in values]
    assert "attention" not in table.columns
    assert run.summary["test/bleu"] == 60.5


def test_a_picture_that_cannot_be_drawn_ends_the_tracking_only(monkeypatch, caplog):
    monkeypatch.setattr(heat_map, "attention_map", lambda _: fail())
    run = run_of_test([np.eye(2), np.eye(3)])
    assert "W&B stopped" in caplog.text
    assert run.summary["test/bleu"] == 60.5


def test_the_same_picture_is_logged_once():
    run, tracker = tracked()
    sentence = SentenceAttention(id=1, source_words=["a"], target_words=["b"], weights=[[1.0]])
    other = sentence.model_copy(update={"weights": [[0.5]]})
    for step, each in enumerate((sentence, sentence, other)):
        tracker.log_attention("attention/validation", each, step)
    assert [values["trainer/global_step"] for values in run.logged] == [0, 2]


def test_an_id_begins_with_the_name():
    assert re.fullmatch(r"luong-dot-2-[0-9a-f]{8}", new_id("luong/dot 2"))
    assert re.fullmatch(r"[0-9a-f]{8}", new_id("日本"))
    assert len(new_id("a" * 200)) == 49


def test_the_comparison_of_a_training_is_the_folder_of_its_multirun(tmp_path):
    job = tmp_path / "quickstart-1a2b3c4d" / "studies" / "luong" / "trials" / "0001"
    job.mkdir(parents=True)
    assert comparison_of(job) is None
    (tmp_path / "quickstart-1a2b3c4d" / MULTIRUN).touch()
    assert comparison_of(job) == "quickstart-1a2b3c4d"


def test_a_resumed_training_goes_on_in_the_same_run(tmp_path, monkeypatch):
    """A training from the start, which clears the folder first, gets a run of its own."""
    for name in ("DATA", "CACHE"):
        monkeypatch.setenv(f"WANDB_{name}_DIR", str(tmp_path / name))
    folder, ids = tmp_path / "run", []
    for fresh in (True, False, True):
        if fresh:
            remove_earlier(folder)
        tracker = logger_in(tmp_path, folder)
        tracker.close()
        assert (folder / TRACKER_ID).read_text() == f"{tracker.version}\n"
        ids.append(tracker.version)
    assert ids[0] == ids[1] != ids[2]
