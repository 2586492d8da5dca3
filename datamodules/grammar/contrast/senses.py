"""Verbs that leave a noun with two senses only one of them.

A verb has more subjects and objects than the grammar gives it (one may love a plant and a factory),
so a class that the grammar does not use is not yet impossible.
"""

from datamodules.grammar.languages.language import OBJECT
from datamodules.grammar.meaning.words import ANIMATE, KINDS, OBJECTS, Noun, Verb

_NO_THINGS = ("event", "idea")
_NO_WARES = (*_NO_THINGS, "body")
_NO_FOOD = (*OBJECTS, *_NO_THINGS, "place", "landmark")
_NO_CLOTHES = tuple(kind for kind in KINDS if kind != "clothes")
_NOT_AWAITED = ("tool", "food", "body", "text")
_SILENT = ("tool", "food", "body", "text", "clothes", "container", "landmark")
_EXCLUDED = {
    **dict.fromkeys(
        (
            "break:transitive", "repair", "clean", "wash", "throw:transitive", "throw away",
            "pick up", "hang up", "take off", "try on", "push", "pull", "lift", "touch", "lick",
            "scratch", "rub", "hold", "grab", "shake", "dry:transitive", "tear", "dye", "brush",
            "dirty", "stain", "dust", "polish", "varnish", "weigh", "load", "unload", "plug in",
            "turn on", "turn off", "damage", "dismantle", "assemble", "crush", "transport",
        ),
        _NO_THINGS,
    ),
    **dict.fromkeys(
        (
            "buy", "sell:transitive", "order", "send", "lend", "give", "borrow", "rent", "rent out",
            "sell:ditransitive", "give back", "hand", "hand over", "import", "export",
        ),
        _NO_WARES,
    ),
    **dict.fromkeys(
        (
            "eat:transitive", "drink:transitive", "taste", "devour", "swallow", "sip", "pour",
            "serve:transitive", "serve:ditransitive", "heat", "warm up", "cool",
            "freeze:transitive",
        ),
        _NO_FOOD,
    ),
    **dict.fromkeys(("open", "close", "fill", "empty"), ("idea", "body")),
    "wear": _NO_CLOTHES,
    "watch:transitive": _NOT_AWAITED,
    "wait for": _NOT_AWAITED,
    "hear": _SILENT,
}  # fmt: skip
"""Classes of nouns that are never the object, by the name of the verb."""
_OPEN = (
    ("watch:transitive", "ball"), ("wait for", "ball"), ("break:transitive", "record"),
    ("hold", "record"), ("hold", "degree"),
)  # fmt: skip
"""Verbs with nouns whose senses both fit after all (one holds a record of both kinds)."""
_LIVING_FRAMES = ("intransitive", "reporting", "prepositional")
"""Frames whose verbs have no thing as a subject if the grammar gives them living beings only; with
an object, a thing may be the means (*the bat broke the window*)."""
_MOVING = ("machine", "vehicle")
_OF_THINGS = (
    "age", "recover", "resemble", "resist", "stay", "succeed:prepositional", "suffer",
    "survive:prepositional", "win",
)  # fmt: skip
"""Verbs of these frames that fit things too."""


def decides(verb: Verb, role: int, noun: Noun, other: Noun) -> bool:
    """Return whether a verb excludes the ``other`` sense of its subject or object ``noun``."""
    if role == OBJECT:
        word = noun.name.partition(":")[0]
        return other.kind in _EXCLUDED.get(verb.name, ()) and (verb.name, word) not in _OPEN
    lives = verb.frame in _LIVING_FRAMES and set(verb.subjects) <= set(ANIMATE)
    return lives and verb.name not in _OF_THINGS and other.kind not in (*ANIMATE, *_MOVING)
