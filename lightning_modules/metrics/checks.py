"""What every comparison over sentences asks of its lists."""

from collections.abc import Sized


def check_aligned(**lists: Sized) -> None:
    """Raise ``ValueError`` that names both counts unless every list is as long as the first."""
    (first, expected), *others = ((name, len(entries)) for name, entries in lists.items())
    for name, found in others:
        if found != expected:
            raise ValueError(f"{found} {name} for {expected} {first}")
