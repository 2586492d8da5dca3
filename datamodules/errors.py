"""The one kind of error that a user can cause and mend, and the end that a scheduler sends."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # pydantic takes a while, and --help needs none of it
    from pydantic import ValidationError


class UserError(Exception):
    """Wrong input. Its message is one line that says what is wrong and what to do about it.

    ``run.py`` prints the line and exits with status 2, without a traceback; any other exception is
    a defect of the harness and keeps its traceback.
    """


class TerminatedError(KeyboardInterrupt):
    """SIGTERM: like Ctrl-C, with a status of its own."""


def first_mistake(error: "ValidationError", *node: str) -> str:
    """Put the first of a validation's complaints into one line, as an override of ``node``."""
    first = error.errors()[0]
    key = ".".join([*node, *(str(part) for part in first["loc"])])
    return f"{key}={first['input']}: {first['msg'].removeprefix('Value error, ')}"
