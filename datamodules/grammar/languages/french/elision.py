"""What French words do to their neighbours: elision (*l'homme*) and contraction (*du*)."""

ASPIRATED = "*"  # before a word with an aspirated h: no elision, no liaison form
CLITIC = "+"  # before a pronoun spelt like an article: no contraction (*de le voir*)

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
MERGED = ""  # text of a word that became a part of the word before


def causes_elision(word: str) -> bool:
    """Return whether ``word`` causes elision of the word before; a mute h counts as a vowel."""
    return word[:1] in _VOWELS or word == "y" or word.startswith(_ELIDING_Y)


def elide_and_contract(texts: list[str]) -> list[int]:
    """Elide and contract words in place, from the last to the first; return what was elided.

    Elision comes first, since *l'* does not contract: *de* + *le* + *hôpital* is *de l'hôpital*.
    """
    elided: list[int] = []
    changing = [place for place, word in enumerate(texts[:-1]) if word in _CHANGING]
    for place in reversed(changing):
        word, after = texts[place], texts[place + 1]
        contracted = _CONTRACTED.get((word, after))
        if contracted is not None:
            texts[place], texts[place + 1] = contracted, MERGED
        elif after in ("il", "ils") if word == "si" else word in _ELIDED and causes_elision(after):
            texts[place] = _ELIDED.get(word, "s'")
            elided.append(place)
    return elided
