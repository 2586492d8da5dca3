"""What stands badly in one clause, in all languages, though each part of it is right."""

from collections.abc import Iterator, Set

CLASHES = (
    ("not", "manner", "an adverb of manner under a negation"),
    ("not", "counted", "a negation and how often: which denies which?"),
    ("trait", "habit", "a lasting quality at repeated times"),
    ("trait", "frequency", "a lasting quality with how often"),
    ("state", "frequency", "how often beside a past state"),
    ("done", "single", "could for what was done once"),
)
"""Marks that exclude each other: *not*, adverbs of *manner* and *frequency*, *habit* and *counted*
(*every week*) for times, *trait* for a quality that lasts, *person* for a noun."""


def clashes(marks: Set[str]) -> Iterator[str]:
    """Yield what is wrong with a clause that has these marks."""
    return (finding for one, other, finding in CLASHES if one in marks and other in marks)
