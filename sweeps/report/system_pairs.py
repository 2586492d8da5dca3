"""Systems of one test set, their differences by tests, and sentences about these."""

from dataclasses import dataclass, replace
from functools import cached_property

from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.lengths import Bounds
from lightning_modules.metrics.systems import System
from sweeps.comparison.evaluation import EvalGroup, Evaluation
from sweeps.comparison.numbers import format_estimate, p_statement
from sweeps.comparison.significance_tables import SignificanceTests, differ


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


def quote(system: System) -> str:
    """Return the label in quotes, since labels have commas and spaces."""
    return f"“{system.label}”"


BLEU = "bleu"
WHOLE = "all"  # the name of the whole test set among its parts


@dataclass(frozen=True)
class Difference:
    """The score of one system less that of another."""

    value: Estimate
    p: float  # p-value of the bootstrap after Holm's correction over all tests
    real: bool  # whether bootstrap and randomisation both find the difference

    @property
    def ahead(self) -> bool:
        """Whether the test says that the first system is better."""
        return self.real and self.value.value > 0

    @property
    def behind(self) -> bool:
        """Whether the test says that the first system is worse."""
        return self.real and self.value.value < 0

    @property
    def size(self) -> str:
        """The difference without its sign, with its interval."""
        return format_estimate(self.value if self.value.value >= 0 else -self.value, 1)


@dataclass(frozen=True, eq=False)
class GroupTests:
    """Systems that translated one test set, and what tests say of their differences."""

    evaluation: Evaluation
    group: EvalGroup
    tests: SignificanceTests

    @cached_property
    def ranked(self) -> list[System]:
        """The systems with BLEU, the highest first."""
        scores = {s: self.evaluation.estimate(s, None, BLEU) for s in self.group.systems}
        known = {system: score.value for system, score in scores.items() if score is not None}
        return sorted(known, key=lambda system: -known[system])

    @cached_property
    def bounds(self) -> list[Bounds]:
        """The length groups with enough sentences to be tested, shortest first."""
        return [each.bounds for each in self.group.buckets if not each.thin]

    @cached_property
    def _tests(self) -> dict[tuple[str, str, str], Difference]:
        """Tests by the names of first and second system and the lengths, in both directions."""
        found: dict[tuple[str, str, str], Difference] = {}
        for test in self.tests.tests:
            p, real = test.p_bootstrap_holm, differ(test)
            found[test.first, test.second, test.subset] = Difference(test.difference, p, real)
            found[test.second, test.first, test.subset] = Difference(-test.difference, p, real)
        return found

    def difference(self, first: System, second: System, subset: str) -> Difference | None:
        """Return the difference on the sentences named ``subset``; None where it is not tested."""
        return self._tests.get((first.name, second.name, subset))

    def by_length(self, first: System, second: System) -> list[tuple[Bounds, Difference]]:
        """Return the tested differences in the length groups, shortest first."""
        return [
            (bounds, found)
            for bounds in self.bounds
            if (found := self.difference(first, second, bounds.label)) is not None
        ]

    def bleu(self, system: System, bounds: Bounds | None = None) -> Estimate:
        """Return BLEU with its interval over sentences, without the deviation over seeds."""
        estimate = self.evaluation.estimate(system, bounds, BLEU)
        assert estimate is not None
        return replace(estimate, deviation=None)

    def named(self, bounds: Bounds) -> str:
        """Return the name of a length group with its unit."""
        return self.evaluation.scoring.bucket_name(bounds)

    def tested(self, p: float) -> str:
        """Return how a difference was tested; ``p`` is the largest of the p-values meant."""
        return (
            f"paired bootstrap, {p_statement(p, self.tests.floor)} "
            f"(Holm, {len(self.tests.tests)} tests)"
        )
