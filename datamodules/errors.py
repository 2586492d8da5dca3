"""Errors for user mistakes and for SIGTERM, and the validation of settings."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:  # pydantic takes a while, and --help needs none of it
    from pydantic import BaseModel, ValidationError

Settings = TypeVar("Settings", bound="BaseModel")


class UserError(Exception):
    """Wrong input. Its message is one line that names the mistake and the override to change.

    ``run.py`` prints the line and exits with status 2, without a traceback; any other exception is
    a defect of the harness and keeps its traceback.
    """


class TerminatedError(KeyboardInterrupt):
    """The process received SIGTERM. Handled like Ctrl-C, but with another exit status."""


def validated(model: "type[Settings]", values: Any, *node: str) -> "Settings":
    """Return a pydantic model made of a mapping or of a Hydra node, which is resolved.

    Raises ``UserError`` for the first wrong value, written as an override of the keys ``node``.
    """
    from omegaconf import OmegaConf
    from pydantic import ValidationError

    plain = OmegaConf.to_container(values, resolve=True) if OmegaConf.is_config(values) else values
    try:
        return model.model_validate(plain)
    except ValidationError as error:
        raise UserError(first_mistake(error, *node)) from None


def first_mistake(error: "ValidationError", *node: str) -> str:
    """Return the first error of a validation as one line, written as an override of ``node``.

    The line shows no value of a missing key, which has none, and no mapping, which may be long.
    """
    first = error.errors()[0]
    key = ".".join([*node, *(str(part) for part in first["loc"])])
    has_value = first["type"] != "missing" and not isinstance(first["input"], Mapping)
    value = f"={first['input']}" if has_value else ""
    return f"{key}{value}: {first['msg'].removeprefix('Value error, ')}"


def one_line(error: Exception) -> str:
    """Return the message without line breaks, or the type of an error without message."""
    from pydantic import ValidationError

    if isinstance(error, ValidationError):
        return first_mistake(error)
    return " ".join(str(error).split()) or type(error).__name__
