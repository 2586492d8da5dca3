"""A small corpus shared by the grammar tests, and functions that split its lines."""

import re
from functools import cache
from typing import Any

from datamodules.corpus import ParallelText
from datamodules.grammar import GrammarCorpus

SMALL: dict[str, Any] = {"train_size": 6000, "val_size": 240, "test_size": 900, "seed": 7}


@cache
def split(name, source="en") -> ParallelText:
    return GrammarCorpus(**SMALL, source=source, target="fr" if source == "en" else "en").split(
        name
    )


def bare_words(line: str) -> list[str]:
    """Split a line into words without punctuation; an elided word is a separate word."""
    line = line.lower().replace("aujourd'hui", "aujourd’hui")
    return re.findall(r"[\w’-]+'?", line)


def parsed_links(line: str) -> list[tuple[int, int]]:
    return [(int(i), int(j)) for i, j in (pair.split("-") for pair in line.split())]
