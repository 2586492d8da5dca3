"""Sections on differences between systems: are they real?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from typing_extensions import override

from lightning_modules.figures.charts import Chart, Width
from lightning_modules.figures.lines import Lines, draw_lines, point
from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.lengths import THIN
from lightning_modules.metrics.pair_tests import PairTest
from sweeps.comparison.numbers import format_number, p_statement
from sweeps.comparison.score_tables import origin, origin_in_words
from sweeps.comparison.significance_tables import (
    DAGGER,
    SignificanceTests,
    differ,
    disagree,
    leads,
    significance_table,
)
from sweeps.comparison.tables import Table
from sweeps.report.group_tests import BLEU, GroupTests
from sweeps.report.sections import Section
from sweeps.report.sections.length_curves import length_lines

SYMBOLS = {"better": "↑", "worse": "↓", "alike": "≈"}


@dataclass(frozen=True)
class MatrixCell:
    """Difference of two systems: the row's score minus the column's score."""

    verdict: str  # a key of `SYMBOLS`; `alike` unless both tests find a difference
    difference: str
    interval: str  # its 95% interval, in brackets
    p: str  # p by paired bootstrap: `p = 0.0312`, or `p ≤ 0.0071` at the floor of the resamples
    disagreement: str = ""  # p by randomisation, where it disagrees with the bootstrap

    @property
    def symbol(self) -> str:
        """The verdict as a symbol, for readers who see no colours."""
        return SYMBOLS[self.verdict] + (DAGGER if self.disagreement else "")


@dataclass(frozen=True)
class Matrix:
    """Tests of all pairs of systems on the test sentences of one range of lengths."""

    lengths: str
    sentences: str
    columns: list[str]  # labels of the systems, all but the first
    rows: list[tuple[str, list[MatrixCell | None]]]
    """The label of each system but the last, with a cell for every column; None for a pair that is
    untested or stands in a row above."""


def significance_matrices(tests: SignificanceTests, labels: Mapping[str, str]) -> list[Matrix]:
    """Arrange differences and p-values of tests by systems, given their labels by name, in order.

    Each pair stands once, in the row of its first system. The whole test set comes first. The
    p-values are of the paired bootstrap, after Holm's correction over all tests.
    """
    names = list(labels)
    sentences: dict[str, set[str]] = {}
    for test in tests.tests:
        sentences.setdefault(test.subset, set()).add(str(test.sentences))
    return [
        Matrix(
            lengths,
            "/".join(sorted(counts)),
            [labels[name] for name in names[1:]],
            [
                (
                    labels[row],
                    [
                        _cell(tests, tests.by_pair.get((row, column, lengths)))
                        if column in names[place:]
                        else None
                        for column in names[1:]
                    ],
                )
                for place, row in enumerate(names[:-1], start=1)
            ],
        )
        for lengths, counts in sentences.items()
    ]


def _cell(tests: SignificanceTests, test: PairTest | None) -> MatrixCell | None:
    if test is None:
        return None
    other = p_statement(test.p_randomisation_holm, tests.floor)
    ends = (test.difference.low, test.difference.high)
    shown = [format_number(end, tests.decimals) for end in ends if end is not None]
    return MatrixCell(
        verdict="alike" if not differ(test) else "better" if leads(test) else "worse",
        difference=format_number(test.difference.value, tests.decimals, signed=True),
        interval=f"[{', '.join(shown)}]" if shown else "",
        p=p_statement(test.p_bootstrap_holm, tests.floor),
        disagreement=f"by randomisation {other}" if disagree(test) else "",
    )


DIFFERENCE = "bleu_difference_by_length"
"""Name of the figure of differences."""
HOW_TO_READ_DIFFERENCES = (
    "BLEU of each system minus that of {}, which has the highest on the whole test set. The "
    "bootstrap is paired, over test sentences and seeds, without correction for several tests. "
    "Length groups with fewer than {} sentences are left out. {}"
)


def difference_lines(tests: GroupTests, width: Width) -> Lines | None:
    """Return each system's BLEU minus that of the best against length; None with one group."""
    best, *others = tests.ranked
    [metric] = [each for each in tests.evaluation.metrics if each.name == BLEU]
    if len(tests.bounds) < 2:
        return None
    places = {each: round(tests.evaluation.mean_length(each), 2) for each in tests.bounds}
    nothing = Estimate(0.0, 0.0, 0.0)
    differences = {
        best: dict.fromkeys(tests.bounds, nothing),
        **{
            each: {bounds: test.difference for bounds, test in tests.by_length(each, best)}
            for each in others
        },
    }
    about = origin_in_words(origin(tests.evaluation, BLEU))
    return replace(
        length_lines(tests.evaluation, metric, width),
        points=[
            {"place": places[bounds], **point(system.label, bounds.label, difference)}
            for system, by_length in differences.items()
            for bounds, difference in by_length.items()
        ],
        y_title=f"BLEU minus that of {best.label}",
        from_zero=False,
        baselines={},
        others=[],
        note=HOW_TO_READ_DIFFERENCES.format(best.label, THIN, about),
    )


class Significance(Section):
    """Tests of BLEU: differences from the best, a matrix of all pairs, and every test."""

    heading = "Are the differences real?"
    template = '{% include "sections/significance.html.j2" %}'
    symbols = SYMBOLS

    @property
    def notes(self) -> list[str]:
        """What a reader of the p-values must know; nothing without tests."""
        tests = self.findings.significance.get("bleu")
        return [tests.why_no_less, tests.why_they_disagree] if tests else []

    @property
    def matrices(self) -> list[Matrix]:
        """A matrix for each range of lengths, with the highest BLEU first; none without tests."""
        tests, evaluation = self.findings.significance.get("bleu"), self.findings.evaluation
        bleu = {each: evaluation.mean(each, None, BLEU) or 0.0 for each in evaluation.systems}
        labels = {each.name: each.label for each in sorted(bleu, key=lambda each: -bleu[each])}
        return significance_matrices(tests, labels) if tests else []

    @override
    def figures(self, width: Width) -> Mapping[str, Chart]:
        if len(self.findings.group_tests) != 1:
            return {}
        [tests] = self.findings.group_tests
        lines = difference_lines(tests, width)
        return {} if lines is None else {DIFFERENCE: draw_lines(lines, width)}

    @override
    def tables(self) -> Sequence[Table]:
        tested = self.findings.significance.items()
        evaluation = self.findings.evaluation
        return [significance_table(evaluation, tests) for name, tests in tested if name == "bleu"]


class OtherDifferences(Section):
    """Tests of every other score."""

    heading = "Differences in other scores"
    template = '{% include "sections/choice.html.j2" %}'

    @override
    def tables(self) -> Sequence[Table]:
        tested = self.findings.significance.items()
        evaluation = self.findings.evaluation
        return [significance_table(evaluation, tests) for name, tests in tested if name != "bleu"]
