"""A configuration is checked once, against ``conf/settings.yaml``, before anything is read.

Classes and models that take the values check no type and no range again; what does not fit
together stays their own error.
"""

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

import hydra.utils
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from datamodules.errors import UserError
from lightning_modules.runs.provenance import HARNESS
from lightning_modules.runs.settings import (
    PREPARED,
    flatten,
    group_files,
    is_read_by,
    key_of,
    setting_of,
    settings,
    top_keys_that_affect,
)

CLOSE, SAME = 0.7, 0.9
"""Least similarity of two spellings in one group and in two groups, from 0 to 1."""


def unknown_key(key: str) -> str:
    """Return the error for a key that is no setting of the composed configuration, as one line."""
    return f"{key}: no such setting; {_remedy(key)}"


def is_known(key: str) -> bool:
    """Return whether the table lists a key, or a mapping above the key that takes any keys."""
    if key in settings():
        return True
    parent = key
    while parent := parent.rpartition(".")[0]:
        if parent in settings():
            setting = settings()[parent]
            return setting.takes_further or not setting.is_group
    return False


def _remedy(key: str) -> str:
    files = [file for file in group_files() if file.group not in PREPARED and key in file.values]
    choices = [f"{file.group}={file.name}" for file in files]
    if choices:
        return f"choose {' or '.join(choices)}"
    if key.startswith("sweep.space."):
        return f"the space has no such parameter; add it: +{key}={{type: float, low: …, high: …}}"
    if is_known(key):
        return f"the chosen class may take it: give +{key}=..."
    if (near := _nearest(key)) is not None:
        return f"did you mean {near}?"
    group = key.partition(".")[0]
    if group in settings() and settings()[group].is_group:
        return f"task=settings prefix={group} lists the settings of {group}"
    return "task=settings lists all settings"


def _nearest(key: str) -> str | None:
    """Return the setting with the nearest spelling, first of the same group; None for no such."""
    group, _, name = key.rpartition(".")
    names = {
        other.rpartition(".")[2]: other for other in settings() if other.rpartition(".")[0] == group
    }
    if close := get_close_matches(name, names, 1, CLOSE):
        return names[close[0]]
    elsewhere = {other.rpartition(".")[2]: other for other in settings()}
    close = get_close_matches(name, elsewhere, 1, SAME)
    return elsewhere[close[0]] if close else None


PACKAGES = (*HARNESS, "torch", "pytorch_lightning")
"""Packages whose classes take the types that the table of settings says."""
ATTENTION = "model.attention"
MISSING = "???"
OF_A_CORPUS = re.compile(r"^data\.corpora\.[^.]+\.")
"""Beginning of the keys of one corpus of a mixture, which has the settings of any corpus."""
CLASSES = ("_target_", "score", "window", "cell", "kind")
"""Keys that may name a user's class, which takes further keys of the group."""


def check_settings(config: DictConfig, overrides: Iterable[str] = ()) -> None:
    """Check keys, types and ranges of a composed configuration, and what its task reads.

    The arguments of a user's class are left to the class: a name of the table may mean something
    else there. Raises ``UserError``, which names the first mistake with the setting to change.
    """
    written: Any = OmegaConf.to_container(config)
    _check_keys(flatten(written))
    values = flatten({key: _resolved(config, key, value) for key, value in written.items()})
    _check_values(values)
    _check_attention(values)
    _check_read(str(config.task), overrides)


def _resolved(config: DictConfig, key: str, written: Any) -> Any:
    """Return the value of a key at the top without interpolations, where they can be resolved."""
    try:
        value = config[key]
        return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value
    except OmegaConfBaseException as error:
        if isinstance(error.__context__, UserError):
            raise error.__context__ from None
        return written  # a missing value, which the task names


def _check_keys(values: Mapping[str, Any]) -> None:
    open_groups = tuple(_groups_of_classes(values, HARNESS))
    for key in values:
        if not key.startswith(open_groups) and not is_known(key):
            raise UserError(unknown_key(key))


def _check_values(values: Mapping[str, Any]) -> None:
    own = tuple(_groups_of_classes(values, PACKAGES, ("_target_",)))
    for key, value in values.items():
        _check_parent(key)
        setting = settings().get(OF_A_CORPUS.sub("data.", key))
        if setting is None or (isinstance(value, str) and (value == MISSING or "${" in value)):
            continue
        if key.startswith(own) and not key.endswith("._target_"):
            continue
        if not setting.type.allows(value):
            shown = "null" if value is None else value
            raise UserError(f"{key}={shown}: give {setting.type}")


def _check_parent(key: str) -> None:
    """Raise ``UserError`` for a mapping where one value is wanted: ``checkpoint={a: 1}``."""
    parent = key
    while parent := parent.rpartition(".")[0]:
        setting = settings().get(parent)
        if setting is not None and setting.type.kind not in ("mapping", "any"):
            raise UserError(f"{parent}: a mapping was given; give {setting.type}")


def _groups_of_classes(
    values: Mapping[str, Any], packages: Iterable[str], names: Iterable[str] = CLASSES
) -> Iterable[str]:
    """Yield the groups, with a dot, that name a class outside ``packages``."""
    for key, value in values.items():
        group, _, name = key.rpartition(".")
        package, dot, _ = str(value).partition(".")
        if name in names and dot and package not in packages and group:
            yield f"{group}."


def _check_attention(values: Mapping[str, Any]) -> None:
    """Raise ``UserError`` for options of attention in a variant that has no attention."""
    options = [key for key in values if key.startswith(f"{ATTENTION}.")]
    if options and f"{ATTENTION}.score" not in values:
        raise UserError(
            f"{options[0]}: this variant has no attention; choose another, such as model=bahdanau"
        )


def _check_read(task: str, overrides: Iterable[str]) -> None:
    """Raise ``UserError`` for an override that the task would ignore."""
    name = tasks().get(task)
    if name is None:  # a study or a user's own function
        return
    for override in overrides:
        key = key_of(override)
        if not _reads(name, key):
            setting = setting_of(key)
            readers = ", ".join(f"task={reader}" for reader in setting.tasks) if setting else ""
            raise UserError(
                f"{override}: task={name} does not read {key}, only {readers}; leave it out"
            )


def _reads(task: str, key: str) -> bool:
    setting = setting_of(key)
    if setting is None or "launch" in setting.tasks or is_read_by(key, task):
        return True
    if any(name.startswith(f"{key}.") and task in one.tasks for name, one in settings().items()):
        return True
    if task == "reproduce":  # trains from the record of a run, into other folders
        return key.partition(".")[0] in top_keys_that_affect(["presentation", "nothing"])
    if task in ("settings", "claims", "study"):  # explain settings of trainings, or pass them on
        return _reads("train", key)
    return task == "train" and "study" in setting.tasks


@cache
def tasks() -> Mapping[str, str]:
    """Return the names of the tasks by the dotted paths of their functions."""
    return {file.values["task"]: file.name for file in group_files() if file.group == "task"}


MADE_AT_ONCE = ("data", "logger")
"""Groups whose objects are made before the training anyway, with errors of their own."""
NO_ARGUMENTS = {"decoding": ("replace_unknown", "dictionary")}
"""Keys of groups that are no arguments of the group's class, but read beside the class."""


def check_arguments(config: DictConfig) -> None:
    """Raise ``UserError`` for an argument that the class or function of its group does not take.

    Classes that cannot be imported are refused where they are used, by the setting that names them.
    """
    plain: Any = OmegaConf.to_container(config)
    for group, node in _nodes({key: plain[key] for key in plain if key not in MADE_AT_ONCE}, ""):
        try:
            taker = hydra.utils.get_object(node["_target_"])
            signature = inspect.signature(getattr(taker, "options_class", taker))
        except Exception:  # a user's module may raise anything
            continue
        others = NO_ARGUMENTS.get(group, ())
        for name in node:
            if not name.startswith("_") and name not in others:
                _check_argument(group, name, node["_target_"], signature)


def _check_argument(group: str, name: str, taker: str, signature: inspect.Signature) -> None:
    try:
        signature.bind_partial(**{name: None})
    except TypeError:
        known, kind = signature.parameters, taker.rpartition(".")[2]
        near = get_close_matches(name, known, 1)
        remedy = f"; did you mean {group}.{near[0]}?" if near else f", only {', '.join(known)}"
        raise UserError(f"{group}.{name}: {kind} takes no such argument{remedy}") from None


def _nodes(config: Mapping[str, Any], parent: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the groups that name a class, by dotted key."""
    if isinstance(config.get("_target_"), str):
        yield parent, config
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from _nodes(value, f"{parent}.{name}" if parent else name)
