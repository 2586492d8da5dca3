"""Which noun belongs to which verb, and for which noun a pronoun stands.

Clauses stand side by side, joined by conjunctions. In a clause that is not the first, *he*, *she*,
*it* or *they* as the subject stands for the subject of the clause before, and as the object for its
object. Subject and object are those of English: in *das Haus gefällt dem Mann*, the subject is the
man, as in *the man likes the house*.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

ANY = frozenset(("m", "f", "n", "p", "mp", "fp"))


class Mention(NamedTuple):
    """A subject or object of the third person."""

    text: str
    genders: frozenset[str]
    """Genders that the form allows: ``m``, ``f``, ``n``; ``p`` for plurals, ``mp`` and ``fp`` in a
    language with genders in the plural."""
    pronoun: bool = False
    noun: str = ""
    """The noun in the singular; empty for pronouns and names."""


class Roles(NamedTuple):
    """Subject and object of a clause; None for the first person, and if there is none."""

    subject: Mention | None = None
    object: Mention | None = None


class Governed(NamedTuple):
    """A noun that is the subject or the object of a verb."""

    verb: str
    noun: str
    use: str = ""
    """``alone`` for a subject without an object, ``agent`` for one with an object, ``object``."""


class Attached(NamedTuple):
    """A noun with the verb of its relative clause."""

    noun: str
    verb: str
    use: str
    """``subject`` or ``object``: what the noun is in the relative clause."""
    plural: bool | None
    """None if neither noun nor verb tells the number."""


def wrong_references(clauses: Sequence[Roles]) -> Iterator[str]:
    """Yield the pronouns that do not agree with the noun in the clause before."""
    for before, after in pairwise(clauses):
        for noun, pronoun in zip(before, after, strict=True):
            if noun is None or pronoun is None or noun.pronoun or not pronoun.pronoun:
                continue
            if not noun.genders & pronoun.genders:
                yield f"'{pronoun.text}' cannot stand for '{noun.text}'"
