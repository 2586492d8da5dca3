"""A condition of a fair comparison, and what was found of it."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import ConfigDict

State = Literal["held", "differs by design", "NOT HELD"]
MARKS: dict[State, str] = {"held": "✓", "differs by design": "◆", "NOT HELD": "✗"}
"""Signs before the states, for readers who see no colours."""


@dataclass(frozen=True)
class Condition:
    """One condition of a fair comparison; ``text`` gives the compared values in one line."""

    name: str
    holds: bool
    """Whether the comparison is fair in this respect."""
    text: str
    by_design: bool = False
    """Whether the values differ because the comparison, or the files of its systems, say so."""
    __pydantic_config__ = ConfigDict(extra="forbid")  # as a ``Record``

    @property
    def state(self) -> State:
        """What a reader is told."""
        if not self.holds:
            return "NOT HELD"
        return "differs by design" if self.by_design else "held"


def check_equal(
    name: str, labels: Sequence[str], values: Sequence[Hashable], template: str = "{}"
) -> Condition:
    """Check that all values are equal; the text names the runs with unusual values."""
    missing = unrecorded(name, labels, values)
    if missing:
        return missing
    [(usual, _), *others] = Counter(values).most_common()
    text = template.format(usual)
    if others:
        unusual = [
            f"{label}: {template.format(value)}"
            for label, value in dict.fromkeys(zip(labels, values, strict=True))
            if value != usual
        ]
        text += f", but {'; '.join(unusual)}"
    return Condition(name, not others, text)


def unrecorded(name: str, labels: Sequence[str], values: Sequence[Hashable]) -> Condition | None:
    """Return a condition that does not hold if a run did not record its value, else None."""
    missing = [label for label, value in zip(labels, values, strict=True) if value is None]
    if not missing:
        return None
    return Condition(name, False, f"not recorded by {', '.join(dict.fromkeys(missing))}")
