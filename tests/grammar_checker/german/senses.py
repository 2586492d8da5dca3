"""German nouns whose English word has two senses: what the verb says of its object decides."""

from tests.grammar_checker.german.phrases import Reading
from tests.grammar_checker.words import senses

SENSES = senses("german/senses.txt")
FOOD, BOX, EVENT = ("food", "drink"), ("container",), ("event",)
FITTING: dict[str, tuple[str, ...]] = {
    "essen": FOOD, "verschlingen": FOOD, "schlucken": FOOD, "trinken": FOOD, "ein|gießen": FOOD,
    "öffnen": BOX, "schließen": BOX, "füllen": BOX, "leeren": BOX, "ab|sagen": EVENT,
    "organisieren": EVENT, "verschieben": EVENT,
}  # fmt: skip
"""Verbs that decide between the senses of their object."""
FOR_THINGS = frozenset(
    ("kaufen", "verkaufen", "zerbrechen", "reparieren", "reinigen", "finden", "stehlen", "suchen",
     "behalten", "aus|leihen", "leihen", "weg|werfen", "verstecken", "auf|heben")
)  # fmt: skip
"""Verbs whose object is no event."""


def fits_sense(verb: str, reading: Reading) -> bool:
    """Return whether the sense of an object in the accusative fits the verb."""
    noun = next((word for kind, word, *_ in reading.tally if kind == "noun"), "")
    kind = SENSES.get(noun, "")
    if reading.case != "a" or not kind:
        return True
    unfit = kind == "event" and verb in FOR_THINGS
    return not unfit and kind in FITTING.get(verb, (kind,))
