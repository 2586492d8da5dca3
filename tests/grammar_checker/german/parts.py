"""The parts of a German clause that has been read to its end, and what comes of them."""

from typing import NamedTuple

from tests.grammar_checker.german.items import Item
from tests.grammar_checker.german.phrases import Tally
from tests.grammar_checker.german.verbs import Group
from tests.grammar_checker.translation.references import Roles


class Parts(NamedTuple):
    """A clause that has been read to its end."""

    items: tuple[Item, ...]
    group: Group
    gap: Item | None = None
    """The relative pronoun."""
    controlled: bool = False
    """Whether the clause is an infinitive, without a subject."""
    front: int = 0
    """Number of items before the finite verb of a main clause."""
    infinitive: "Result | None" = None
    that: "Result | None" = None


class Result(NamedTuple):
    """A clause in which all is right."""

    gender: str
    """What the antecedent must be; empty for other clauses."""
    persons: tuple[str, ...]
    """What the subject of an infinitive may be."""
    tally: Tally
    roles: Roles
    verb: str
    """The verb that has the objects."""
    use: str
    """What the antecedent is in the clause: ``subject`` or ``object``."""


def main_verb(parts: Parts) -> str:
    """Return the verb that has the objects, which may stand in an infinitive clause."""
    return parts.group.lowest if parts.infinitive is None else parts.infinitive.verb
