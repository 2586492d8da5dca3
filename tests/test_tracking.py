"""W&B: its mode is chosen at once, without a prompt; the test is logged with all its scores."""

import socket

import numpy as np
import pytest
import wandb
from pytorch_lightning.loggers import WandbLogger

from lightning_modules import tracking
from lightning_modules.metrics.curves import CurvePoint
from lightning_modules.metrics.lengths import Bounds
from lightning_modules.metrics.resampling import Interval
from lightning_modules.metrics.scopes import Estimate
from lightning_modules.scoring import TestScores
from lightning_modules.testing import Tested


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    for name in ("WANDB_MODE", "WANDB_API_KEY", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)


def logged_in(monkeypatch, answer):
    def login(**arguments):
        assert arguments == {"prompt": False, "verify": False}
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(wandb, "login", login)


def test_a_wish_is_followed(monkeypatch):
    logged_in(monkeypatch, AssertionError("login was asked for"))
    assert tracking.choose_mode("offline")[0] == "offline"
    assert tracking.choose_mode("disabled")[0] == "disabled"
    monkeypatch.setenv("WANDB_MODE", "disabled")
    assert tracking.choose_mode("auto") == ("disabled", "WANDB_MODE")


def test_offline_without_a_login(monkeypatch):
    logged_in(monkeypatch, False)
    assert tracking.choose_mode("auto") == ("offline", "not logged in")


def test_offline_with_a_malformed_key(monkeypatch):
    logged_in(monkeypatch, wandb.errors.AuthenticationError("API key must have\n40+ characters"))
    assert tracking.choose_mode("auto") == ("offline", "API key must have 40+ characters")


def test_offline_with_a_key_but_no_network(monkeypatch):
    logged_in(monkeypatch, True)

    def refuse(address, timeout):
        assert timeout <= 2
        raise OSError("no route")

    monkeypatch.setattr(socket, "create_connection", refuse)
    mode, reason = tracking.choose_mode("auto")
    assert mode == "offline"
    assert "cannot be reached: no route" in reason


def test_online_with_a_key_and_a_network(monkeypatch):
    logged_in(monkeypatch, True)
    ours, theirs = socket.socketpair()
    monkeypatch.setattr(socket, "create_connection", lambda *_: ours)
    assert tracking.choose_mode("auto")[0] == "online"
    theirs.close()


def test_a_proxy_is_trusted_to_reach_it(monkeypatch):
    logged_in(monkeypatch, True)
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setattr(socket, "create_connection", lambda *_: pytest.fail("probed"))
    assert tracking.choose_mode("auto")[0] == "online"


class Recorder(WandbLogger):
    """Keeps what a run is told."""

    def __init__(self):
        self.summary, self.logged = {}, []

    @property
    def experiment(self):
        return self

    def log(self, values):
        self.logged.append(values)


def outcome(attention):
    """Two sentences, of which the second is the longer one."""
    lines = [
        {"id": n, "source": s, "reference": s, "hypothesis": s, "score": 100.0}
        for n, s in enumerate(("a b", "a b c"))
    ]
    curve = [
        CurvePoint("luong", 1, Bounds(1, 10), 2, {"bleu": 61.5}, Interval(50, 70)),
        CurvePoint("luong", 1, Bounds(11, 20), 0, {}, None),
        CurvePoint("luong", 1, Bounds(21, None), 1, {"bleu": 5.0}, None),
    ]
    scores = {"bleu": Estimate(60.5, 50, 70), "aer": Estimate(12.0)}
    return Tested(7, TestScores(scores, "signature", curve, {}, lines, attention), 1.0)


def test_scores_curve_translations_and_a_heat_map_are_logged():
    run = Recorder()
    tracking.log_test(run, outcome([np.eye(2), np.eye(3)]))
    assert run.summary == {
        "test/bleu": 60.5, "test/aer": 12.0, "bleu_at/001": 61.5, "bleu_at/021": 5.0,
    }  # fmt: skip
    logged = {key: values[key] for values in run.logged for key in values}
    curve = [values for values in run.logged if "bleu_by_length/bleu" in values]
    assert [tuple(point.values()) for point in curve] == [(10, 61.5, 2), (21, 5.0, 1)]
    assert logged["predictions"].data == [
        [0, "a b", "a b", "a b", 100.0],
        [1, "a b c", "a b c", "a b c", 100.0],
    ]
    assert logged["attention"].format == "png"


def test_a_model_without_attention_logs_no_heat_map():
    run = Recorder()
    tracking.log_test(run, outcome([None, None]))
    assert not any("attention" in values for values in run.logged)
    assert run.summary["test/bleu"] == 60.5


def test_without_wandb_nothing_is_logged():
    tracking.log_test(None, outcome([None, None]))
