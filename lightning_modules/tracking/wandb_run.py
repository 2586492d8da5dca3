"""A run of W&B that starts within seconds, and whose failures stop nothing."""

import logging
import os
import re
import shlex
import shutil
import ssl
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from secrets import token_hex
from threading import Thread
from typing import Any, Literal, TypeVar
from urllib.error import HTTPError, URLError
from urllib.request import build_opener

import wandb
from typing_extensions import override

from datamodules.errors import UserError, one_line
from lightning_modules.runs.files import read_tracker_id, write_tracker_id
from lightning_modules.runs.provenance import git_commit
from lightning_modules.runs.redaction import Redacting, redacted
from lightning_modules.tracking.names import UPLOADED, define_metrics

log = logging.getLogger(__name__)

Mode = Literal["auto", "online", "offline", "disabled"]
Answer = TypeVar("Answer")
PROBE_SECONDS = 2.0
INIT_SECONDS = {"auto": 3.0, "online": 20.0}
"""Time limit for the server to accept a run; longer if the user asks for ``online``."""
LOCAL_SECONDS = 60.0  # time limit without a server; only a busy machine needs so long
LONGEST_NAME = 40  # most characters of a run's name in its id


class FailsafeRun:
    """A W&B run whose failures end the tracking and nothing else.

    Every call goes through ``send``. The first failure prints one line; earlier records stay in the
    folder of W&B, and later calls do nothing. The run gets the lines that the program logs, without
    passwords, until ``close``. ``conf/logger/wandb.yaml`` explains the arguments. The ``folder`` of
    the training or comparison keeps the run's id: a later command there continues the run, or with
    ``replace`` replaces it. Raises ``UserError`` if no run can be started in the ``mode``.
    """

    def __init__(
        self,
        project: str,
        name: str,
        group: str,
        job_type: str,
        tags: Sequence[str],
        save_dir: str,
        folder: str,
        mode: Mode,
        finish_seconds: float,
        replace: bool = False,
    ) -> None:
        labels = {"project": project, "name": name, "group": group, "tags": list(tags)}
        self.run = _start_run(
            Path(save_dir),
            Path(folder),
            mode,
            finish_seconds,
            replace,
            job_type=job_type,
            **redacted(labels),
        )
        self._failed = False
        self._console = _ConsoleLog(lambda line: self.send(lambda run: run.write_logs(line)))
        logging.getLogger().addHandler(self._console)
        self.send(define_metrics)

    @property
    def recording(self) -> bool:
        """Whether anything is recorded."""
        return not (self._failed or self.run.disabled)

    @property
    def online(self) -> bool:
        """Whether records reach a server."""
        return self.recording and not self.run.offline

    def send(
        self,
        call: Callable[[wandb.Run], Answer],
        seconds: float | None = None,
        even_failed: bool = False,
    ) -> Answer | None:
        """Return what a function makes of the run; None after a failure.

        ``seconds`` limit a call that may ask the server.
        """
        if self._failed and not even_failed:
            return None
        try:
            whole = partial(call, self.run)
            return whole() if seconds is None else call_with_timeout(seconds, whole)
        except Exception as error:
            known, self._failed = self._failed, True  # first: the run gets the warning, too
            if not known:
                command = sync_command(Path(self.run.dir).parent)
                log.warning("W&B stopped (%s); later: %s", one_line(error), command)
            return None

    def label(self, tags: Sequence[str], notes: str | None) -> None:
        """Add tags, and replace the note."""

        def set_labels(run: wandb.Run) -> None:
            run.tags = tuple(dict.fromkeys([*(run.tags or ()), *tags]))
            run.notes = notes or ""

        self.send(set_labels)

    def log_scores(self, scores: Mapping[str, float | str]) -> None:
        """Log the numbers and words that sum up the run."""
        self.send(lambda run: run.summary.update(dict(scores)))

    def close(self, error: BaseException | None = None) -> None:
        """End the run, as failed after an ``error``, so that the process can start another one.

        Where a server is reached, it alerts the user of an error, but not of an interruption.
        """
        if isinstance(error, Exception) and self.online:
            text = str(redacted(one_line(error)))
            self.send(lambda run: run.alert(f"{run.name} failed", text, level="ERROR"))
        logging.getLogger().removeHandler(self._console)
        self.send(lambda run: run.finish(exit_code=int(error is not None)), even_failed=True)


class _ConsoleLog(logging.Handler):
    """Gives every line that the program logs to ``write``, without passwords.

    W&B's own capture of the console would keep passwords, and each state of a progress bar.
    """

    def __init__(self, write: Callable[[str], object]) -> None:
        super().__init__()
        self.write = write
        self.setFormatter(Redacting("%(message)s"))

    @override
    def emit(self, record: logging.LogRecord) -> None:
        self.write(self.format(record))


def _start_run(
    save_dir: Path, folder: Path, mode: Mode, finish_seconds: float, replace: bool, **labels: Any
) -> wandb.Run:
    """Start or resume a run, also beside other runs of the process, and log its address."""
    try:
        save_dir.mkdir(parents=True, exist_ok=True)
        for variable, name in (("WANDB_DATA_DIR", "data"), ("WANDB_CACHE_DIR", "cache")):
            os.environ.setdefault(variable, str(save_dir.absolute() / "wandb" / name))
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
        wandb.setup(settings=wandb.Settings(silent=True))
        known = read_tracker_id(folder)
        start: Any = partial(
            wandb.init,
            dir=save_dir,
            id=known or new_id(labels["name"]),
            resume="allow" if known and not replace else None,  # else W&B writes a known run anew
            reinit="create_new",
            **labels,
        )
        local = _settings(LOCAL_SECONDS, finish_seconds)
        chosen, reason = choose_mode(mode)
        online = chosen == "online"
        settings = _settings(INIT_SECONDS[mode], finish_seconds) if online else local
        try:
            run = start(mode=chosen, settings=settings)
        except Exception as error:
            if mode != "auto" or chosen == "offline":
                raise
            chosen, reason = "offline", one_line(error)
            run = start(mode=chosen, settings=local)
        write_tracker_id(folder, str(run.id))
    except Exception as error:
        raise UserError(
            f"W&B does not start ({one_line(error)}); give logger.mode=offline or logger=none"
        ) from None
    if chosen == "online":
        log.info("W&B online: %s", run.url)
        log.info("W&B gets %s; logger=none: nothing", UPLOADED)
    elif chosen == "offline":
        log.info("W&B offline (%s); later: %s", reason, sync_command(Path(run.dir).parent))
    return run


def _settings(init_seconds: float, finish_seconds: float) -> wandb.Settings:
    return wandb.Settings(
        silent=True,
        console="off",
        init_timeout=init_seconds,
        finish_timeout=finish_seconds,
        finish_timeout_raises=True,
        # What W&B itself notes of command line and repository may hold a password.
        x_disable_meta=True,
        disable_git=True,
        disable_code=True,
        x_save_requirements=False,
        git_commit=(git_commit() or "").partition("+")[0] or None,
    )


def new_id(name: str) -> str:
    """Return a new id that begins with the name, because ``wandb leet`` lists runs by their ids."""
    plain = re.sub(r"[^A-Za-z0-9_.]+", "-", name)[:LONGEST_NAME].strip("-.")
    return "-".join(filter(None, [plain, token_hex(4)]))


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
    problem = _problem_of(wandb.setup().settings.base_url)
    return ("online", "logged in") if problem is None else ("offline", problem)


def _problem_of(server: str) -> str | None:
    """Return why a server cannot take a run; None if it answers.

    Without this probe, a server that accepts connections and says nothing would keep the process
    for 20 seconds at its end, after ``wandb.init`` has given up.
    """
    ask = partial(build_opener().open, f"{server.rstrip('/')}/healthz", timeout=PROBE_SECONDS)
    try:
        call_with_timeout(PROBE_SECONDS, lambda: ask().close())
    except HTTPError as error:  # a missing page is an answer as well
        return f"{server} answers {error.code}" if error.code >= 500 else None
    except OSError as error:
        reason = error.reason if isinstance(error, URLError) else error
        if isinstance(reason, ssl.SSLCertVerificationError):  # W&B's client has other certificates
            return None
        return f"{server} cannot be reached: {reason}"
    return None


def call_with_timeout(seconds: float, call: Callable[[], Answer]) -> Answer:
    """Return the result of ``call``, made in a thread: a DNS look-up has no time limit.

    Raises ``TimeoutError`` when ``call`` takes longer; the thread then continues alone.
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
