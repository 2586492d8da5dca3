"""Size and speed of the models."""

from collections.abc import Callable, Sequence
from statistics import mean

from typing_extensions import override

from lightning_modules.runs.schema import Result
from sweeps.comparison.collect import Comparison
from sweeps.comparison.outputs import RunOutput
from sweeps.comparison.score_tables import system_column
from sweeps.comparison.tables import Column, Table
from sweeps.report.sections import Section

MEASURES: dict[Column, Callable[[Result], float | None]] = {
    Column("parameters", "parameters", "size"): lambda result: result.parameters,
    Column("target_tokens", "target tokens trained on", "size"): (
        lambda result: result.training.target_tokens
    ),
    Column("target_tokens_per_second", "training tokens/s", "size"): (
        lambda result: result.training.target_tokens_per_second
    ),
    Column("seconds", "training seconds", "number"): lambda result: result.training.seconds,
    Column("waited", "share waited for data", "number", 3): lambda result: result.training.waited,
    Column("peak_memory_mib", "peak memory (MiB)", "number", 0): (
        lambda result: result.peak_memory_mib
    ),
    Column("peak_device_memory_mib", "peak GPU memory (MiB)", "number", 0): (
        lambda result: result.peak_device_memory_mib
    ),
    Column("sentences_per_second", "decoding sentences/s", "number"): (
        lambda result: result.decoding.get("sentences_per_second")
    ),
}


def speed_table(comparison: Comparison) -> Table:
    """Return a table of each variant's measures, as means over the seeds that recorded them.

    A measure that no run recorded, such as a GPU's memory on a CPU, has no column.
    """
    means = {column: _means(comparison, measure) for column, measure in MEASURES.items()}
    known = {column: cells for column, cells in means.items() if cells.count(None) < len(cells)}
    rows = [
        [system.name, *cells]
        for system, *cells in zip(comparison.systems, *known.values(), strict=True)
    ]
    return Table(
        "speed",
        "Size and speed",
        [system_column(comparison.systems), *known],
        rows,
        {"finished runs": len(comparison.runs)},
        "Means over seeds.",
    )


def _means(comparison: Comparison, measure: Callable[[Result], float | None]) -> list[float | None]:
    return [mean_over(runs, measure) for runs in comparison.by_system.values()]


def mean_over(runs: Sequence[RunOutput], measure: Callable[[Result], float | None]) -> float | None:
    """Return the mean of a measure over the runs of a system that recorded it."""
    known = [value for run in runs if (value := measure(run.result)) is not None]
    return float(mean(known)) if known else None


class Speed(Section):
    """Costs of the models; nothing for files, whose costs are not known."""

    heading = "Size and speed"

    @override
    def tables(self) -> Sequence[Table]:
        comparison = self.findings.comparison
        return [speed_table(comparison)] if comparison.runs else []
