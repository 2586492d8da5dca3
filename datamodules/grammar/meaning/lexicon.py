"""The lexicon: all concepts of the grammar, from the commonest to the rarest."""

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from operator import itemgetter
from typing import NamedTuple, TypeVar

from datamodules.grammar.meaning.phrases import GROUPS, Adjective, Expression, Noun, Verb

Entry = TypeVar("Entry")
MOST_NOUNS = 2000  # largest vocabulary
FEWEST = 2  # smallest number of words of each class in a small vocabulary
NOUNS_TO_A_VERB, NOUNS_TO_AN_ADJECTIVE, NOUNS_TO_A_PAIR = 4, 8, 4
"""How many nouns a vocabulary has for each verb, adjective and pair of senses."""


class Lexicon(NamedTuple):
    """The words of a vocabulary; the first words of each tuple are the commonest."""

    nouns: tuple[Noun, ...]
    names: tuple[Noun, ...]
    senses: tuple[tuple[Noun, Noun], ...]  # one language at least has one word for both
    adjectives: tuple[Adjective, ...]
    verbs: tuple[Verb, ...]
    expressions: dict[str, tuple[Expression, ...]]  # by section


@cache
def lexicon(nouns: int) -> Lexicon:
    """Return the lexicon with the ``nouns`` commonest nouns, and other words in proportion."""
    lines = _sections("nouns.txt")
    pairs = [_senses(cells) for cells in lines.pop("senses")]
    names = [_noun("name", cells) for cells in lines.pop("names")]
    adjectives = max(FEWEST * 10, nouns // NOUNS_TO_AN_ADJECTIVE)
    return Lexicon(
        _ranked(lines, _noun, nouns, FEWEST),
        tuple(names[: max(FEWEST * 4, nouns // 10)]),
        tuple(pairs[: max(FEWEST, nouns // NOUNS_TO_A_PAIR)]),
        _ranked(_sections("adjectives.txt"), _adjective, adjectives),
        _ranked(_sections("verbs.txt"), _verb, nouns // NOUNS_TO_A_VERB, FEWEST),
        {
            section: tuple(_expression(cells) for cells in entries)
            for section, entries in _sections("expressions.txt").items()
        },
    )


def _sections(name: str) -> dict[str, list[list[str]]]:
    sections: dict[str, list[list[str]]] = {}
    for line in files(__package__).joinpath(name).read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            entries = sections.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            entries.append([cell.strip() for cell in line.split("|")])
    return sections


def _ranked(
    sections: dict[str, list[list[str]]],
    build: Callable[[str, list[str]], Entry],
    count: int,
    fewest: int = 0,
) -> tuple[Entry, ...]:
    """Return ``count`` entries, each section with its share at every rank, and with ``fewest``."""
    entries = [
        ((2 * place + 1) / len(lines), place, name, cells)
        for name, lines in sections.items()
        for place, cells in enumerate(lines)
    ]
    entries.sort(key=itemgetter(0))
    return tuple(
        build(name, cells)
        for rank, (_, place, name, cells) in enumerate(entries)
        if rank < count or place < fewest
    )


def _kinds(cell: str) -> tuple[str, ...]:
    kinds = [kind for word in cell.split() for kind in GROUPS.get(word, (word,))]
    return tuple(dict.fromkeys(kinds))


def _noun(kind: str, cells: list[str]) -> Noun:
    flags = cells[1].split() if len(cells) > 1 else []
    gender = next((flag for flag in flags if flag in ("m", "f")), "")
    return Noun(cells[0], kind, "mass" not in flags, gender, "plain" in flags, "epicene" in flags)


def _senses(cells: list[str]) -> tuple[Noun, Noun]:
    name, *senses = cells
    first, second = (
        _noun(kind, [f"{name}:{kind}", *flags])
        for kind, *flags in (sense.split(maxsplit=1) for sense in senses)
    )
    return first, second


def _adjective(category: str, cells: list[str]) -> Adjective:
    flags = cells[2].split() if len(cells) > 2 else []
    return Adjective(
        cells[0],
        category,
        _kinds(cells[1]),
        graded="ungraded" not in flags,
        predicative="attributive" not in flags,
        attributive="predicative" not in flags,
        alone="alone" in flags,
        lasting="lasting" in flags,
        results=_names(cells, 3),
    )


def _names(cells: list[str], place: int) -> tuple[str, ...]:
    """Return the names in a cell, if there is one, between commas."""
    return tuple(cells[place].split(", ")) if len(cells) > place else ()


_VERB_MARKS = (
    "state", "reflexive", "passive", "separable", "dative", "thing", "living", "placed", "done",
    "known",
)  # fmt: skip


def _verb(section: str, cells: list[str]) -> Verb:
    name, subjects, objects, flags, excluded = (*cells, "", "", "")[:5]
    marks = set(flags.split())
    barred = [word for word in objects.split() if word.startswith("-")]
    doubting = section == "doubting"
    return Verb(
        name,
        "reporting" if doubting else section,
        _kinds(subjects),
        tuple(kind for kind in _kinds(objects) if not kind.startswith("-")),
        meant=marks.isdisjoint(("state", "unmeant")),
        doubting=doubting,
        results=_names(cells, 5),
        excludes=_kinds(excluded),
        barred=tuple(word[1:] for word in barred),
        **{mark: mark in marks for mark in _VERB_MARKS},
    )


def _expression(cells: list[str]) -> Expression:
    name, kinds, fits = (*cells, "", "")[:3]
    fitting = tuple(kind for word in fits.split(", ") for kind in GROUPS.get(word, (word,)) if word)
    return Expression(name, _kinds(kinds), len(name.partition(":")[0].split()), fitting)
