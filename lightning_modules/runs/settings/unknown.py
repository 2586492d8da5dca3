"""Keys that are no settings, and the setting that the user may have meant."""

from difflib import get_close_matches

from lightning_modules.runs.settings.table import PREPARED, group_files, settings

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
    if key in settings():
        return f"the chosen class may take it: give +{key}=..."
    near = _nearest(key)
    if near is not None:
        return f"did you mean {near}?"
    group = key.partition(".")[0]
    if group in settings() and settings()[group].is_group:
        return f"task=settings prefix={group} lists the settings of {group}"
    return "task=settings lists all settings"


def _nearest(key: str) -> str | None:
    """Return the setting with the nearest spelling, first of the same group; None for no such."""
    group, _, name = key.rpartition(".")
    names = {other.rpartition(".")[2]: other for other in settings() if _group(other) == group}
    if close := get_close_matches(name, names, 1, CLOSE):
        return names[close[0]]
    elsewhere = {other.rpartition(".")[2]: other for other in settings()}
    if close := get_close_matches(name, elsewhere, 1, SAME):
        return elsewhere[close[0]]
    return next(iter(get_close_matches(key, settings(), 1, SAME)), None)


def _group(key: str) -> str:
    return key.rpartition(".")[0]
