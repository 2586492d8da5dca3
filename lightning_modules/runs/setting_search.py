"""Settings found by key and meaning: for ``task=settings``, and for what a wrong key may mean."""

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from datamodules.plugs import HARNESS
from lightning_modules.runs.settings import PREPARED, Setting, choice_files, group_files, settings

CLOSE, SAME = 0.7, 0.9
"""Least similarity of two spellings in one group and in two groups, from 0 to 1."""
MOST = 3
"""Settings of other groups that one suggestion names at most."""
_WORD = re.compile(r"[^\W_]+")


def find_settings(text: str) -> list[Setting]:
    """Return the settings with the text in the key or meaning; if none, those with its words."""
    everything, text = settings().values(), text.lower()
    words = text.replace("_", " ")
    found = [one for one in everything if text in one.key or words in one.meaning.lower()]
    return found or [one for one in everything if _has(f"{one.key} {one.meaning}", words)]


def _has(text: str, words: str) -> bool:
    """Return whether a text has each of the words, or words that begin so."""
    there, wanted = (_WORD.findall(each.lower()) for each in (text, words))
    return bool(wanted) and all(any(one.startswith(word) for one in there) for word in wanted)


def unknown_key(key: str) -> str:
    """Return the error for a key that is no setting of the composed configuration, as one line."""
    return f"{key}: no such setting; {_remedy(key)}"


def without_package(key: str) -> str | None:
    """Return the error for a key that Hydra put below its group; None with another cause.

    It does so unless the group's file begins with ``# @package _global_``, as all of ours do in
    groups such as ``model``.
    """
    group, _, meant = key.partition(".")
    ours = [file for file in choice_files() if file.parent.name == group]
    if not ours or not is_known(meant):
        return None
    if not all("@package _global_" in file.read_text(encoding="utf-8") for file in ours):
        return None
    return (
        f"{key}: no such setting; a file in {group}/ that sets {meant} must begin with "
        "# @package _global_"
    )


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
        readers = settings()[key.partition(".")[0]].tasks
        if "train" not in readers:
            return f"choose {' or '.join(f'task={task}' for task in readers)}"
        return f"the chosen class may take it: give +{key}=..."
    group = key.partition(".")[0]
    further = f"; +{key}=... gives the class a further argument" if _takes_arguments(group) else ""
    if near := next((list(found) for found in _nearest(key) if 0 < len(found) <= MOST), None):
        return f"did you mean {' or '.join(near)}?{further}"
    if group in settings() and settings()[group].is_group:
        return f"task=settings find={group}. lists the settings of {group}{further}"
    return "task=settings lists all settings, find=WORD those with a word"


def _takes_arguments(group: str) -> bool:
    """Return whether files of a group name a class of another package."""
    classes = [str(file.values.get(f"{group}._target_", "")) for file in group_files()]
    return any(one and one.partition(".")[0] not in HARNESS for one in classes)


def _nearest(key: str) -> Iterator[list[str]]:
    """Yield settings that a wrong key may mean: first of its own place, then those of trainings.

    In each place a similar spelling counts more than a meaning with the words of the key.
    """
    group, _, name = key.rpartition(".")
    below = [one for one in settings() if group and one.startswith(f"{group}.")]
    yield _spelled(name, [one for one in below if one == f"{group}.{_name(one)}"], CLOSE)
    yield _meant(name, below)
    same = [one for one in settings() if _name(one) == name]
    if below and len(same) > 1:
        return  # such as mode, which other groups have for other things
    yield same
    for keys in ([one.key for one in settings().values() if "train" in one.tasks], settings()):
        yield _spelled(name, keys, SAME)
        yield _meant(name, keys if not below else [])


def _meant(name: str, keys: Iterable[str]) -> list[str]:
    """Return the settings that the words of a name describe, without what explains values."""
    chosen = [settings()[key] for key in keys if not _name(key).startswith("_")]
    return [one.key for one in chosen if not one.is_group and _has(_description(one), name)]


def _description(setting: Setting) -> str:
    return f"{setting.key} {setting.meaning.split(';')[0]}"


def _spelled(name: str, keys: Iterable[str], similarity: float) -> list[str]:
    names = {_name(key): key for key in reversed(list(keys))}
    return [names[close] for close in get_close_matches(name, names, 1, similarity)]


def _name(key: str) -> str:
    return key.rpartition(".")[2]
