"""Alarms of several runs together, as the page, the terminal and the scoreboard of claims open."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lightning_modules.runs.schema import Alarm, AlarmKind
from lightning_modules.testing.alarms import HEADINGS
from sweeps.comparison.numbers import in_words

NAMED = 5  # most runs that an alarm names
TOO_LITTLE, TOO_EARLY = "Too little learned", "Stopped while still improving"


@dataclass(frozen=True)
class Alarms:
    """What is alarming about runs, by kind of alarm, the worst first."""

    runs: int  # number of runs that were looked at
    found: dict[AlarmKind, list[str]]
    """For each kind, the names of its runs, each with what was measured."""
    alarmed: int  # number of runs with at least one alarm

    @property
    def title(self) -> str:
        """The alarm in a few words."""
        said = TOO_EARLY if set(self.found) == {"rising"} else TOO_LITTLE
        return said if self.runs == 1 else f"{said}: {self.alarmed} of {self.runs} trainings"

    @property
    def lines(self) -> list[tuple[str, str]]:
        """For each kind of alarm, what it says, and the runs that it is about."""
        return [
            (HEADINGS[kind][:1].upper() + HEADINGS[kind][1:], _listed(names))
            for kind, names in self.found.items()
        ]

    @property
    def text(self) -> list[str]:
        """The title and the lines, without marks."""
        return [self.title, *(f"{heading}: {runs}" for heading, runs in self.lines)]

    @property
    def in_short(self) -> str:
        """The kinds of alarms with the numbers of their runs, in one line."""
        return ", ".join(
            f"{HEADINGS[kind]} ({names[0] if self.runs == 1 else len(names)})"
            for kind, names in self.found.items()
        )


def alarms_over(runs: Iterable[tuple[str, Sequence[Alarm]]]) -> Alarms | None:
    """Join the alarms of runs, each given with its name; None without any.

    A run without a name is alone, and need not be named.
    """
    known = list(runs)
    found: dict[AlarmKind, list[str]] = {}
    for kind in HEADINGS:
        for name, alarms in known:
            texts = [alarm.text for alarm in alarms if alarm.kind == kind]
            if texts:
                told = in_words(texts)
                found.setdefault(kind, []).append(f"{name} ({told})" if name else told)
    alarmed = sum(bool(alarms) for _, alarms in known)
    return Alarms(len(known), found, alarmed) if found else None


def _listed(names: Sequence[str]) -> str:
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    return "; ".join([*names[:NAMED], *more])
