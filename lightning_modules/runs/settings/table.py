"""The table of settings, ``conf/settings.yaml``: what each key means, and what its value affects.

Every question about settings is answered here: which settings name a folder, tell two runs apart,
label a run, belong to a study, or may change when a run is reproduced.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml

from lightning_modules.runs.settings.types import ValueType

CONF = Path(__file__).parents[3] / "conf"
TABLE = CONF / "settings.yaml"

Effect = Literal["weights", "test", "presentation", "nothing"]
RESULTS: tuple[Effect, ...] = ("weights", "test")
"""Effects on the results of a run."""
PREPARED = ("comparison", "condition", "recipe", "tier")
"""Groups whose files set keys of other groups."""
LAST = (*PREPARED, "task")
INHERITED = ("affects", "by", "condition", "tasks")
_OVERRIDE = re.compile(r"[+~]*(?P<key>[^=@]+)(@[^=]*)?(=(?P<value>.*))?", re.DOTALL)


@dataclass(frozen=True)
class Setting:
    """Entry of the table: a key of the configuration, or a group of keys."""

    key: str
    meaning: str
    affects: Effect
    """What another value changes."""
    tasks: tuple[str, ...]
    """Tasks that read the key; task=reproduce and studies read what ``train`` reads."""
    type: ValueType
    by_fingerprint: bool = False
    """Whether the content of files or of the corpus counts, not the written value."""
    condition: str | None = None
    """The condition of a fair comparison that compares the setting."""
    is_group: bool = False
    takes_further: bool = False
    """Whether a group takes keys that the table does not list."""


@cache
def settings() -> dict[str, Setting]:
    """Return all entries of the table by key, in the order of the file."""
    content = yaml.load(TABLE.read_text(encoding="utf-8"), yaml.CSafeLoader)
    return {setting.key: setting for setting in _read(content, "", {})}


def _read(
    entries: Mapping[str, Any], parent: str, inherited: Mapping[str, Any]
) -> Iterator[Setting]:
    for name, written in entries.items():
        entry = {**inherited, **written}
        key = f"{parent}{name}"
        inside = entry.pop("settings", {})
        yield Setting(
            key=key,
            meaning=entry["meaning"],
            affects=entry["affects"],
            tasks=tuple(entry["tasks"]),
            type=ValueType.of(entry, is_group=bool(inside)),
            by_fingerprint=entry.get("by") == "fingerprint",
            condition=entry.get("condition"),
            is_group=bool(inside),
            takes_further=entry.get("further", False),
        )
        shared = {part: entry[part] for part in INHERITED if part in entry}
        yield from _read(inside, f"{key}.", shared)


class GroupFile(NamedTuple):
    """A file of a group, such as ``conf/budget/updates.yaml``, which ``budget=updates`` chooses."""

    group: str
    name: str
    values: dict[str, Any]
    """Values by dotted key."""


@cache
def group_files() -> list[GroupFile]:
    """Return the files of all groups, those that set keys of other groups last."""
    files = sorted(CONF.glob("*/*.yaml"))
    return [
        GroupFile(file.parent.name, file.stem, dict(_values(file)))
        for file in sorted(files, key=lambda file: file.parent.name in LAST)
    ]


def _values(file: Path) -> Iterator[tuple[str, Any]]:
    text = file.read_text(encoding="utf-8")
    content = yaml.load(text, yaml.CSafeLoader) or {}
    prefix = "" if "@package _global_" in text else f"{file.parent.name}."
    for key, value in flatten(content).items():
        if key != "defaults":
            yield f"{prefix}{key}", value


def setting_of(key: str) -> Setting | None:
    """Return the entry of a key, or else of the nearest group; None for an unknown key."""
    while key:
        if key in settings():
            return settings()[key]
        key = key.rpartition(".")[0]
    return None


def effect_of(key: str) -> Effect:
    """Return what a key affects; an unknown key may change the weights."""
    setting = setting_of(key)
    return setting.affects if setting else "weights"


def key_of(override: str) -> str:
    """Return the key of an override: ``+model.attention.heads=4`` is of ``model.attention.heads``.

    The group of a choice is written with dots too: ``hydra/launcher=joblib`` is of
    ``hydra.launcher``.
    """
    matched = _OVERRIDE.fullmatch(override)
    return matched["key"].replace("/", ".") if matched else override


def overrides_that_affect(overrides: Iterable[str], effects: Sequence[Effect]) -> list[str]:
    """Return the overrides whose keys have one of the effects."""
    return [override for override in overrides if effect_of(key_of(override)) in effects]


def labelling_overrides(overrides: Iterable[str], variant: str | None) -> list[str]:
    """Return the overrides that affect results, without variant and seed, which names show."""
    shown = {f"model={variant}", f"variant={variant}"}
    return [
        override
        for override in overrides_that_affect(overrides, RESULTS)
        if override not in shown and key_of(override) not in ("seed", "label")
    ]


def flatten(config: Mapping[str, Any], parent: str = "") -> dict[str, Any]:
    """Return the values of a nested configuration by dotted key."""
    flat: dict[str, Any] = {}
    for name, value in config.items():
        key = f"{parent}{name}"
        if isinstance(value, Mapping) and value:
            flat |= flatten(value, f"{key}.")
        else:
            flat[key] = value
    return flat


def values_that_affect(config: Mapping[str, Any], effects: Sequence[Effect]) -> dict[str, Any]:
    """Return the values of a configuration by dotted key whose keys have one of the effects."""
    return {key: value for key, value in flatten(config).items() if effect_of(key) in effects}


def is_by_fingerprint(key: str) -> bool:
    """Return whether the content behind a key counts, not the value of the key."""
    setting = setting_of(key)
    return setting is not None and setting.by_fingerprint


def top_keys_that_affect(effects: Sequence[Effect]) -> list[str]:
    """Return the keys at the top of the configuration, groups too, that have one of the effects."""
    return [key for key in settings() if "." not in key and effect_of(key) in effects]


def belongs_to_study(key: str) -> bool:
    """Return whether only a study, or the start of a command, reads a key."""
    setting = setting_of(key)
    return setting is not None and set(setting.tasks) <= {"study", "launch"}


def is_read_by(key: str, task: str) -> bool:
    """Return whether a task reads a key; every task may read an unknown key."""
    setting = setting_of(key)
    return setting is None or task in setting.tasks
