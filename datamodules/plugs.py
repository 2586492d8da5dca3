"""Plugs: classes of the harness or of a user, found by name or by dotted path."""

import hashlib
import inspect
import logging
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_tb
from typing import Any, TypeVar

from datamodules.errors import UserError, first_mistake, one_line

HARNESS = ("datamodules", "lightning_modules", "sweeps")
INSTALLED = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib"))
"""Folders of Python and of installed packages."""
Plug = TypeVar("Plug")


def find_plug(
    setting: str, name: str, known: Mapping[str, type[Plug]], base: type[Plug]
) -> type[Plug]:
    """Return the class of ``known`` that ``setting=name`` names, or that of a dotted path.

    Raises ``UserError`` for a name that leads to no class, to a class that is not derived from
    ``base``, or to one that lacks a method, and for an error inside the user's module.
    """
    if name in known:
        return known[name]
    listed = f"choose one of {', '.join(known)}, or " if known else ""
    choices = f"{listed}give the dotted path of a {base.__name__} class"
    if "." not in name:
        raise UserError(f"{setting}={name}: {choices}")
    found = import_named(f"{setting}={name}", name, choices)
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
    """Make a plug.

    Raises ``UserError`` for arguments that its class does not take or refuses, and for any error
    inside the user's file.
    """
    from pydantic import ValidationError  # slow, and --help needs none of it

    try:
        return kind(*args, **options)
    except ValidationError as error:
        raise UserError(first_mistake(error, setting)) from None
    except UserError:
        raise
    except Exception as error:  # a user's class may raise anything
        refused = (
            one_line(error) if isinstance(error, AttributeError | TypeError | ValueError) else ""
        )
        if why := in_own_file(error) or refused:
            raise UserError(f"{setting}={name}: {why}") from None
        raise


@contextmanager
def calling(what: str) -> Iterator[None]:
    """Raise ``UserError`` that names the call, for an error inside the user's file."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # a user's class may raise anything
        if why := in_own_file(error):
            raise UserError(f"{what}: {why}") from error
        raise


def in_own_file(error: BaseException) -> str | None:
    """Return an error, or its cause, with the last line of a user's file that it came through.

    None for an error that came through no such file.
    """
    for each in filter(None, (error, error.__cause__)):
        places = [
            f"{Path(frame.f_code.co_filename).name}, line {line}"
            for frame, line in walk_tb(each.__traceback__)
            if _is_own(frame.f_code.co_filename, str(frame.f_globals.get("__name__")))
        ]
        if places:
            return " ".join(f"{places[-1]}: {type(each).__name__}: {each}".split())
    return None


def _is_own(file: str, module: str) -> bool:
    """Return whether a file is the user's: not generated, of the harness, or installed."""
    ours = file.startswith("<") or module.partition(".")[0] in HARNESS
    return not ours and not is_installed(Path(file))


def is_installed(file: Path) -> bool:
    """Return whether a file belongs to Python or to an installed package."""
    return any(file.is_relative_to(folder) for folder in INSTALLED)


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
        why = in_own_file(error) or one_line(error)
        raise UserError(f"{setting}: {name} cannot compute: {why}") from error
    if shape != wanted:
        raise UserError(f"{setting}: {name} returns the shape {shape}, but {wanted} is needed")


def import_named(override: str, name: str, choices: str) -> Any:
    """Return what a dotted path names. Raises ``UserError`` with the ``choices`` if it can't."""
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
    if cause is not None and (why := in_own_file(cause)):
        raise UserError(f"{override}: {why}")
    if cause is not None and not isinstance(cause, ImportError | AttributeError):
        raise cause
    raise UserError(f"{override}: cannot be imported; {choices}")


def code_of_class(kind: type) -> str:
    """Return twelve hexadecimal digits that change with the file of a class."""
    return hashlib.sha256(Path(inspect.getfile(kind)).read_bytes()).hexdigest()[:12]
