"""What pages show of studies: their costs, what they are expected to find, Optuna's figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lightning_modules.budgets import UNITS, Kind
from lightning_modules.charts import Chart
from sweeps.evaluation.figures import Width
from sweeps.evaluation.tables import Column, Table
from sweeps.studies.outcome import Outcome
from sweeps.studies.performance import DECIMALS, TITLES, performance_curves, performance_table
from sweeps.studies.plots import Picture, draw_pictures

STUDIES = "studies"


@dataclass(frozen=True, eq=False)
class StudySection:
    """Of one study or of several, for ``study_section`` of ``studies.html.j2``.

    A page's ``figures`` and ``files`` are to hold those of ``curves`` and ``tables``.
    """

    tables: Mapping[str, Table]
    """``studies`` and ``search_performance``, by their names."""
    pictures: Mapping[str, Sequence[Picture]]
    """Optuna's, by the names of the studies."""
    parameters: Mapping[str, Sequence[str]]
    """The settings that were tried, by the names of the studies."""
    kind: Kind
    """Of the budget that they spent."""

    def curves(self, width: Width) -> dict[str, Chart]:
        """Search performance by trials and by tokens; none if nothing finished."""
        table = self.tables["search_performance"]
        return performance_curves(table, width) if table.rows else {}


def study_section(outcomes: Sequence[Outcome]) -> StudySection:
    """Bring together what studies of the same first objective found."""
    first = outcomes[0].sweep
    searches = {outcome.sweep.name: outcome.search for outcome in outcomes}
    largest = first.directions[0] == "maximize"
    tables = [
        _studies_table(outcomes),
        performance_table(searches, first.objectives[0], largest),
    ]
    pictures = {
        outcome.sweep.name: draw_pictures(outcome.study, outcome.sweep.objectives)
        for outcome in outcomes
    }
    parameters = {outcome.sweep.name: list(outcome.sweep.space) for outcome in outcomes}
    return StudySection(
        {table.name: table for table in tables}, pictures, parameters, outcomes[0].kind
    )


def _studies_table(outcomes: Sequence[Outcome]) -> Table:
    first, kind = outcomes[0].sweep.objectives[0], outcomes[0].kind
    columns = [
        Column("study", "study"),
        Column("trials", "trials", "count"),
        Column("complete", "finished", "count"),
        Column("pruned", "pruned", "count"),
        Column("fail", "failed", "count"),
        Column("spent", UNITS[kind], "count"),
        Column("seconds", "seconds of trials", "number", 0),
        Column("best", f"best {TITLES[first]}", "number", DECIMALS[first]),
    ]
    rows = [
        [
            outcome.sweep.name,
            len(outcome.trials),
            *(outcome.counts.get(state, 0) for state in ("complete", "pruned", "fail")),
            round(outcome.spent(kind)),
            outcome.seconds,
            outcome.top,
        ]
        for outcome in outcomes
    ]
    note = "Trials that a lost worker left behind count as failed, and again when taken up."
    return Table(STUDIES, "Studies", columns, rows, {"objective": first}, note)
