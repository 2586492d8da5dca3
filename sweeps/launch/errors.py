"""Errors as the user meets them: one line that names the mistake and the remedy."""

import errno
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from hydra.errors import HydraException
from omegaconf.errors import InterpolationResolutionError, OmegaConfBaseException

from datamodules.errors import TerminatedError, UserError
from lightning_modules.runs.redaction import redacted

CONF = Path(__file__).parents[2] / "conf"

PLACE_ERRORS = {
    errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR,
    errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG,
}  # fmt: skip
"""Errors of a folder or a disk, which a user can mend; other ``OSError`` are defects."""


def run_main(main: Callable[[], object]) -> None:
    """Run the program; end it with one line for a mistake of the user and for Ctrl-C.

    Statuses: 2 for a mistake, 130 for Ctrl-C, 143 for SIGTERM. A defect keeps its traceback.
    """
    # Hydra would print a shortened traceback and stop; with this variable set, Hydra's errors reach
    # ``run_main``.
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")
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
        stop(f"error: {mistake}", 2)


@contextmanager
def exit_on_error() -> Iterator[None]:
    """End the program on an error of the block, with the statuses of ``run_main``.

    For callbacks of Hydra, whose exceptions become warnings: ``SystemExit`` is the only way out.
    """
    try:
        yield
    except Exception as error:
        mistake = as_user_error(error)
        if mistake is None:
            traceback.print_exc()
            raise SystemExit(1) from None
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
    if isinstance(error, HydraException | OmegaConfBaseException):
        message = str(error).partition("Config search path")[0]
        return UserError(" ".join(message.split()))
    if isinstance(error, ValueError) and str(error).startswith("Config group override"):
        return UserError(_unknown_choice(sys.argv[1:]))
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
