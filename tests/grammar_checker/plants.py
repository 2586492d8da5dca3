"""Errors to plant in right sentences: where they fit, and what they change."""

from typing import NamedTuple

from tests.grammar_checker.words import FOLDER


class Plant(NamedTuple):
    """A kind of error: a pattern in the text of one language, and its replacement."""

    side: str
    name: str
    pattern: str
    replacement: str


def read_plants() -> list[Plant]:
    """Read the table of errors; a word in braces stands for a line ``WORD=pattern``."""
    plants = []
    patterns: dict[str, str] = {}
    for line in (FOLDER / "plants.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        if "@" in line:
            side, name, pattern, replacement, _ = line.split("@")
            for word, meaning in patterns.items():
                pattern = pattern.replace("{" + word + "}", meaning)
            plants.append(Plant(side, name, pattern, replacement))
        else:
            word, _, meaning = line.partition("=")
            patterns[word] = meaning
    return plants


PLANTS = read_plants()
