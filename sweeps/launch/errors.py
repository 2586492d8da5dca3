"""Errors as the user meets them: one line that names the mistake and the remedy."""

import errno
import os
import re
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from io import TextIOWrapper
from traceback import walk_tb
from typing import Any, NoReturn, cast

from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import OmegaConf
from omegaconf.errors import InterpolationResolutionError, OmegaConfBaseException

from datamodules.errors import TerminatedError, UserError
from datamodules.plugs import HARNESS
from lightning_modules.runs.job import command
from lightning_modules.runs.paths import CONF
from lightning_modules.runs.redaction import redacted

PLACE_ERRORS = {
    errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR,
    errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP, errno.EIO, errno.ESTALE,
}  # fmt: skip
"""Errors of a folder or a disk, which a user can mend; other ``OSError`` are defects."""
NO_MEMORY = re.compile(r"can't allocate memory: you tried to allocate (?P<bytes>\d+) bytes")
"""Torch's error for a tensor of the CPU."""
NOT_THERE = re.compile(r"Could not (override|delete from config\.) '(?P<key>[^'@]+)'")
"""Hydra's errors for an override of a key that the chosen files lack."""
REMEDIES = {
    r"Could not append to config\. An item is already at '(?P<key>[^']+)'": "+{key}: there is one; "
    "leave out the +",
    r"Multiple values for (?P<key>[^ .]+)\. To override": "+{key}: there is one; leave out the +",
    r"(?P<key>[^ ]+) appears more than once in the final": "+{key}: there is one; leave out the +",
    r"force-add of config groups is not supported: '(?P<given>.*)'": "{given}: leave out the ++",
    r"Ambiguous value for argument '(?P<given>(?P<key>[^=]+)=(?P<values>.*?))' 1\. To": "{given}: "
    "for a job with each value, give -m; for one list, {key}=[{values}]",
    r"Sweep parameters '(?P<given>.*)' requires --multirun": "{given}: for a job with each value, "
    "give -m",
    r"Error merging override (?P<key>[^=]+)=(?P<value>.*)": "{key}={value}: {key} has settings of "
    "its own, which task=settings find={key} lists; give {key}.NAME=VALUE",
    r"In '(?P<group>[^'/]+)/(?P<name>[^']+)': Could not override '[^'@]+@": "{group}={name}: its "
    "file must begin with # @package _global_",
    r"Only one of --run, --multirun": "give one of -m, --cfg, --info and --shell-completion; --cfg "
    "job shows a single job, so give a single value for each key",
}
"""Hydra's errors as patterns, each with the line for the user."""


MOST_NEAR = 3
"""Files of a group that one suggestion names at most."""


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
    if isinstance(error, InterpolationResolutionError):
        return _failed_interpolation(error)
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
            f"(batching.max_tokens=, batching.decode_max_tokens=){_without_graphs()} or fewer jobs "
            "side by side"
        )
    if isinstance(error, OverrideParseException):
        return UserError(_unread_override(error.override))
    if isinstance(error, HydraException | OmegaConfBaseException):
        return UserError(_of_composition(error))
    if type(error).__name__ == "MisconfigurationException":  # Lightning's, which takes seconds
        return UserError(" ".join(str(error).split()))
    if type(error).__module__ == "submitit.core.utils":
        return UserError(_of_submission(error))
    if _of_command_line(error):
        return UserError(_without_file(sys.argv[1:]) or _remedy(" ".join(str(error).split())))
    return None


def _without_graphs() -> str:
    """Return the advice to do without CUDA graphs, which keep memory, where there are some."""
    choice = sys.modules.get("lightning_modules.kernels.choice")  # which imports torch
    return (
        ", updates without CUDA graphs (capture=false)"
        if choice and choice.kernels_in_use().capture
        else ""
    )


def _failed_interpolation(error: InterpolationResolutionError) -> UserError | None:
    """Return the error of a resolver, with the key; None for a defect of our own resolvers."""
    key, cause = error.full_key, error.__context__
    while isinstance(cause, InterpolationResolutionError):
        key, cause = key or cause.full_key, cause.__context__
    if isinstance(cause, Exception) and (mistake := as_user_error(cause)) is not None:
        return mistake
    if (line := _line_of_key()) is not None:
        return UserError(line)
    if isinstance(cause, Exception) and str(key).startswith("hydra."):
        return None
    return UserError(f"{key}: {_first_line(error)}" if key else _first_line(error))


def _line_of_key() -> str | None:
    """Return the error of the first setting of this job that cannot be resolved, with its key."""
    from lightning_modules.runs.setting_checks import failed_interpolation  # not for --help

    if not HydraConfig.initialized():
        return None
    config = OmegaConf.select(cast(Any, HydraConfig.get()), "..")  # its hidden parent
    return failed_interpolation(config, [key for key in config if key != "hydra"])


def _of_composition(error: Exception) -> str:
    """Return what Hydra or OmegaConf did not accept, with the remedy."""
    from lightning_modules.runs.setting_checks import check_removal, unknown_key  # not for --help

    try:
        for override in sys.argv[1:]:
            check_removal(override, sys.argv[1:])
    except UserError as mistake:
        return str(mistake)
    if isinstance(error, MissingConfigException) and error.options:
        return _unknown_choice(str(error.missing_cfg_file), error.options)
    message = " ".join(str(error).partition("Config search path")[0].split())
    if unknown := NOT_THERE.match(message):
        key, inner = unknown["key"], str(getattr(error.__cause__, "full_key", ""))
        key = inner if inner.startswith(f"{key}.") else key  # inside a given mapping too
        return unknown_key(key) if "/" not in key else _unknown_group(key)
    return _remedy(message)


def _unknown_group(key: str) -> str:
    return (
        f"{key}: no such group of settings, which --help lists; a single value is written with "
        f"dots: {key.replace('/', '.')}=..."
    )


def _remedy(message: str) -> str:
    for pattern, remedy in REMEDIES.items():
        if matched := re.match(pattern, message):
            return remedy.format_map(matched.groupdict())
    return message


def _of_submission(error: Exception) -> str:
    """Return what SLURM refused, or which job it ended."""
    if type(error).__name__ == "FailedJobError":
        refused = " ".join(str(error).split())
        return f"{refused}; correct hydra.launcher.KEY=VALUE, such as hydra.launcher.partition=NAME"
    return f"{_first_line(error)}; the same command continues it"


def _of_command_line(error: Exception) -> bool:
    """Return whether Hydra raised the error before it called anything of the harness."""
    modules = [str(frame.f_globals.get("__name__")) for frame, _ in walk_tb(error.__traceback__)]
    ours = [each for each in modules if each.partition(".")[0] in HARNESS and each != __name__]
    return not ours and any(each.startswith("hydra.") for each in modules)


def _argument_error(_parser: ArgumentParser, message: str) -> NoReturn:
    remedy = f"give -m before all overrides; {command('--help')} lists choices"
    stop(f"error: {message}; {remedy}", 2)


def _unread_override(override: str) -> str:
    key, equals, value = override.partition("=")
    if not equals:
        return f"{override}: not an override; write KEY=VALUE, without spaces around ="
    if key.partition(".")[0] == "systems":
        return (
            f"{override}: Hydra cannot read this; a name on the command line has letters a to z, "
            "digits, _ and -; for other names write a line NAME: FILE for each system into a file "
            "NAMES.yaml, and give systems=NAMES.yaml"
        )
    if value.startswith("~"):
        return f"{override}: the shell does not read ~ here; write {key}=$HOME{value[1:]}"
    if value.startswith(("[", "(")):
        return f"{override}: a list is written '{key}=[VALUE,VALUE]', in quotes if it has spaces"
    if value.startswith("{"):
        return f"{override}: a mapping is written '{key}={{NAME: VALUE}}', in quotes"
    return (
        f"{override}: Hydra cannot read this value; write a value with quotes, commas, brackets or "
        f"= as '{key}=\"VALUE\"', with both kinds of quotes"
    )


def _memory_asked(error: BaseException | None) -> str | None:
    """Return how much memory was asked for and refused, in words; None for another error."""
    seen = set[int]()  # an error may be a context of its own cause
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
            return ""
        if refused := NO_MEMORY.search(str(error)):
            return f" ({int(refused['bytes']) / 2**30:,.1f} GiB)"
        error = error.__cause__ or error.__context__
    return None


def _unknown_choice(choice: str, files: Sequence[str]) -> str:
    """Return the error for a file that a group lacks, such as ``model/bahdanua``."""
    group, _, name = choice.rpartition("/")
    files = [file for file in files if not file.startswith("_")]  # that is the record of a run
    near = get_close_matches(name, files, MOST_NEAR) or [file for file in files if name in file]
    if name and near:
        meant = " or ".join(f"{group}={file}" for file in near[:MOST_NEAR])
        return f"{group}={name}: no such choice; did you mean {meant}?"
    return f"{group}={name}: no such choice; give one of {', '.join(files)}"


def _without_file(arguments: list[str]) -> str | None:
    """Name the override that gives a group no file, such as ``model=null``; Hydra names none."""
    for argument in arguments:
        group, _, names = argument.partition("=")
        files = sorted(file.stem for file in (CONF / group).glob("*.yaml")) if names else []
        is_of_hydra = group.startswith("hydra/")  # plugins have files for it, too
        if files and not is_of_hydra and not set(names.split(",")) <= set(files):
            return f"{argument}: give one of {', '.join(files)}"
    return None


def _first_line(error: Exception) -> str:
    return " ".join(str(error).splitlines()[0].split())


def stop(line: str, status: int) -> NoReturn:
    """Print the line to standard error and end the program."""
    print(redacted(line), file=sys.stderr)
    raise SystemExit(status) from None
