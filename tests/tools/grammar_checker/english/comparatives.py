"""English comparatives: *-er* after short adjectives, *more* before long ones."""

import re

IRREGULAR = {
    "good": "better",
    "bad": "worse",
    "far": "farther",
    "shy": "shyer",
    "lively": "livelier",
    "lonely": "lonelier",
}
MORE_TOO = frozenset(
    ("ill", "torn", "worn", "mauve", "beige", "curved", "blind", "deaf", "bald", "square", "round",
     "dead", "wrong", "real", "vast", "frank", "blond", "cruel", "loyal", "royal", "quiet", "naive",
     "full")
)  # fmt: skip
"""Short adjectives before which *more* may stand."""


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
