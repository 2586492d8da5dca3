"""W&B's mode is chosen at once, without a prompt."""

import socket

import pytest
import wandb

from lightning_modules import tracking


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
