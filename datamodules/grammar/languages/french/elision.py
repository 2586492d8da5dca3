"""What French words do to their neighbours: elision (*l'homme*) and contraction (*du*)."""

from datamodules.grammar.languages.language import MERGED

_VOWELS = frozenset("aeiouhàâéèêëîïôöùûœAEIOUHÉÈÊÎÔŒ")
_ELIDING_Y = ("yeux", "yeuse")  # beginnings with y that cause elision, unlike *le yaourt*
_CONTRACTED = {
    ("de", "le"): "du",
    ("de", "les"): "des",
    ("à", "le"): "au",
    ("à", "les"): "aux",
    ("à", "lequel"): "auquel",
    ("à", "lesquels"): "auxquels",
    ("à", "lesquelles"): "auxquelles",
}
_ELIDED = {
    word: word[:-1] + "'"
    for word in ("le", "la", "+le", "+la", "je", "me", "se", "ne", "de", "que", "jusque")
}
_CHANGING = frozenset([*_ELIDED, *(first for first, _ in _CONTRACTED), "si"])


def causes_elision(word: str) -> bool:
    """Return whether ``word`` causes elision of the word before; a mute h counts as a vowel."""
    return word[:1] in _VOWELS or word == "y" or word.startswith(_ELIDING_Y)


def elide_and_contract(texts: list[str]) -> None:
    """Elide and contract words in place, from the last to the first.

    Elision comes first, since *l'* does not contract: *de* + *le* + *hôpital* is *de l'hôpital*.
    """
    changing = [place for place, word in enumerate(texts[:-1]) if word in _CHANGING]
    for place in reversed(changing):
        word, after = texts[place], texts[place + 1]
        merged = _CONTRACTED.get((word, after))
        if after in ("il", "ils") if word == "si" else word in _ELIDED and causes_elision(after):
            merged = _ELIDED.get(word, "s'") + after
        if merged is not None:
            texts[place : place + 2] = merged, MERGED
