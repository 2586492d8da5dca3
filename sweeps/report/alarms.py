"""Alarms of several runs together, as the page, the terminal and the scoreboard of claims open.

Runs whose scores mean little are named. That trainings were still improving is one line about all
of them: most short trainings are, and a reader needs to know how much.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lightning_modules.runs.schema import AlarmKind, Result
from lightning_modules.testing.alarms import HEADINGS
from sweeps.comparison.numbers import in_words

NAMED = 5  # most runs that an alarm names
TITLE = "Too little learned"
RISING: AlarmKind = "rising"
NAMING = [kind for kind in HEADINGS if kind != RISING]  # kinds of alarms that name their runs
IMPROVING = (
    "{}: {}validation BLEU rose {} over the last fifth, and longer training may change the results."
)
"""The line about trainings that were still improving: heading, which of them, how much."""


@dataclass(frozen=True)
class Alarms:
    """The alarms of several runs."""

    runs: int  # number of runs that were looked at
    found: dict[AlarmKind, list[str]]
    """The names of the runs whose scores mean little, each with what was measured, by the kind of
    alarm, the worst first."""
    alarmed: int  # number of these runs
    rises: Sequence[float]
    """Of each run that was still improving: the share of its validation BLEU that the last fifth of
    its training added."""

    @property
    def title(self) -> str:
        """The alarm about runs whose scores mean little, in a few words."""
        return TITLE if self.runs == 1 else f"{TITLE}: {self.alarmed} of {self.runs} trainings"

    @property
    def lines(self) -> list[tuple[str, str]]:
        """For each kind of alarm, what it says, and the runs whose scores mean little."""
        return [(_sentence(HEADINGS[kind]), _listed(names)) for kind, names in self.found.items()]

    @property
    def improving(self) -> str | None:
        """How many trainings were still improving, and how much; None without any."""
        if not self.rises:
            return None
        which = "" if self.runs == 1 else f"{len(self.rises)} of {self.runs} trainings; "
        ends = dict.fromkeys(f"{share:.0%}" for share in (min(self.rises), max(self.rises)))
        return IMPROVING.format(_sentence(HEADINGS[RISING]), which, " to ".join(ends))

    @property
    def text(self) -> list[str]:
        """All that is alarming, without marks."""
        named = [self.title, *(f"{heading}: {runs}" for heading, runs in self.lines)]
        return [*(named if self.found else ()), *([self.improving] if self.improving else ())]

    @property
    def in_short(self) -> str:
        """The kinds of alarms with the numbers of their runs, in one line."""
        return ", ".join(
            f"{HEADINGS[kind]} ({names[0] if self.runs == 1 else len(names)})"
            for kind, names in self.found.items()
        )


def alarms_over(runs: Iterable[tuple[str, Result]]) -> Alarms | None:
    """Join the alarms of runs, each given with its name; None without any.

    A run without a name is alone, and need not be named.
    """
    known = list(runs)
    found: dict[AlarmKind, list[str]] = {}
    for kind in NAMING:
        for name, result in known:
            texts = [alarm.text for alarm in result.alarms if alarm.kind == kind]
            if texts:
                told = in_words(texts)
                found.setdefault(kind, []).append(f"{name} ({told})" if name else told)
    kinds = [{alarm.kind for alarm in result.alarms} for _, result in known]
    rises = [
        result.training.convergence.last_fifth_bleu or 0.0
        for (_, result), of_run in zip(known, kinds, strict=True)
        if RISING in of_run
    ]
    alarmed = sum(bool(of_run - {RISING}) for of_run in kinds)
    return Alarms(len(known), found, alarmed, rises) if found or rises else None


def _sentence(heading: str) -> str:
    return heading[:1].upper() + heading[1:]


def _listed(names: Sequence[str]) -> str:
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    return "; ".join([*names[:NAMED], *more])
