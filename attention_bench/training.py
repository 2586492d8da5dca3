"""Training from Python: the command line in a process of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from attention_bench.run import Run, load
from datamodules.errors import UserError
from lightning_modules.runs.settings import key_of
from sweeps.launch.compose import command_config, use_hydra_config

NOT_ONE_RUN = ("task", "comparison", "sweep", "claims")
"""Overrides with which a command is no single training."""
MISTAKE = 2
"""Status of a command whose settings cannot be used, see ``sweeps.launch.errors``."""


def train(*overrides: str, log: bool = True) -> Run:
    """Train and test one system, and return the run.

    The command ``attention-bench OVERRIDES`` does so in a process of its own: with its threads and
    memory, and with ranks if ``trainer`` asks for some. A run that exists already is not trained
    again; an interrupted one (Ctrl-C, or the notebook's stop button) continues with the next call.
    With ``log`` the lines of the command are printed.

    Raises ``UserError`` for settings that cannot be used, ``RuntimeError`` if the training fails.
    """
    for override in overrides:
        check_override(override)
    status, last = run_command(overrides, log)
    if status == MISTAKE:
        raise UserError(last.removeprefix("error: "))
    if status:
        raise RuntimeError(f"the training ended with status {status}: {last}")
    return load(folder_of(overrides))


def check_override(override: str) -> None:
    """Raise ``UserError`` for what is no setting of one training."""
    if override.startswith("-") or "=" not in override.lstrip("~"):
        raise UserError(
            f"{override}: give overrides KEY=VALUE; a folder of your own files is "
            "hydra.searchpath=[file:///DIR]"
        )
    if key_of(override) in NOT_ONE_RUN:
        raise UserError(
            f"{override}: train() trains one system; run the command, then give its folder to "
            "compare()"
        )


def run_command(overrides: Sequence[str], log: bool) -> tuple[int, str]:
    """Run the command line; return its status and its last line."""
    # The modules of this process, such as own scores, can be imported there too.
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-P", "-m", "attention_bench", *overrides]
    last = ""
    with subprocess.Popen(
        command,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,  # Ctrl-C comes from this process alone
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                last = line.strip() or last
                if log:
                    print(line, end="")
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)  # on which a training saves a checkpoint
            process.communicate()
            raise
    return process.returncode, last


def folder_of(overrides: Sequence[str]) -> Path:
    """Return the folder of the run that a command with these overrides has made."""
    config = command_config([*overrides, "force=false"])  # with force=true it is the latest folder
    with use_hydra_config(config):
        return Path(config.hydra.run.dir)
