"""Errors as the user meets them: one line that names the mistake and the remedy."""

import errno
import os
import re
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from io import TextIOWrapper
from typing import NoReturn

from hydra.errors import HydraException, OverrideParseException
from omegaconf.errors import InterpolationResolutionError, OmegaConfBaseException

from datamodules.errors import TerminatedError, UserError
from lightning_modules.runs.paths import CONF
from lightning_modules.runs.redaction import redacted

PLACE_ERRORS = {
    errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR,
    errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP, errno.EIO, errno.ESTALE,
}  # fmt: skip
"""Errors of a folder or a disk, which a user can mend; other ``OSError`` are defects."""
NO_MEMORY = re.compile(r"can't allocate memory: you tried to allocate (?P<bytes>\d+) bytes")
"""Torch's error for a tensor of the CPU."""
NOT_THERE = re.compile(r"Could not override '(?P<key>[^'@]+)'")
"""Hydra's error for an override of a key that the chosen files lack."""


def run_main(main: Callable[[], object]) -> None:
    """Run the program; end it with one line for a mistake of the user and for Ctrl-C.

    Statuses: 2 for a mistake, 130 for Ctrl-C, 143 for SIGTERM. A defect keeps its traceback.
    """
    # Else Hydra would print its own form of an error and stop.
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a letter shows a ?
    # argparse would print its usage, and the values of overrides with their passwords.
    ArgumentParser.error = _argument_error  # type: ignore[assignment,method-assign]
    try:
        main()
        sys.stdout.flush()
    except TerminatedError:
        stop("terminated", 143)
    except KeyboardInterrupt:
        stop("interrupted", 130)
    except BrokenPipeError:  # the reader of our output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except Exception as error:
        mistake = as_user_error(error)
        if mistake is None:
            raise
        from sweeps.launch.folders import remove_traces  # --help needs none

        remove_traces()
        stop(f"error: {mistake}", 2)


def as_user_error(error: Exception) -> UserError | None:
    """Return the error as one line for the user, or None if it is a defect of the harness."""
    if isinstance(error, UserError):
        return error
    if isinstance(error, InterpolationResolutionError) and error.__context__ is not None:
        return as_user_error(error.__context__)  # type: ignore[arg-type]  # raised by a resolver
    if isinstance(error, OSError) and error.errno in PLACE_ERRORS:
        place = error.filename or "the disk"
        return UserError(
            f"{place}: {error.strerror}; make room or write elsewhere (outputs=DIR, cache_dir=DIR, "
            "output=FILE)"
        )
    if isinstance(error, ValueError) and isinstance(error.__cause__, OSError):  # of logging
        return as_user_error(error.__cause__)
    if (asked := _memory_asked(error)) is not None:
        return UserError(
            f"out of memory{asked}: give a smaller model (scale=0.5), smaller batches "
            "(batching.max_tokens=, batching.decode_max_tokens=) or fewer jobs side by side"
        )
    if isinstance(error, OverrideParseException):
        return UserError(_unread_override(error.override))
    if isinstance(error, HydraException | OmegaConfBaseException):
        message = str(error).partition("Config search path")[0]
        if unknown := NOT_THERE.match(message):
            from lightning_modules.runs.setting_checks import unknown_key  # --help needs none

            key = getattr(error.__cause__, "full_key", None)  # also inside a given mapping
            return UserError(unknown_key(key or unknown["key"]))
        return UserError(" ".join(message.split()))
    if type(error).__name__ == "MisconfigurationException":  # Lightning's, which takes seconds
        return UserError(" ".join(str(error).split()))
    if isinstance(error, ValueError) and str(error).startswith("Config group override"):
        return UserError(_unknown_choice(sys.argv[1:]))
    return None


def _argument_error(_parser: ArgumentParser, message: str) -> NoReturn:
    stop(f"error: {message}; give -m before all overrides; python run.py --help lists choices", 2)


def _unread_override(override: str) -> str:
    key, equals, _ = override.partition("=")
    if not equals:
        return f"{override}: not an override; write KEY=VALUE"
    if key.partition(".")[0] == "systems":
        return (
            f"{override}: Hydra cannot read this; a name on the command line has letters a to z, "
            "digits, _ and -; for other names write a line NAME: FILE for each system into a file "
            "NAMES.yaml, and give systems=NAMES.yaml"
        )
    return (
        f"{override}: Hydra cannot read this value; write a value with quotes, commas, brackets or "
        f"= as '{key}=\"VALUE\"', with both kinds of quotes"
    )


def _memory_asked(error: BaseException | None) -> str | None:
    """Return how much memory was asked for and refused, in words; None for another error."""
    while error is not None:
        if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
            return ""
        if refused := NO_MEMORY.search(str(error)):
            return f" ({int(refused['bytes']) / 2**30:,.1f} GiB)"
        error = error.__cause__ or error.__context__
    return None


def _unknown_choice(arguments: list[str]) -> str:
    """Name the override that gives a group no file, such as ``model=null``; Hydra names none."""
    for argument in arguments:
        group, _, names = argument.partition("=")
        files = sorted(file.stem for file in (CONF / group).glob("*.yaml")) if names else []
        if files and not set(names.split(",")) <= set(files):
            return f"{argument}: give one of {', '.join(files)}"
    return "a group of settings has no name of a file; python run.py --help lists the choices"


def stop(line: str, status: int) -> NoReturn:
    """Print the line to standard error and end the program."""
    print(redacted(line), file=sys.stderr)
    raise SystemExit(status) from None
