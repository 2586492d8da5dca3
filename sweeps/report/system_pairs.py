"""Systems of one test set, their differences by tests, and sentences about these."""

from dataclasses import dataclass, replace
from functools import cached_property

from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.lengths import Bounds
from lightning_modules.metrics.pair_tests import PairTest
from lightning_modules.metrics.systems import System
from sweeps.comparison.evaluation import EvalGroup, Evaluation
from sweeps.comparison.numbers import format_estimate, p_statement
from sweeps.comparison.significance_tables import SignificanceTests


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


LengthLead = tuple[Bounds, PairTest]  # a length group, and how two systems differ in this group


def size(test: PairTest) -> str:
    """Return the difference without its sign, with its interval."""
    return format_estimate(max(test.difference, -test.difference, key=lambda d: d.value), 1)


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

    def test(self, first: System, second: System, subset: str) -> PairTest | None:
        """Return the test on the sentences named ``subset``; None where there is none."""
        return self.tests.by_pair.get((first.name, second.name, subset))

    def by_length(self, first: System, second: System) -> list[LengthLead]:
        """Return the tests in the length groups, shortest first."""
        return [
            (bounds, found)
            for bounds in self.bounds
            if (found := self.test(first, second, bounds.label)) is not None
        ]

    def bleu(self, system: System, bounds: Bounds | None = None) -> Estimate:
        """Return BLEU with its interval over sentences, without the deviation over seeds."""
        estimate = self.evaluation.estimate(system, bounds, BLEU)
        assert estimate is not None
        return replace(estimate, deviation=None)

    def named(self, bounds: Bounds) -> str:
        """Return the name of a length group with its unit."""
        return self.evaluation.scoring.bucket_name(bounds)

    def tested(self, *tests: PairTest) -> str:
        """Return how differences were tested, and the largest p-value."""
        p = p_statement(max(each.p_bootstrap_holm for each in tests), self.tests.floor)
        return f"paired bootstrap, {p} (Holm, {len(self.tests.tests)} tests)"
