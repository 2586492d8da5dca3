"""French elision and contraction."""

from itertools import pairwise

from tests.tools.grammar_checker.french.words import CLASSES

ASPIRATED = tuple(CLASSES["aspirated"])
VOWELS = frozenset("aeiouàâéèêëîïôöùûœ")
ELIDED = frozenset(("l'", "d'", "qu'", "n'", "m'", "j'", "s'", "jusqu'"))
FULL = frozenset(("le", "la", "de", "que", "ne", "me", "je", "se", "parce"))
SUBJECTS = ("elle", "elles", "on", "un", "une", "aucun")  # no verbs: *s'* is *si* before them


def split(sentence: str) -> list[str]:
    """Return the words of a French sentence, with elided words and commas apart."""
    words = []
    for word in sentence.replace(",", " ,").replace("?", " ?").split():
        while "'" in word[:-1] and not word.lower().startswith("aujourd'"):
            first, _, word = word.partition("'")
            words.append(first + "'")
        words.append(word)
    return words


def elides(word: str) -> bool:
    """Return whether a word causes the elision of the word before."""
    word = word.lower()
    if word[0] == "h":
        return not (word.startswith(ASPIRATED) or word == "héros")
    return word[0] in VOWELS or word == "y" or word.startswith("yeu")


def check_sound(words: list[str], clitic_before: frozenset[str]) -> list[str]:
    """Return what is wrong with elisions and contractions.

    Args:
        words: the sentence.
        clitic_before: infinitives, before which *le* and *les* are no articles.
    """
    findings = []
    for place, (word, after) in enumerate(pairwise(words)):
        word = word.lower()
        if word[-1] == "'":
            if word == "s'" and after in SUBJECTS:
                findings.append(f"'{word} {after}': si elides before il and ils only")
            elif word not in ELIDED or not elides(after):
                findings.append(f"'{word}{after}' must not elide")
        elif word in FULL:
            if elides(after) and word != "parce":
                findings.append(f"'{word} {after}' must elide")
        elif word == "si" and after in ("il", "ils"):
            findings.append("'si il' must elide")
        if word in ("de", "à") and after in ("le", "les"):
            following = words[place + 2] if place + 2 < len(words) else ""
            if following not in clitic_before and following not in ("lui", "leur", "y", "en"):
                findings.append(f"'{word} {after}' must contract")
    return findings
