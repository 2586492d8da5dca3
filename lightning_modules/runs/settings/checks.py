"""Check a configuration against the table of settings, before anything is read or imported."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from omegaconf import DictConfig, OmegaConf

from datamodules.errors import UserError
from lightning_modules.runs.provenance import HARNESS
from lightning_modules.runs.settings.table import (
    flatten,
    group_files,
    is_read_by,
    key_of,
    setting_of,
    settings,
    top_keys_that_affect,
)
from lightning_modules.runs.settings.unknown import is_known, unknown_key

PACKAGES = (*HARNESS, "torch", "pytorch_lightning")
"""Packages whose classes take the types that the table of settings says."""
ATTENTION = "model.attention"
MISSING = "???"
CLASSES = ("_target_", "score", "window", "cell", "kind")
"""Keys that may name a user's class, which takes further keys of the group."""


def check_settings(config: DictConfig, overrides: Iterable[str] = ()) -> None:
    """Check keys, types and ranges of a composed configuration, and what its task reads.

    Values with an interpolation are checked by the classes that take the values, and so are the
    arguments of a user's class, which may mean something else by a name of the table.

    Args:
        config: the configuration.
        overrides: those of the command line.

    Raises:
        UserError: for the first mistake, which it names with the setting to change.
    """
    plain: Any = OmegaConf.to_container(config)
    values = flatten(plain)
    _check_keys(values)
    _check_values(values)
    _check_attention(values)
    _check_read(str(config.task), overrides)


def _check_keys(values: Mapping[str, Any]) -> None:
    open_groups = tuple(_groups_of_classes(values, HARNESS))
    for key in values:
        if not key.startswith(open_groups) and not is_known(key):
            raise UserError(unknown_key(key))


def _check_values(values: Mapping[str, Any]) -> None:
    own = tuple(_groups_of_classes(values, PACKAGES, ("_target_",)))
    for key, value in values.items():
        _check_parent(key)
        setting = settings().get(key)
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
    if any(
        other.key.startswith(f"{key}.") and task in other.tasks for other in settings().values()
    ):
        return True
    if task == "reproduce":  # trains from the record of a run, into other folders
        return key.partition(".")[0] in top_keys_that_affect(["presentation", "nothing"])
    if task in ("settings", "claims"):  # explain, or give to all runs, the settings of a training
        return _reads("train", key)
    return task == "train" and "study" in setting.tasks


@cache
def tasks() -> Mapping[str, str]:
    """Return the names of the tasks by the dotted paths of their functions."""
    return {file.values["task"]: file.name for file in group_files() if file.group == "task"}
