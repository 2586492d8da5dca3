"""English morphology: regular plurals, verb endings, and the choice between *a* and *an*."""

_AN = ("honest", "hour", "heir")
_A = ("ewe", "uni", "use", "usu", "uto", "eu", "ukulele")


def third_person(verb: str) -> str:
    """Return the third person singular of the present; the first word is the verb."""
    base, space, particle = verb.partition(" ")
    return (base + "es" if base.endswith("o") else plural(base)) + space + particle


def past(verb: str) -> str:
    """Return the regular past; the first word is the verb."""
    base, space, particle = verb.partition(" ")
    if base.endswith("e"):
        base += "d"
    elif base.endswith("y") and base[-2] not in "aeiou":
        base = base[:-1] + "ied"
    else:
        base += "ed"
    return base + space + particle


def takes_an(word: str) -> bool:
    """Return whether the indefinite article before ``word`` is *an*."""
    word = word.lower()
    return word.startswith(_AN) or (word[0] in "aeiou" and not word.startswith(_A))


def plural(word: str) -> str:
    """Return the regular plural of a noun, spelt like a third person."""
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"
