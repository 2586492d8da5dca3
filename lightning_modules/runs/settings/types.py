"""Types and ranges of settings, as the table of settings writes them."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

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


def _is_paths(value: Any) -> bool:
    return all(map(_is_text, value if isinstance(value, list) else [value]))


def _is_interval(value: Any) -> bool:
    """Accept what Lightning accepts: a positive number, or ``days:hours:minutes:seconds``."""
    if isinstance(value, str):
        return TIME.fullmatch(value) is not None
    return _is_float(value) and value > 0


KINDS: dict[str, Callable[[Any], bool]] = {
    "bool": lambda value: isinstance(value, bool),
    "int": _is_int,
    "float": _is_float,
    "text": _is_text,
    "name": lambda value: _is_text(value) and NAME.fullmatch(str(value)) is not None,
    "path": _is_text,
    "paths": _is_paths,
    "list": lambda value: isinstance(value, list),
    "mapping": lambda value: isinstance(value, dict),
    "class": lambda value: isinstance(value, str) and CLASS.fullmatch(value) is not None,
    "interval": _is_interval,
    "any": lambda value: True,
}
WORDS = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "text": "a text",
    "name": "a name: a letter or digit, then up to 99 characters without slashes",
    "path": "a path",
    "paths": "a path or a list of paths",
    "list": "a list",
    "mapping": "a mapping",
    "class": "a dotted path",
    "interval": "a number above 0, or a time DD:HH:MM:SS",
    "any": "any value",
}
LIMITS: dict[str, tuple[str, Callable[[float, float], bool]]] = {
    "least": ("at least", lambda value, limit: value >= limit),
    "above": ("above", lambda value, limit: value > limit),
    "most": ("at most", lambda value, limit: value <= limit),
    "below": ("below", lambda value, limit: value < limit),
}
"""Limits of numbers by their names in the table."""


class ValueType(NamedTuple):
    """The values that a setting may have."""

    kind: str
    """A key of ``KINDS``."""
    or_null: bool = False
    choices: tuple[str, ...] = ()
    """The allowed texts; empty for any."""
    is_open: bool = False
    """Whether the dotted path of a class is allowed besides the choices."""
    limits: tuple[tuple[str, float], ...] = ()
    """Names and values of limits."""
    elements: str | None = None
    """Kind of the elements of a list."""

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
        if not KINDS[self.kind](value):
            return False
        if self.choices and value not in self.choices:
            return self.is_open and KINDS["class"](value)
        if self.elements is not None and not all(map(KINDS[self.elements], value)):
            return False
        return all(LIMITS[name][1](value, limit) for name, limit in self.limits)

    def __str__(self) -> str:
        """Return the type and the range in words: ``a number, above 0 and below 1``."""
        text = f"one of {', '.join(self.choices)}" if self.choices else WORDS[self.kind]
        if self.is_open:
            text += ", or a dotted path"
        if self.elements is not None:
            text += f" of {PLURALS[self.elements]}"
        if self.limits:
            text += ", " + " and ".join(
                f"{LIMITS[name][0]} {_shown(limit)}" for name, limit in self.limits
            )
        return text + (", or null" if self.or_null else "")


def _shown(limit: float) -> str:
    return f"{limit:,}" if isinstance(limit, int) else f"{limit:g}"


PLURALS = {"int": "whole numbers", "float": "numbers", "text": "texts", "mapping": "mappings"}
