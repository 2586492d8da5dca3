"""Errors as the user meets them: one line that says what is wrong and what to do."""

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from hydra.errors import HydraException
from omegaconf.errors import InterpolationResolutionError, OmegaConfBaseException

from datamodules.errors import TerminatedError, UserError
from lightning_modules.redaction import redacted

CONF = Path(__file__).parent.parent / "conf"

OF_A_PLACE = {
    errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR,
    errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG,
}  # fmt: skip
"""What a folder or a disk can do to a run; other ``OSError`` are defects."""


def in_a_line(main: Callable[[], object]) -> None:
    """Run the program; end it with one line for a mistake of the user and for Ctrl-C.

    Statuses: 2 for a mistake, 130 for Ctrl-C, 143 for SIGTERM. A defect keeps its traceback.
    """
    # Hydra would print a shortened traceback and stop; this way its errors come through.
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")
    try:
        main()
        sys.stdout.flush()
    except TerminatedError:
        stop("terminated", 143)
    except KeyboardInterrupt:
        stop("interrupted", 130)
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except Exception as error:
        mistake = as_user_error(error)
        if mistake is None:
            raise
        stop(f"error: {mistake}", 2)


def as_user_error(error: Exception) -> UserError | None:
    """Return the error as one line for the user, or None if it is a defect of the harness."""
    if isinstance(error, UserError):
        return error
    if isinstance(error, InterpolationResolutionError) and error.__context__ is not None:
        return as_user_error(error.__context__)  # type: ignore[arg-type]  # a resolver's own
    if isinstance(error, OSError) and error.errno in OF_A_PLACE:
        place = error.filename or "the disk"
        return UserError(
            f"{place}: {error.strerror}; make room or write elsewhere (outputs=DIR, cache_dir=DIR, "
            "output=FILE)"
        )
    if isinstance(error, HydraException | OmegaConfBaseException):
        told = str(error).partition("Config search path")[0]
        return UserError(" ".join(told.split()))
    if isinstance(error, ValueError) and str(error).startswith("Config group override"):
        return UserError(_without_a_file(sys.argv[1:]))
    return None


def _without_a_file(arguments: list[str]) -> str:
    """Tell which override gives a group no file, as ``model=null`` does; Hydra does not say."""
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
