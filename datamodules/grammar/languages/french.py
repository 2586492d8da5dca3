"""French morphology: plurals, feminines, conjugation, elision and contraction."""

from dataclasses import dataclass

ASPIRATED = "*"
"""Marker before a word with an aspirated h, which allows no elision and no liaison form."""

FIRST_SINGULAR, THIRD_SINGULAR, FIRST_PLURAL, THIRD_PLURAL = range(4)

_VOWELS = "aeiouyhàâéèêëîïôöùûœ"
_ELIDED = ("le", "la", "je", "me", "ne", "de", "que")
_CONTRACTED = {
    ("de", "le"): "du",
    ("de", "les"): "des",
    ("de", "des"): "de",
    ("de", "de"): "de",
    ("à", "le"): "au",
    ("à", "les"): "aux",
}

# Present (je, il, nous, ils) and past participle.
_IRREGULAR = {
    "aller": "vais va allons vont allé",
    "avoir": "ai a avons ont eu",
    "boire": "bois boit buvons boivent bu",
    "connaître": "connais connaît connaissons connaissent connu",
    "construire": "construis construit construisons construisent construit",
    "courir": "cours court courons courent couru",
    "croire": "crois croit croyons croient cru",
    "devoir": "dois doit devons doivent dû",
    "dire": "dis dit disons disent dit",
    "dormir": "dors dort dormons dorment dormi",
    "lire": "lis lit lisons lisent lu",
    "pouvoir": "peux peut pouvons peuvent pu",
    "rire": "ris rit rions rient ri",
    "savoir": "sais sait savons savent su",
    "suivre": "suis suit suivons suivent suivi",
    "venir": "viens vient venons viennent venu",
    "voir": "vois voit voyons voient vu",
    "vouloir": "veux veut voulons veulent voulu",
    "écrire": "écris écrit écrivons écrivent écrit",
    "être": "suis est sommes sont été",
}

# Verbs in -er whose stem changes before a silent ending.
_SILENT_STEMS = {
    "acheter": "achèt",
    "appeler": "appell",
    "envoyer": "envoi",
    "nettoyer": "nettoi",
    "protéger": "protèg",
}


@dataclass(frozen=True)
class Conjugation:
    """The forms of a verb: infinitive, present and imperfect by person, past participle."""

    infinitive: str
    present: tuple[str, ...]
    imperfect: tuple[str, ...]
    participle: str


def conjugate(infinitive: str) -> Conjugation:
    """Conjugate a verb: a regular verb in -er, -ir or -re, or a verb listed in ``_IRREGULAR``."""
    *present, participle = (_IRREGULAR.get(infinitive) or _regular(infinitive)).split()
    stem = "ét" if infinitive == "être" else present[FIRST_PLURAL].removesuffix("ons")
    soft = stem[:-1] if stem.endswith("ge") else stem  # nous mangeons, nous mangions
    imperfect = (stem + "ais", stem + "ait", soft + "ions", stem + "aient")
    return Conjugation(infinitive, tuple(present), imperfect, participle)


def _regular(infinitive: str) -> str:
    stem, ending = infinitive[:-2], infinitive[-2:]
    if ending == "er":
        silent = _SILENT_STEMS.get(infinitive, stem)
        softened = stem + "e" if stem.endswith("g") else stem
        return f"{silent}e {silent}e {softened}ons {silent}ent {stem}é"
    if ending == "ir":
        return f"{stem}is {stem}it {stem}issons {stem}issent {stem}i"
    return f"{stem}s {stem} {stem}ons {stem}ent {stem}u"


def plural(word: str) -> str:
    """Return the regular plural of a noun or of a masculine adjective."""
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith(("eau", "eu")) and word != "bleu":
        return word + "x"
    return word + "s"


def feminine(adjective: str) -> str:
    """Return the regular feminine singular of an adjective or participle."""
    if adjective.endswith("e"):
        return adjective
    if adjective.endswith("eux"):
        return adjective[:-1] + "se"
    if adjective.endswith("er"):
        return adjective[:-2] + "ère"
    if adjective.endswith(("on", "en")):
        return adjective + "ne"
    return adjective + "e"


def agree(masculine: str, gender: str, plural_: bool) -> str:
    """Return a regular adjective or participle in the given gender and number."""
    form = feminine(masculine) if gender == "f" else masculine
    return plural(form) if plural_ else form


def starts_with_vowel(word: str) -> bool:
    """Return whether ``word`` causes elision of the word before; a mute h counts as a vowel."""
    return word[:1].lower() in _VOWELS if word else False


def contract(first: str, second: str) -> str | None:
    """Return the contraction of two words (*de* + *le* = *du*), or None if there is none."""
    return _CONTRACTED.get((first, second))


def elide(word: str, following: str) -> str:
    """Return ``word`` in the form before ``following``: *l'*, *qu'*, *s'* or unchanged."""
    if word == "si":
        return "s'" if following in ("il", "ils") else word
    if word in _ELIDED and starts_with_vowel(following):
        return word[:-1] + "'"
    return word
