"""The files of a report."""

from collections.abc import Mapping
from pathlib import Path

from datamodules.files import write_text
from lightning_modules.figures.charts import CAPTION, ENDINGS, Pictures, write_pictures
from lightning_modules.figures.sizes import NARROW
from lightning_modules.metrics.chosen_metrics import signatures
from lightning_modules.runs.reader import BrokenFileError
from lightning_modules.runs.schema import CURVE
from sweeps.comparison.record import (
    ComparisonRecord,
    FailureRecord,
    RunRecord,
    SystemRecord,
    read_comparison,
    write_comparison,
)
from sweeps.evaluation.writing.table_files import FORMATS, write_tables
from sweeps.report.report import Report

TABLES, FIGURES = "tables", "figures"


def write_files(report: Report, pictures: Mapping[str, Pictures], out: Path) -> None:
    """Write ``tables/``, ``figures/``, ``bleu_by_length.csv`` and ``comparison.json``.

    Each file is written whole or not at all. ``pictures`` are those of the report's figures, by
    name. Raises ``UserError`` for a section of the user that fails, before any file is removed.
    """
    tables, record = list(report.tables.values()), _record(report, out)
    write_text(out / CURVE, report.findings.every_seed)
    _remove_earlier(out)
    write_tables(tables, out / TABLES)
    for name, files in pictures.items():
        write_pictures(files, out / FIGURES / name)
    write_comparison(out, record)


def _remove_earlier(out: Path) -> None:
    """Remove the tables and figures that an earlier evaluation left in the same folder."""
    try:
        earlier = read_comparison(out)
    except BrokenFileError:
        return
    narrow = [f"{name}{NARROW}" for name in earlier.figures]
    for kind, names in ((TABLES, earlier.tables), (FIGURES, [*earlier.figures, *narrow])):
        for name in names:
            for ending in (*FORMATS, *ENDINGS, CAPTION):
                (out / kind / f"{Path(name).name}.{ending}").unlink(missing_ok=True)


def _record(report: Report, out: Path) -> ComparisonRecord:
    evaluation, comparison = report.findings.evaluation, report.findings.comparison
    return ComparisonRecord(
        name=report.findings.name,
        scoring=evaluation.scoring,
        resamples=evaluation.draws.count,
        signatures=signatures(evaluation.metrics),
        systems=[
            SystemRecord(
                name=system.name,
                seeds=[output.seed for output in system.outputs],
                sentences=len(system.test.references),
            )
            for system in evaluation.systems
        ],
        tables=list(report.tables),
        figures=list(report.figures),
        conditions=comparison.conditions,
        runs=[RunRecord.of(run, out) for run in comparison.runs],
        failed=[FailureRecord.of(job, out) for job in comparison.failed],
    )
