"""The findings of a comparison, and their files."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from datamodules.files import write_text
from lightning_modules.figures.charts import ENDINGS, Chart, save_chart
from lightning_modules.metrics.curves import curve_points, format_csv
from lightning_modules.metrics.statistics import signatures
from lightning_modules.runs.reader import BrokenFileError
from lightning_modules.runs.schema import CURVE
from sweeps.comparison.collect import Comparison
from sweeps.comparison.costs import speed_table
from sweeps.comparison.learning_curves import learning_curves, learning_table
from sweeps.comparison.record import (
    ComparisonRecord,
    FailureRecord,
    RunRecord,
    SystemRecord,
    read_comparison,
    write_comparison,
)
from sweeps.evaluation.evaluation import Evaluation
from sweeps.evaluation.figures import Width, group_curve, length_curve
from sweeps.evaluation.ngram_tables import ngram_tables
from sweeps.evaluation.score_tables import score_tables
from sweeps.evaluation.sentence_tables import sentence_tables
from sweeps.evaluation.significance_tables import conclusions, significance_tables
from sweeps.evaluation.tables import FORMATS, Table, write_tables
from sweeps.evaluation.word_tables import word_tables
from sweeps.report.study_section import StudySection

TABLES, FIGURES = "tables", "figures"
WORD_FIGURES = {
    "words_by_frequency": "f1",
    "words_by_case": "f1",
    "source_words_by_frequency": "recall",
    "word_likelihood_by_frequency": "nats",
}
"""Tables of groups that become figures, each with the column to draw."""


@dataclass(frozen=True, eq=False)
class Findings:
    """Evaluated systems and their tables; for runs, also costs and conditions of the training."""

    name: str
    evaluation: Evaluation
    tables: Mapping[str, Table]
    """Tables by name."""
    comparison: Comparison
    studies: StudySection | None = None
    """Studies that tuned the systems; None without tuning."""

    @property
    def conclusions(self) -> list[str]:
        """Lines that say which systems differ."""
        return conclusions(self.evaluation, self.tables)

    @property
    def every_seed(self) -> str:
        """``bleu_by_length.csv``: every score of every output in every length bucket."""
        points = [
            point
            for group in self.evaluation.groups
            for point in curve_points(group.systems, group.subsets)
        ]
        return format_csv(points, self.evaluation.draws)

    @cached_property
    def printed(self) -> dict[str, Chart]:
        """Figures in the width of the files."""
        return self.figures(620)

    def figures(self, width: Width) -> dict[str, Chart]:
        """Return every figure by the name of its file."""
        limits = self.comparison.train_limits
        words = self.evaluation.scoring.unit.endswith("words")
        curves = {
            f"{metric.name}_by_length": length_curve(
                self.evaluation, metric, limits if words else (), width
            )
            for metric in self.evaluation.metrics
        }
        groups = {
            name: group_curve(self.tables[name], column, width)
            for name, column in WORD_FIGURES.items()
            if name in self.tables
        }
        learning = self.tables.get("learning")
        return (
            curves
            | groups
            | (learning_curves(learning, width) if learning else {})
            | (self.studies.curves(width) if self.studies else {})
        )


def gather_findings(
    name: str, evaluation: Evaluation, comparison: Comparison, studies: StudySection | None = None
) -> Findings:
    """Make all tables of an evaluation."""
    tables = [
        *score_tables(evaluation),
        *significance_tables(evaluation),
        *word_tables(evaluation),
        *ngram_tables(evaluation),
        *sentence_tables(evaluation),
        *([speed_table(comparison)] if comparison.runs else []),
        *filter(None, [learning_table(comparison)]),
        *(studies.tables.values() if studies else []),
    ]
    return Findings(name, evaluation, {table.name: table for table in tables}, comparison, studies)


def write_findings(findings: Findings, out: Path) -> None:
    """Write ``tables/``, ``figures/``, ``bleu_by_length.csv`` and ``comparison.json``.

    Each file is written whole or not at all.
    """
    write_text(out / CURVE, findings.every_seed)
    _remove_earlier(out)
    write_tables(list(findings.tables.values()), out / TABLES)
    for name, chart in findings.printed.items():
        save_chart(chart, out / FIGURES / name)
    write_comparison(out, _record(findings, out))


def _remove_earlier(out: Path) -> None:
    """Remove the tables and figures that an earlier evaluation left in the same folder."""
    try:
        earlier = read_comparison(out)
    except BrokenFileError:
        return
    for kind, names in ((TABLES, earlier.tables), (FIGURES, earlier.figures)):
        for name in names:
            for ending in (*FORMATS, *ENDINGS):
                (out / kind / f"{Path(name).name}.{ending}").unlink(missing_ok=True)


def _record(findings: Findings, out: Path) -> ComparisonRecord:
    evaluation, comparison = findings.evaluation, findings.comparison
    return ComparisonRecord(
        name=findings.name,
        scoring=evaluation.scoring,
        resamples=evaluation.draws.count,
        signatures=signatures(),
        systems=[
            SystemRecord(
                name=system.name,
                seeds=[output.seed for output in system.outputs],
                sentences=len(system.test.references),
            )
            for system in evaluation.systems
        ],
        tables=list(findings.tables),
        figures=list(findings.printed),
        conditions=comparison.conditions,
        runs=[RunRecord.of(run, out) for run in comparison.runs],
        failed=[FailureRecord.of(job, out) for job in comparison.failed],
    )
