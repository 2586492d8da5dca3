"""Quality against cost, size and speed of the models."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from statistics import mean

from typing_extensions import override

from lightning_modules.figures.charts import Chart, Width
from lightning_modules.figures.cost_chart import Costs, cost_chart
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
    Column("flops", "training FLOPs", "size"): lambda result: result.training.flops,
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


MEANS = "Means over seeds."
NOTE = "Bars: 95% intervals of BLEU over test sentences."


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
        MEANS if len(comparison.runs) > len(comparison.systems) else "",
    )


def _means(comparison: Comparison, measure: Callable[[Result], float | None]) -> list[float | None]:
    return [mean_over(runs, measure) for runs in comparison.by_system.values()]


def mean_over(runs: Sequence[RunOutput], measure: Callable[[Result], float | None]) -> float | None:
    """Return the mean of a measure over the runs of a system that recorded it."""
    known = [value for run in runs if (value := measure(run.result)) is not None]
    return float(mean(known)) if known else None


COSTS = {"seconds": "training time (seconds)", "flops": "FLOPs of training"}
"""The costs against which quality is drawn, by the keys of their columns."""
LEAST_RATIO = 1.2  # of the highest cost to the lowest one, from which a chart shows something


class Speed(Section):
    """Quality against cost, and all costs; nothing for files, whose costs are not known."""

    template = '{% include "sections/speed.html.j2" %}'
    costs = COSTS

    @property
    @override
    def heading(self) -> str:
        return "Quality against cost" if self._drawn else "Cost"

    @override
    def tables(self) -> Sequence[Table]:
        comparison = self.findings.comparison
        return [speed_table(comparison)] if comparison.runs else []

    @override
    def figures(self, width: Width) -> Mapping[str, Chart]:
        """Return BLEU against each cost that at least two systems recorded, and that differs."""
        labels = {each.name: each.label for each in self.findings.evaluation.systems}
        note = f"{MEANS} {NOTE}" if self.findings.several_seeds else NOTE
        return {
            f"bleu_by_{key}": cost_chart(known, labels, COSTS[key], "BLEU", note, width)
            for key, known in self._drawn.items()
        }

    @cached_property
    def _drawn(self) -> dict[str, Costs]:
        """Cost and BLEU of each system, for each cost that has a figure."""
        evaluation, by_system = self.findings.evaluation, self.findings.comparison.by_system
        if len(evaluation.groups) != 1 or self.findings.alone:
            return {}
        measures = {column.key: measure for column, measure in MEASURES.items()}
        drawn: dict[str, Costs] = {}
        for key in COSTS:
            known = {
                system.label: (cost, score)
                for system, runs in by_system.items()
                if (cost := mean_over(runs, measures[key])) is not None
                and (score := evaluation.estimate(system, None, "bleu")) is not None
            }
            costs = [cost for cost, _ in known.values()]
            if len(known) > 1 and max(costs) >= LEAST_RATIO * min(costs):
                drawn[key] = known
        return drawn
