"""Costs of the models of a comparison: size, training, decoding."""

from collections.abc import Callable, Iterator
from statistics import mean

from lightning_modules.runs.schema import Result
from sweeps.comparison.collect import Comparison, Variant
from sweeps.evaluation.score_tables import system_column
from sweeps.evaluation.tables import Column, Table

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
    Column("sentences_per_second", "decoding sentences/s", "number"): (
        lambda result: result.decoding.get("sentences_per_second")
    ),
}


def speed_table(comparison: Comparison) -> Table:
    """Return a table of each variant's measures, as means over the seeds that recorded them."""
    rows = [[each.name, *map(_mean, _recorded(each))] for each in comparison.variants]
    return Table(
        "speed",
        "Size and speed",
        [system_column(each.system for each in comparison.variants), *MEASURES],
        rows,
        {"finished runs": len(comparison.runs)},
        "Means over seeds.",
    )


def _recorded(variant: Variant) -> Iterator[list[float]]:
    for measure in MEASURES.values():
        values = (measure(run.result) for run in variant.runs)
        yield [value for value in values if value is not None]


def _mean(values: list[float]) -> float | None:
    return float(mean(values)) if values else None
