"""Arguments of the classes that a configuration names, checked before any text is read."""

import inspect
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

import hydra.utils
from omegaconf import DictConfig, OmegaConf

from datamodules.errors import UserError

TARGET = "_target_"
MADE_AT_ONCE = ("data", "logger")
"""Groups whose objects are made before the training anyway, with errors of their own."""

NO_ARGUMENTS = {"decoding": ("replace_unknown", "dictionary")}
"""Keys of groups that are no arguments of the group's class, but read beside the class."""


def check_arguments(config: DictConfig) -> None:
    """Raise ``UserError`` for an argument that the class or function of its group does not take.

    Classes that cannot be imported are refused where they are used, by the setting that names them.
    """
    plain: Any = OmegaConf.to_container(config)
    wanted = {key: node for key, node in plain.items() if key not in MADE_AT_ONCE}
    for group, node in _nodes(wanted, ""):
        names = _arguments(node[TARGET])
        for name in node:
            known = name.startswith("_") or name in NO_ARGUMENTS.get(group, ())
            if names is not None and not known and name not in names:
                raise UserError(f"{group}.{name}: {_remedy(group, name, node[TARGET], names)}")


def _nodes(config: Mapping[str, Any], parent: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the groups that name a class, by dotted key."""
    if isinstance(config.get(TARGET), str):
        yield parent, config
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from _nodes(value, f"{parent}.{name}" if parent else name)


def _arguments(path: str) -> list[str] | None:
    """Return the names of the arguments; None for any names, and where the path leads nowhere."""
    try:
        parameters = inspect.signature(hydra.utils.get_object(path)).parameters.values()
    except Exception:  # a user's module may raise anything
        return None
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters):
        return None
    return [each.name for each in parameters]


def _remedy(group: str, name: str, path: str, names: list[str]) -> str:
    kind = path.rpartition(".")[2]
    near = get_close_matches(name, names, 1)
    if near:
        return f"{kind} takes no such argument; did you mean {group}.{near[0]}?"
    return f"{kind} takes no such argument, only {', '.join(names)}"
