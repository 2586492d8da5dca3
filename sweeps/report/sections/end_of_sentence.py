"""When a model would end a reference: the probability of EOS by position."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import altair as alt
from typing_extensions import override

from lightning_modules.figures.charts import Chart, Width
from lightning_modules.figures.lines import Lines, figures_of, point, with_margins
from lightning_modules.metrics.ends import COUNTS, ENDS
from lightning_modules.metrics.lengths import Bounds
from lightning_modules.runs.identity import Identity
from sweeps.comparison.evaluation import Evaluation, evaluate_further
from sweeps.comparison.score_tables import (
    origin,
    origin_in_words,
    seeds,
    system_column,
    uncertainty,
)
from sweeps.comparison.tables import Cell, Column, Table
from sweeps.report.sections import Section

NAME = "eos_by_position"
TITLE = "tokens that the reference still has"
NOTE = (
    "Mean probability (%) of the end of the sentence, when the model is forced to produce the "
    f"reference, by the number of {TITLE}: at 0 the reference ends. Systems that differ in the "
    "search alone have one row."
)


class Ends(Section):
    """Probability of EOS; nothing for runs without ``scoring.probabilities``."""

    heading = "When would the model end?"

    @cached_property
    def _evaluation(self) -> Evaluation:
        """The first system of each training, as far as EOS has been measured."""
        systems, known = [], set[frozenset[str]]()
        for system, runs in self.findings.comparison.by_system.items():
            trainings = frozenset(Identity.of_result(run.result).training for run in runs)
            measured = all(COUNTS in output.statistics for output in system.outputs)
            if measured and trainings not in known:
                known.add(trainings)
                systems.append(system)
        evaluation = evaluate_further(
            self.findings.evaluation, ENDS, lambda _, output: output.statistics.get(COUNTS)
        )
        return replace(evaluation, systems=systems)

    @override
    def tables(self) -> Sequence[Table]:
        evaluation = self._evaluation
        groups = [None, *evaluation.bounds]
        rows: list[list[Cell]] = [
            [
                system.name,
                seeds(system),
                "all" if bounds is None else evaluation.scoring.bucket_name(bounds),
                *(evaluation.estimate(system, bounds, each.name) for each in ENDS),
            ]
            for system in evaluation.systems
            for bounds in groups
        ]
        if not rows:
            return []
        columns = [system_column(evaluation.systems), Column("seeds", "seed")]
        columns.append(Column("group", "length"))
        columns += [Column(each.name, each.label, "estimate", each.decimals) for each in ENDS]
        title = f"Probability of the end (%), by {TITLE}"
        return [
            Table(NAME, title, columns, rows, self._origin, f"{NOTE} {uncertainty(evaluation)}")
        ]

    @property
    def _origin(self) -> dict[str, str | int]:
        return origin(self.findings.evaluation)

    @override
    def figures(self, width: Width) -> Mapping[str, Chart]:
        """Return the figure of the longest group with enough sentences."""
        evaluation = self._evaluation
        thick = [subset for group in evaluation.groups for subset in group.subsets[1:]]
        lengths = [subset.bounds for subset in thick if subset.bounds and not subset.thin]
        if not evaluation.systems or not lengths:
            return {}
        longest = max(lengths, key=lambda bounds: bounds.low)
        return figures_of(NAME, self._lines(longest, width), width)

    def _lines(self, bounds: Bounds, width: Width) -> Lines:
        """Return the probability from far before the end of the reference to its end."""
        evaluation = self._evaluation
        places = range(len(ENDS))
        names = ", ".join(f"'{place}': '{ENDS[-1 - place].label}'" for place in places)
        domain = with_margins(places)
        return Lines(
            labels={system.name: system.label for system in evaluation.systems},
            points=[
                {"place": place, **point(system.label, f"{each.label} tokens before", estimate)}
                for system in evaluation.systems
                for place, each in enumerate(reversed(ENDS))
                if (estimate := evaluation.estimate(system, bounds, each.name)) is not None
            ],
            x=alt.X(
                "place:Q",
                title=TITLE[0].upper() + TITLE[1:],
                scale=alt.Scale(domain=domain, nice=False),
                axis=alt.Axis(
                    values=list(places), labelExpr=f"{{{names}}}[datum.value]", grid=False
                ),
            ),
            y_title="probability of the end (%)",
            from_zero=True,
            title=evaluation.scoring.bucket_name(bounds),
            note=f"{NOTE} {origin_in_words(self._origin)}",
        )
