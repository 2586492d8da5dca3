"""Whether W&B can be talked to: found out within seconds, and without a prompt."""

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
from pydantic import ValidationError

from datamodules.errors import first_mistake

Mode = Literal["auto", "online", "offline", "disabled"]
PROBE_SECONDS = 2.0
Answer = TypeVar("Answer")


def choose_mode(requested: Mode) -> tuple[str, str]:
    """Return W&B's mode and why. Asks nothing, and waits at most ``PROBE_SECONDS``."""
    if requested != "auto":
        return requested, "logger.mode"
    if os.environ.get("WANDB_MODE"):
        return os.environ["WANDB_MODE"], "WANDB_MODE"
    try:
        if not wandb.login(prompt=False, verify=False):
            return "offline", "not logged in"
    except Exception as error:  # a malformed key, an unreadable settings file…
        return "offline", in_a_line(error)
    problem = unreachable(wandb.setup().settings.base_url)
    return ("online", "logged in") if problem is None else ("offline", problem)


def unreachable(server: str, seconds: float = PROBE_SECONDS) -> str | None:
    """Ask a server for anything, through a proxy where one is set; return what is wrong, if any."""
    try:
        return within(seconds, lambda: _failure(server, seconds))
    except TimeoutError as error:
        return f"{server}: {error}"


def _failure(server: str, seconds: float) -> str | None:
    try:
        build_opener().open(f"{server.rstrip('/')}/healthz", timeout=seconds).close()
    except HTTPError as error:  # a page that is not there is an answer as well
        return f"{server} answers {error.code}" if error.code >= 500 else None
    except URLError as error:
        # W&B has certificates of its own.
        unknown = isinstance(error.reason, ssl.SSLCertVerificationError)
        return None if unknown else f"{server} cannot be reached: {error.reason}"
    except OSError as error:
        return f"{server} cannot be reached: {error}"
    return None


def within(seconds: float, call: Callable[[], Answer]) -> Answer:
    """Return what ``call`` returns, in a thread: the look-up of a name knows no time limit.

    Raises ``TimeoutError`` when it takes longer; the thread is then left to itself.
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
    """Return what sends a run to W&B later, whatever folder it is typed in."""
    server = os.environ.get("WANDB_BASE_URL", "")
    # An address with a password is not for the terminal.
    where = f"WANDB_BASE_URL={shlex.quote(server)} " if server and "@" not in server else ""
    program = "wandb" if shutil.which("wandb") else f"{shlex.quote(sys.executable)} -m wandb"
    # W&B takes a run that began online for one that has arrived.
    begun_online = "" if run_folder.name.startswith("offline-") else " --include-online"
    return f"{where}{program} sync{begun_online} {shlex.quote(str(run_folder.absolute()))}"


def in_a_line(error: Exception) -> str:
    """Return the message without line breaks, or the kind of error if it has none."""
    if isinstance(error, ValidationError):  # a variable WANDB_… with a value that W&B refuses
        return first_mistake(error)
    return " ".join(str(error).split()) or type(error).__name__
