"""What each step of a ladder of systems brings: a system compared with the one before it."""

from collections.abc import Sequence

from typing_extensions import override

from lightning_modules.metrics.lengths import Bounds
from lightning_modules.metrics.systems import System
from sweeps.comparison.score_tables import origin, system_column
from sweeps.comparison.tables import Cell, Column, Table
from sweeps.report.group_tests import BLEU, WHOLE, GroupTests
from sweeps.report.sections import Section
from sweeps.report.sections.speed import MEASURES, mean_over

COSTS = ("parameters", "target_tokens_per_second", "sentences_per_second")
NOTE = (
    "Each row compares a system with the system of the row before, in the order of the command: "
    "BLEU less BLEU before, on all test sentences and in each length group with enough of them, "
    "with the 95% interval over sentences and seeds. p as in the table of all tests."
)


class Steps(Section):
    """The systems as steps (``report=ladder``); nothing unless all translated one test set."""

    heading = "What each step brings"

    @override
    def tables(self) -> Sequence[Table]:
        evaluation, bleu = self.findings.evaluation, self.findings.significance.get(BLEU)
        if bleu is None or len(evaluation.groups) > 1:
            return []
        [group] = evaluation.groups
        tests = GroupTests(evaluation, group, bleu)
        systems = group.systems
        costs = [column for column in MEASURES if column.key in COSTS]
        columns = [
            system_column(systems),
            *costs,
            Column("bleu", "BLEU", "estimate"),
            Column("gain", "gain", "estimate"),
            Column("p_holm", "p, bootstrap, after Holm", "p", floor=bleu.floor),
            *(
                Column(f"gain_{bounds.label}", f"gain, {tests.named(bounds)}", "estimate")
                for bounds in tests.bounds
            ),
        ]
        rows: list[list[Cell]] = [
            [
                system.name,
                *(self._cost(system, column) for column in costs),
                evaluation.estimate(system, None, BLEU),
                *_gains(tests, system, before),
            ]
            for before, system in zip([None, *systems[:-1]], systems, strict=True)
        ]
        return [Table("ladder", self.heading, columns, rows, origin(evaluation, BLEU), NOTE)]

    def _cost(self, system: System, column: Column) -> float | None:
        """Return a cost of a system; None for a file of translations."""
        runs = self.findings.comparison.by_system.get(system, [])
        return mean_over(runs, MEASURES[column])


def _gains(tests: GroupTests, system: System, before: System | None) -> list[Cell]:
    """Return the gain over the system before, its p-value, and the gain in each length group."""
    if before is None:
        return [None for _ in range(2 + len(tests.bounds))]
    whole = tests.test(system, before, WHOLE)
    by_length: dict[Bounds, Cell] = {
        bounds: test.difference for bounds, test in tests.by_length(system, before)
    }
    return [
        whole.difference if whole else None,
        whole.p_bootstrap_holm if whole else None,
        *(by_length.get(bounds) for bounds in tests.bounds),
    ]
