"""Alarms of several runs together, as the page, the terminal and the scoreboard of claims open.

Runs whose scores mean little are named. That trainings were still improving is one line about all
of them: most short trainings are, and a reader needs to know how much.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from lightning_modules.runs.schema import AlarmKind, Result
from lightning_modules.testing.alarms import HEADINGS
from lightning_modules.training.budgets import kind_of
from sweeps.comparison.numbers import in_words

NAMED = 5  # most runs that an alarm names
TITLE = "Too little learned"
RISING: AlarmKind = "rising"
ADVICE = "Scores of such runs say little: train longer{}, or with another optimizer.lr."
"""What to do about runs whose scores mean little; ``{}`` is an override with twice the budget."""


@dataclass(frozen=True)
class Alarms:
    """The alarms of several runs."""

    runs: int  # number of runs that were looked at
    found: dict[AlarmKind, list[str]]
    """The names of the runs whose scores mean little, each with what was measured, by the kind of
    alarm, the worst first."""
    alarmed: int  # number of these runs
    rises: Sequence[float] = ()
    """Shares of the validation BLEU that the last fifth added, of runs where these are large."""
    falls: Sequence[float] = ()
    """Shares of the validation loss that the last half took, of runs where it still falls."""
    improved: int = 0  # number of runs of which one of both is true
    longer: str = ""  # override that trains twice as long; empty where runs differ

    @property
    def title(self) -> str:
        """The alarm about runs whose scores mean little, in a few words."""
        if self.runs == 1:
            return TITLE
        have = "has" if self.alarmed == 1 else "have"
        return f"{self.alarmed} of {self.runs} training runs {have} learned too little"

    @property
    def lines(self) -> list[tuple[str, str]]:
        """For each kind of alarm, what it says, and the runs whose scores mean little."""
        return [(_sentence(HEADINGS[kind]), _listed(names)) for kind, names in self.found.items()]

    @property
    def improving(self) -> str | None:
        """How many trainings were still improving, and how much; None without any."""
        if not self.improved:
            return None
        how = []
        if self.rises:
            of = self._of(self.rises)
            gained = f"{_range(self.rises)} of its last value"
            how.append(f"over the last fifth, validation BLEU rose by {gained}{of}")
        if self.falls:
            of = self._of(self.falls)
            how.append(f"over the last half, the validation loss fell by {_range(self.falls)}{of}")
        return f"{_sentence(self.improving_in_short)}: {'; '.join(how)}. Train longer to be sure."

    def _of(self, shares: Sequence[float]) -> str:
        return "" if len(shares) == self.improved else f" ({len(shares)} of them)"

    @property
    def improving_in_short(self) -> str:
        """How many trainings were still improving, in a few words."""
        if self.runs == 1:
            return HEADINGS[RISING]
        were, they = ("was", "it") if self.improved == 1 else ("were", "they")
        said = f"{self.improved} of {self.runs} training runs {were} still improving"
        return f"{said} when {they} ended"

    @property
    def advice(self) -> str:
        """What to do about the runs whose scores mean little."""
        return ADVICE.format(f" with {self.longer}" if self.longer else "")

    @property
    def text(self) -> list[str]:
        """All that is alarming, without marks."""
        named = [self.title, *(f"{heading}: {runs}" for heading, runs in self.lines)]
        return [*(named if self.found else ()), *([self.improving] if self.improving else ())]

    @property
    def in_short(self) -> str:
        """The kinds of alarms in one line; of several kinds with the numbers of their runs."""
        if self.runs > 1 and len(self.found) == 1:
            return HEADINGS[next(iter(self.found))]
        return ", ".join(
            f"{HEADINGS[kind]} ({names[0] if self.runs == 1 else len(names)})"
            for kind, names in self.found.items()
        )


def alarms_over(
    runs: Iterable[tuple[str, Result]], kinds: Collection[AlarmKind] = tuple(HEADINGS)
) -> Alarms | None:
    """Join the alarms of some kinds of runs, each given with its name; None without any.

    A run without a name is alone, and need not be named.
    """
    known = list(runs)
    found: dict[AlarmKind, list[str]] = {}
    for kind in [each for each in kinds if each != RISING]:
        for name, result in known:
            texts = [alarm.text for alarm in result.alarms if alarm.kind == kind]
            if texts:
                told = in_words(texts)
                found.setdefault(kind, []).append(f"{name} ({told})" if name else told)
    judged = [result for _, result in known] if RISING in kinds else []
    ends = [(each.training.convergence, RISING in {a.kind for a in each.alarms}) for each in judged]
    rises = [end.last_fifth_bleu or 0.0 for end, rose in ends if rose]
    falls = [end.fall or 0.0 for end, _ in ends if end.still_falls]
    improved = sum(rose or end.still_falls for end, rose in ends)
    if not found and not improved:
        return None
    alarmed = sum(any(alarm.kind in found for alarm in result.alarms) for _, result in known)
    longer = _longer([result for _, result in known])
    return Alarms(len(known), found, alarmed, rises, falls, improved, longer)


def _longer(results: Sequence[Result]) -> str:
    """Return an override with twice the budget of all runs; nothing where their budgets differ."""
    kinds = [kind_of(result.config) for result in results]
    budgets = {
        (kind, (result.config.get("budget") or {}).get(kind))
        for kind, result in zip(kinds, results, strict=True)
    }
    [(kind, amount), *others] = budgets
    return "" if others or not isinstance(amount, int) else f"budget.{kind}={2 * amount:_}"


def _range(shares: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys(f"{share:.0%}" for share in (min(shares), max(shares))))


def _sentence(heading: str) -> str:
    return heading[:1].upper() + heading[1:]


def _listed(names: Sequence[str]) -> str:
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    return "; ".join([*names[:NAMED], *more])
