"""``conf/settings.yaml``, read: types, ranges, effects and tasks of settings; the files of conf."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from textwrap import fill
from typing import Any, Literal, NamedTuple

import yaml

from lightning_modules.runs.paths import CONF

CLASS = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
TIME = re.compile(r"\d+:\d\d:\d\d:\d\d")
NAME = re.compile(r"[^\W_][^/\\\x00-\x1f\x7f]{0,99}")
"""A name of a file or folder, also on other systems."""


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_float(value: Any) -> bool:
    return _is_int(value) or (isinstance(value, float) and math.isfinite(value))


def _is_text(value: Any) -> bool:
    """Accept numbers too: Hydra reads ``data.root=2016`` as a number."""
    return isinstance(value, str) or _is_float(value)


def _is_path(value: Any) -> bool:
    return _is_text(value) and value != ""


def _is_interval(value: Any) -> bool:
    """Accept what Lightning accepts: a positive number, or ``days:hours:minutes:seconds``."""
    if isinstance(value, str):
        return TIME.fullmatch(value) is not None
    return _is_float(value) and value > 0


KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "bool": (lambda value: isinstance(value, bool), "true or false"),
    "int": (_is_int, "a whole number"),
    "float": (_is_float, "a number"),
    "text": (_is_text, "a text"),
    "name": (
        lambda value: _is_text(value) and NAME.fullmatch(str(value)) is not None,
        "a name: a letter or digit, then up to 99 characters without slashes",
    ),
    "path": (_is_path, "a path"),
    "paths": (
        lambda value: all(map(_is_path, value if isinstance(value, list) else [value])),
        "a path or a list of paths",
    ),
    "list": (lambda value: isinstance(value, list), "a list"),
    "mapping": (lambda value: isinstance(value, dict), "a mapping"),
    "class": (
        lambda value: isinstance(value, str) and CLASS.fullmatch(value) is not None,
        "a dotted path",
    ),
    "interval": (_is_interval, "a number above 0, or a time DD:HH:MM:SS"),
    "any": (lambda value: True, "any value"),
}
"""Whether a value is of a kind, and the kind in words."""
PLURALS = {"int": "whole numbers", "float": "numbers", "text": "texts", "mapping": "mappings"}
LIMITS: dict[str, tuple[str, Callable[[float, float], bool]]] = {
    "least": ("at least", lambda value, limit: value >= limit),
    "above": ("above", lambda value, limit: value > limit),
    "most": ("at most", lambda value, limit: value <= limit),
    "below": ("below", lambda value, limit: value < limit),
}
"""Limits of numbers by their names in the table, those below first."""
BRIEF = {"class": "dotted path", **dict.fromkeys(("text", "name", "path", "paths", "any"), "")}
"""Kinds by what a table calls them where that is not their key."""
SIGNS = {"least": "≥", "above": ">", "most": "≤", "below": "<"}


class ValueType(NamedTuple):
    """The values that a setting may have."""

    kind: str  # a key of `KINDS`
    or_null: bool = False
    choices: tuple[str, ...] = ()  # the allowed texts; empty for any
    is_open: bool = False  # whether the dotted path of a class is allowed besides the choices
    limits: tuple[tuple[str, float], ...] = ()  # names and values of limits
    elements: str | None = None  # kind of the elements of a list

    @classmethod
    def of(cls, entry: Mapping[str, Any], is_group: bool) -> "ValueType":
        """Read an entry of the table. Raises ``KeyError`` for a kind that does not exist."""
        kind, null, _ = entry.get("type", "mapping" if is_group else "any").partition(" or null")
        KINDS[kind]
        return cls(
            kind=kind,
            or_null=bool(null),
            choices=tuple(entry.get("choices", ())),
            is_open=entry.get("open", False),
            limits=tuple((name, entry[name]) for name in LIMITS if name in entry),
            elements=entry.get("of"),
        )

    def allows(self, value: Any) -> bool:
        """Return whether a setting may have a value."""
        if value is None:
            return self.or_null or self.kind == "any"
        if not KINDS[self.kind][0](value):
            return False
        if self.choices and value not in self.choices:
            return self.is_open and (self.kind == "path" or KINDS["class"][0](value))
        if self.elements is not None and not all(map(KINDS[self.elements][0], value)):
            return False
        return all(LIMITS[name][1](value, limit) for name, limit in self.limits)

    def meant(self, value: Any, written: str | None) -> Any:
        """Return what a value stands for, as ``written`` in an override or as a file has it.

        A number given for a text is that text, and 1e6 is a whole number.
        """
        is_text = self.kind in ("text", "name", "path", "paths")
        if is_text and isinstance(value, int | float):
            return written or (value if isinstance(value, bool) else str(value))
        if self.kind == "int" and isinstance(value, float) and value.is_integer():
            return int(value)
        if self.elements == "text" and isinstance(value, list):
            return [str(each) if _is_float(each) else each for each in value]
        return value

    def __str__(self) -> str:
        """Return the type and the range in words: ``a number, above 0 and below 1``."""
        text = f"one of {', '.join(self.choices)}" if self.choices else KINDS[self.kind][1]
        if self.is_open:
            text += ", or a path" if self.kind == "path" else ", or a dotted path"
        if self.elements is not None:
            text += f" of {PLURALS[self.elements]}"
        if self.limits:
            shown = [f"{LIMITS[name][0]} {_number(each)}" for name, each in self.limits]
            text += ", " + " and ".join(shown)
        return text + (", or null" if self.or_null else "")

    def brief(self) -> str:
        """Return type and range for a table, such as ``int ≥ 1`` or ``float in [0, 1)``.

        Choices stand as code; free texts and paths are empty, and null is left out.
        """
        choices = ", ".join(f"`{choice}`" for choice in self.choices)
        text = choices or BRIEF.get(self.kind, self.kind)
        if self.is_open:
            text += ", path" if self.kind == "path" else ", dotted path"
        if self.elements is not None:
            text += f" of {PLURALS[self.elements]}"
        limits = {name: _number(limit) for name, limit in self.limits}
        if len(limits) == 2:
            low, high = limits.values()
            text += f" in {'[' if 'least' in limits else '('}{low}, {high}"
            return text + ("]" if "most" in limits else ")")
        return text + "".join(f" {SIGNS[name]} {limit}" for name, limit in limits.items())


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


TABLE = CONF / "settings.yaml"
IN_A_CHECKOUT = "python run.py"
"""How ``conf/help.txt`` starts the program."""

Effect = Literal["weights", "test", "presentation", "nothing"]
RESULTS: tuple[Effect, ...] = ("weights", "test")  # effects on the results of a run
PREPARED = ("comparison", "condition", "recipe", "tier")
"""Groups whose files set keys of other groups."""
LAST = (*PREPARED, "task")
OF_CANDIDATES = re.compile(r"^decoding\.candidates\.")
"""Beginning of the keys of the search for candidates, which has the settings of any search."""
INHERITED = ("affects", "by", "condition", "tasks")
_OVERRIDE = re.compile(r"[+~]*(?P<key>[^=@]+)(@[^=]*)?(=(?P<value>.*))?", re.DOTALL)


@dataclass(frozen=True)
class Setting:
    """Entry of the table: a key of the configuration, or a group of keys."""

    key: str
    meaning: str
    affects: Effect  # what another value changes
    tasks: tuple[str, ...]
    """Tasks that read the key; task=reproduce and studies read what ``train`` reads."""
    type: ValueType
    by_fingerprint: bool = False
    """Whether the content of files or of the corpus counts, not the written value."""
    condition: str | None = None  # the condition of a fair comparison that compares the setting
    is_group: bool = False
    exists: bool = False  # whether a file or folder must be there before the task starts
    takes_further: bool = False  # whether a group takes keys that the table does not list


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
            exists=entry.get("exists", False),
            takes_further=entry.get("further", False),
        )
        shared = {part: entry[part] for part in INHERITED if part in entry}
        yield from _read(inside, f"{key}.", shared)


class GroupFile(NamedTuple):
    """A file of a group, such as ``conf/budget/updates.yaml``, which ``budget=updates`` chooses."""

    group: str
    name: str
    values: dict[str, Any]  # values by dotted key


@cache
def group_files() -> list[GroupFile]:
    """Return the files of all groups, those that set keys of other groups last."""
    return [
        GroupFile(file.parent.name, file.stem, dict(_values(file)))
        for file in sorted(choice_files(), key=lambda file: file.parent.name in LAST)
    ]


def choice_files() -> list[Path]:
    """Return the files that ``GROUP=NAME`` chooses; claims and their corpora are none."""
    return sorted(file for file in CONF.glob("*/*.yaml") if file.parent.name != "claim")


def _values(file: Path) -> Iterator[tuple[str, Any]]:
    text = file.read_text(encoding="utf-8")
    content = yaml.load(text, yaml.CSafeLoader) or {}
    prefix = "" if "@package _global_" in text else f"{file.parent.name}."
    for key, value in flatten(content).items():
        if key != "defaults":
            yield f"{prefix}{key}", value


def setting_of(key: str) -> Setting | None:
    """Return the entry of a key, or else of the nearest group; None for an unknown key."""
    key = OF_CANDIDATES.sub("decoding.", key)
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


def value_of(override: str) -> str | None:
    """Return the value of an override as it is written; None for an override without a value."""
    matched = _OVERRIDE.fullmatch(override)
    return matched["value"] if matched else None


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


DEFAULT_MODEL = "bahdanau"  # of `conf/config.yaml`


def system_names(jobs: Sequence[Sequence[str]]) -> list[str]:
    """Return what a comparison would call the systems of jobs, given the overrides of each.

    That is the model, and the overrides that not all jobs have; seeds of a system share a name.
    """
    shared = set(jobs[0]).intersection(*jobs) if jobs else set()
    names = []
    for job in jobs:
        models = [each.partition("=")[2] for each in job if key_of(each) == "model"]
        own = [e for e in job if e not in shared and key_of(e) not in ("model", "seed")]
        names.append(", ".join([*(models[-1:] or [DEFAULT_MODEL]), *own]))
    return names


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


def help_text(program: str) -> str:
    """Return what ``--help`` prints: commands, groups with their choices, keys outside groups.

    ``program`` is how the user has started it.
    """
    by_group = groupby(choice_files(), key=lambda file: file.parent.name)
    groups = [
        _wrapped(f"{group}: {', '.join(file.stem for file in of)}", 2) for group, of in by_group
    ]
    keys = [
        _wrapped(f"  {setting.key:<23} {setting.meaning}", 26)
        for setting in settings().values()
        if "." not in setting.key and not setting.is_group and "train" in setting.tasks
    ]
    text = (CONF / "help.txt").read_text(encoding="utf-8").replace(IN_A_CHECKOUT, program)
    return text.format(groups="\n".join(groups), keys="\n".join(keys))


def _wrapped(line: str, indent: int) -> str:
    return fill(line, 80, subsequent_indent=" " * indent, break_on_hyphens=False)
