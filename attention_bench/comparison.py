"""Several runs side by side: the tables, charts and findings of a comparison."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from attention_bench.run import Run
from datamodules.errors import UserError, validated
from lightning_modules.runs.job import quoted
from sweeps.launch.compose import task_settings

if TYPE_CHECKING:  # these take seconds
    import pandas as pd

    from lightning_modules.figures.charts import Chart
    from sweeps.report.report import Report

FOLDER = "comparison"
"""Name of a comparison that is in no folder."""
CURVE = "bleu_by_length"
"""Name of the main figure."""


@dataclass(frozen=True, eq=False)
class RunComparison:
    """A comparison of runs, see ``compare``; a notebook shows what was found and BLEU by length."""

    report: "Report"

    @property
    def findings(self) -> list[str]:
        """What was found, each sentence with its test."""
        return [str(each) for each in self.report.findings.headline]

    @property
    def cautions(self) -> list[str]:
        """Alarms about the trainings, and what else limits the findings, such as a single seed."""
        found = self.report.findings
        alarms = found.alarms.text if found.alarms else []
        return [*alarms, *(str(each) for each in (found.caution, found.next_step) if each)]

    @property
    def unfair(self) -> list[str]:
        """The conditions of a fair comparison that do not hold."""
        conditions = self.report.findings.comparison.conditions
        return [
            f"{each.name}: {each.text}" for each in conditions if not (each.holds or each.by_design)
        ]

    @cached_property
    def tables(self) -> Mapping[str, "pd.DataFrame"]:
        """The tables by the names that their files have in a comparison's folder."""
        import pandas as pd

        return {
            name: pd.DataFrame(table.values, columns=table.fields)
            for name, table in self.report.tables.items()
        }

    @property
    def charts(self) -> Mapping[str, "Chart"]:
        """The figures by the names of their files; ``bleu_by_length`` is the main one."""
        return self.report.figures

    def save(self, folder: str | Path) -> Path:
        """Write the files of a comparison: report.html, tables, figures. Return the folder."""
        from sweeps.report.publish import write_figures, write_report

        out = Path(folder)
        out.mkdir(parents=True, exist_ok=True)
        write_report(self.report, out)
        write_figures(self.report, out)
        return out

    def _repr_html_(self) -> str:
        from lightning_modules.figures.picture_files import as_html

        told = [*self.cautions, *self.findings, *(f"not fair: {each}" for each in self.unfair)]
        found = "".join(f"<li>{escape(each)}</li>" for each in told)
        drawn = as_html(self.charts[CURVE]) if CURVE in self.charts else ""
        return f"<ul>{found}</ul>{drawn}"


def compare(runs: Iterable[Run | str | Path], *overrides: str) -> RunComparison:
    """Compare runs, as ``task=compare`` does; a folder of runs stands for all runs in it.

    ``overrides`` are those of the command line, such as ``scoring.equal_buckets=5``. No file is
    written. Raises ``UserError`` for runs that cannot be compared, or that failed.
    """
    if isinstance(runs, str | Path | Run):
        raise UserError("runs: give a list of runs or folders")
    named = [each.folder if isinstance(each, Run) else Path(each) for each in runs]
    from lightning_modules.testing.scoring import Scoring
    from sweeps.report.report import ReportSettings
    from sweeps.tasks.compare import report_of, runs_in

    folders = runs_in(named)
    listed = ",".join(map(quoted, folders))
    config = task_settings(["task=compare", f"runs=[{listed}]", *overrides])
    report = report_of(
        folders,
        Path(FOLDER),
        validated(Scoring, config.scoring, "scoring"),
        validated(ReportSettings, config.report, "report"),
    )
    if failed := report.findings.comparison.failed:
        first = failed[0]
        raise UserError(f"{first.folder}: {first.error}; leave the run out, or train it again")
    return RunComparison(report)
