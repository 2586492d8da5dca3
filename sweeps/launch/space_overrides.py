"""Overrides of a study's search space and variants, written as Hydra can apply them.

Hydra merges mappings and splits names at dots, so that alone it could neither replace a space nor
reach the parameter ``model.dropout``. On a command line

- ``sweep.space={NAME: {…}, …}`` is the whole space;
- ``+sweep.space={NAME: {…}}`` and ``+sweep.space.NAME={…}`` add a parameter or replace one;
- ``sweep.space.NAME={…}`` replaces a parameter that is there;
- ``sweep.space.NAME.high=0.1`` changes a part of it;
- ``~sweep.space.NAME`` removes it;
- ``tuned.variants={NAME: SPACE, …}`` names all variants that ``comparison=tuned`` tunes.
"""

import re
from collections.abc import Sequence

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import OverrideParseException

OVERRIDE = re.compile(
    r"(?P<sign>\+\+?|~|)sweep\.space(?:\.(?P<name>[^=]+))?(?:=(?P<value>.*))?", re.DOTALL
)
VARIANTS = "tuned.variants"
PARTS = ("type", "low", "high", "log", "step", "choices", "when")
"""Keys of a parameter."""


def with_space(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command with these overrides as Hydra can apply them."""
    return [written for argument in arguments for written in _written(argument)]


def _written(argument: str) -> list[str]:
    if argument.startswith(f"{VARIANTS}="):
        return [f"{VARIANTS}=null", f"++{argument}"]
    match = OVERRIDE.fullmatch(argument)
    if match is None:
        return [argument]
    sign, name, value = match["sign"], match["name"], match["value"]
    if name is not None and sign == "~":
        return [_without(name)]
    if value is None:
        return [argument]
    if name is None:
        return [*_cleared(argument, sign), f"++sweep.space={value}"]
    parameter, _, part = name.rpartition(".")
    if parameter and part in PARTS:
        return [f"{sign}sweep.space={{{parameter}: {{{part}: {value}}}}}"]
    return [_without(name, sign), f"++sweep.space={{{name}: {value}}}"]


def _without(name: str, sign: str = "") -> str:
    """Return the override that empties a parameter: nothing merges with what the file has."""
    return f"{sign}sweep.space={{{name}: null}}"


def _cleared(argument: str, sign: str) -> list[str]:
    """Return the overrides that empty what a mapping replaces: its parameters, or the space."""
    if not sign:
        return ["sweep.space=null"]
    try:
        value = OverridesParser.create().parse_override(argument).value()
    except OverrideParseException:  # which Hydra reports
        return []
    return [_without(str(name), "++") for name in value] if isinstance(value, dict) else []
