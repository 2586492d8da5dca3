"""Plugs: classes of the harness or of a user, found by name or by dotted path."""

import hashlib
import inspect
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from datamodules.errors import UserError, first_mistake, one_line

Plug = TypeVar("Plug")


def find_plug(
    setting: str, name: str, known: Mapping[str, type[Plug]], base: type[Plug]
) -> type[Plug]:
    """Return the class of ``known`` that ``setting=name`` names, or that of a dotted path.

    Raises ``UserError`` for a name that leads to no class, to a class that is not derived from
    ``base``, or to one that lacks a method. An error inside the user's module comes through with
    its traceback.
    """
    if name in known:
        return known[name]
    listed = f"choose one of {', '.join(known)}, or " if known else ""
    choices = f"{listed}give the dotted path of a {base.__name__} class"
    if "." not in name:
        raise UserError(f"{setting}={name}: {choices}")
    found = _imported(f"{setting}={name}", name, choices)
    if not (inspect.isclass(found) and issubclass(found, base)):
        wanted = f"{base.__module__}.{base.__name__}"
        raise UserError(f"{setting}={name}: is not derived from {wanted}; {choices}")
    check_methods(setting, name, found)
    return found


def check_methods(setting: str, name: str, kind: type) -> None:
    """Raise ``UserError`` that names the methods which a class must have and lacks."""
    lacking = sorted(getattr(kind, "__abstractmethods__", ()))
    if lacking:
        raise UserError(
            f"{setting}={name}: {kind.__name__} lacks {', '.join(lacking)}; write what is missing"
        )


def make_plug(
    setting: str, name: str, kind: Callable[..., Plug], /, *args: Any, **options: Any
) -> Plug:
    """Make a plug. Raises ``UserError`` for arguments that its class does not take or refuses."""
    from pydantic import ValidationError  # slow, and --help needs none of it

    try:
        return kind(*args, **options)
    except ValidationError as error:
        raise UserError(first_mistake(error, setting)) from None
    except (AttributeError, TypeError, ValueError) as error:
        raise UserError(f"{setting}={name}: {one_line(error)}") from None


def check_shape(
    setting: str, plug: object, call: Callable[[], Any], wanted: tuple[int, ...]
) -> None:
    """Raise ``UserError`` unless a plug computes a tensor of the wanted shape.

    Args:
        setting: key and value of the configuration, for messages, such as ``model.cell=my.Cell``.
        plug: the object that computes.
        call: computes with ``plug`` on small tensors.
        wanted: shape of the tensor.
    """
    name = type(plug).__name__
    try:
        shape = tuple(call().shape)
    except Exception as error:  # a user's class may raise anything
        raise UserError(f"{setting}: {name} cannot compute: {one_line(error)}") from error
    if shape != wanted:
        raise UserError(f"{setting}: {name} returns the shape {shape}, but {wanted} is needed")


def _imported(override: str, name: str, choices: str) -> Any:
    from hydra.utils import get_object

    hydra_log = logging.getLogger("hydra.utils")
    enabled = not hydra_log.disabled
    hydra_log.disabled = True  # Hydra would log the error in three lines of its own
    try:
        return get_object(name)
    except (ImportError, ValueError) as error:
        cause = error.__cause__
    finally:
        hydra_log.disabled = not enabled
    if isinstance(cause, SyntaxError):
        where = f"{Path(cause.filename or name).name}, line {cause.lineno}"
        raise UserError(f"{override}: {where}: {cause.msg}")
    if isinstance(cause, ModuleNotFoundError) and not f"{name}.".startswith(f"{cause.name}."):
        raise UserError(f"{override}: cannot be imported: {cause}, which its file imports")
    if cause is not None and not isinstance(cause, ImportError | AttributeError):
        raise cause
    raise UserError(f"{override}: cannot be imported; {choices}")


def code_of_class(kind: type) -> str:
    """Return twelve hexadecimal digits that change with the file of a class."""
    return hashlib.sha256(Path(inspect.getfile(kind)).read_bytes()).hexdigest()[:12]
