"""The scale at which claims were run, and so how far a verdict reaches."""

from collections.abc import Sequence
from typing import NamedTuple, Self

from lightning_modules.runs.settings.table import RESULTS, key_of, overrides_that_affect
from sweeps.claims.claim import TierName

SCOPES: dict[TierName, str] = {
    "laptop": "at laptop scale on a synthetic corpus",
    "bench": "at bench scale on a small corpus of real text",
    "paper": "at the paper's scale",
}
"""What a verdict says of each tier, and no more than that."""
PLACES = ("data.root",)
"""Keys that say where the files of a tier's corpus lie, and not which corpus it is."""


class Scale(NamedTuple):
    """A tier, and what a command changed of the tier."""

    tier: TierName
    changes: tuple[str, ...] = ()
    """Overrides of the command that may change results."""

    @classmethod
    def of(cls, tier: TierName, shared: Sequence[str]) -> Self:
        """Return the scale of a command with overrides that every run takes."""
        found = overrides_that_affect(shared, RESULTS)
        return cls(tier, tuple(each for each in found if key_of(each) not in PLACES))

    @property
    def scope(self) -> str:
        """What the verdicts are about."""
        changed = f", changed by {' '.join(self.changes)}" if self.changes else ""
        return f"{SCOPES[self.tier]}{changed}"
