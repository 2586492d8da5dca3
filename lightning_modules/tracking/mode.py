"""Choose W&B's mode by a probe of the server, within seconds and without a prompt."""

import os
import shlex
import shutil
import ssl
import sys
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import Literal, TypeVar
from urllib.error import HTTPError, URLError
from urllib.request import build_opener

import wandb

from datamodules.errors import one_line

Mode = Literal["auto", "online", "offline", "disabled"]
PROBE_SECONDS = 2.0
Answer = TypeVar("Answer")


def choose_mode(requested: Mode) -> tuple[str, str]:
    """Return W&B's mode and the reason, without a prompt, within ``PROBE_SECONDS``."""
    if requested != "auto":
        return requested, "logger.mode"
    if os.environ.get("WANDB_MODE"):
        return os.environ["WANDB_MODE"], "WANDB_MODE"
    try:
        if not wandb.login(prompt=False, verify=False):
            return "offline", "not logged in"
    except Exception as error:  # a malformed key, an unreadable settings file…
        return "offline", one_line(error)
    problem = unreachable(wandb.setup().settings.base_url)
    return ("online", "logged in") if problem is None else ("offline", problem)


def unreachable(server: str, seconds: float = PROBE_SECONDS) -> str | None:
    """Probe a server, through the proxy if a proxy is set; return the problem, or None."""
    try:
        return call_with_timeout(seconds, lambda: _failure(server, seconds))
    except TimeoutError as error:
        return f"{server}: {error}"


def _failure(server: str, seconds: float) -> str | None:
    try:
        build_opener().open(f"{server.rstrip('/')}/healthz", timeout=seconds).close()
    except HTTPError as error:  # a missing page is an answer as well
        return f"{server} answers {error.code}" if error.code >= 500 else None
    except URLError as error:
        # W&B's client has other certificates than Python.
        unknown = isinstance(error.reason, ssl.SSLCertVerificationError)
        return None if unknown else f"{server} cannot be reached: {error.reason}"
    except OSError as error:
        return f"{server} cannot be reached: {error}"
    return None


def call_with_timeout(seconds: float, call: Callable[[], Answer]) -> Answer:
    """Return the result of ``call``, made in a thread: a DNS look-up has no time limit.

    Raises ``TimeoutError`` when ``call`` takes longer; the thread then goes on alone.
    """
    answer: Future[Answer] = Future()

    def work() -> None:
        try:
            answer.set_result(call())
        except Exception as error:
            answer.set_exception(error)

    Thread(target=work, daemon=True).start()
    try:
        return answer.result(seconds)
    except TimeoutError:
        raise TimeoutError(f"no answer within {seconds:g} seconds") from None


def sync_command(run_folder: Path) -> str:
    """Return the command that sends a run to W&B later, from any working folder."""
    server = os.environ.get("WANDB_BASE_URL", "")
    # Never print an address with a password.
    where = f"WANDB_BASE_URL={shlex.quote(server)} " if server and "@" not in server else ""
    program = "wandb" if shutil.which("wandb") else f"{shlex.quote(sys.executable)} -m wandb"
    # By default W&B does not send a run that began online.
    begun_online = "" if run_folder.name.startswith("offline-") else " --include-online"
    return f"{where}{program} sync{begun_online} {shlex.quote(str(run_folder.absolute()))}"
