"""A sentence about what was found."""

from collections.abc import Sequence
from dataclasses import dataclass

from lightning_modules.metrics.systems import System


@dataclass(frozen=True)
class Finding:
    """A sentence about the systems, and the test that stands behind the sentence."""

    claim: str
    test: str
    short: str = ""
    """The claim in a few words, for the top of the page; empty for a claim of the second rank."""

    def on(self, part: str) -> "Finding":
        """Return the finding, said of one of several test sets."""
        return Finding(f"On {part}: {self.claim[:1].lower()}{self.claim[1:]}", self.test)

    def __str__(self) -> str:
        """Return both in one line."""
        return f"{self.claim} ({self.test})"


def quoted(system: System) -> str:
    """Return the label in quotes, since labels have commas and spaces."""
    return f"“{system.label}”"


def enumerated(parts: Sequence[str]) -> str:
    """Return ``a, b and c``."""
    *some, last = parts
    return f"{', '.join(some)} and {last}" if some else last
