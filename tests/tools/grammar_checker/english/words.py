"""The English words of the checker by form, and comparatives."""

import re
from collections import defaultdict

from tests.tools.grammar_checker.words import (
    PERSONS,
    Forms,
    NounForm,
    VerbForm,
    read_lines,
    translations,
    word_classes,
)

CLASSES = word_classes("english/classes.txt")
IRREGULAR = {
    "good": "better",
    "bad": "worse",
    "far": "farther",
    "shy": "shyer",
    "lively": "livelier",
    "lonely": "lonelier",
}
MORE_TOO = CLASSES["more too"]


def _syllables(word: str) -> int:
    silent = word.endswith("e") and not re.search(r"[^aeiouy]le$", word)
    return len(re.findall(r"[aeiouy]+", word.removesuffix("e") if silent else word))


def comparative(adjective: str) -> str:
    """Return the form with *-er*; nothing for a word that is too long for one."""
    if adjective in IRREGULAR:
        return IRREGULAR[adjective]
    syllables = _syllables(adjective)
    if syllables > 2 or (adjective.endswith(("ed", "ing", "ful", "ous")) and syllables > 1):
        return ""
    if adjective.endswith("e"):
        return adjective + "r"
    if adjective.endswith("y") and adjective[-2] not in "aeiou":
        return adjective[:-1] + "ier"
    if syllables == 1 and re.search(r"[^aeiou][aeiou][^aeiouwxy]$", adjective):
        return adjective + adjective[-1] + "er"
    return adjective + "er"


def needs_ending(adjective: str) -> bool:
    """Return whether *more* cannot stand before an adjective (*more big*, *more happy*)."""
    if adjective in IRREGULAR:
        return not adjective.endswith("ly")
    syllables = _syllables(adjective)
    one = syllables == 1 and not adjective.endswith("ed") and adjective not in MORE_TOO
    return one or (syllables == 2 and adjective.endswith("y") and not adjective.endswith("ly"))


class English:
    """English words by form."""

    def __init__(self) -> None:
        self.nouns: Forms[NounForm] = defaultdict(list)
        self.nouns_in_french: dict[str, frozenset[str]] = {}
        masses = set()
        for singular, plural, human, meanings in read_lines("english/nouns.txt"):
            self.nouns_in_french[singular] = frozenset(meanings.split(", "))
            self.nouns[singular].append(NounForm(singular, "", (False,), human))
            if plural == "-":
                masses.add(singular)
            else:
                self.nouns[plural].append(NounForm(singular, "", (True,), human))
        self.masses = frozenset(masses)
        self.adjectives: dict[str, int] = {}  # with the places of their classes
        for place, (line,) in enumerate(read_lines("english/adjectives.txt")):
            self.adjectives |= dict.fromkeys(line.split()[1:], place)
        self.comparatives = {comparative(adjective): adjective for adjective in self.adjectives}
        self.adjectives_in_french = translations("french/adjectives.txt")
        self.finite: Forms[VerbForm] = defaultdict(list)
        self.participles: Forms[str] = defaultdict(list)
        self.frames: dict[str, frozenset[str]] = {}
        self.verbs_in_french: dict[str, frozenset[str]] = {}
        for base, third, past_forms, follows, meanings in read_lines("english/verbs.txt"):
            past, _, participle = past_forms.partition("/")
            self.finite[base].append(VerbForm(base, "present", ("1s", "1p", "3p")))
            self.finite[third].append(VerbForm(base, "present", ("3s",)))
            self.finite[past].append(VerbForm(base, "past", PERSONS))
            self.participles[participle or past].append(base)
            self.frames[base] = frozenset(follows.split(", "))
            self.verbs_in_french[base] = frozenset(meanings.split(", "))
        self.bases = frozenset(self.frames)


WORDS = English()
