"""Check that parallel lists have equal length."""

from collections.abc import Sized


def check_aligned(**lists: Sized) -> None:
    """Raise ``ValueError`` that names both counts unless every list is as long as the first."""
    (first, expected), *others = ((name, len(entries)) for name, entries in lists.items())
    for name, count in others:
        if count != expected:
            raise ValueError(f"{count} {name} for {expected} {first}")
