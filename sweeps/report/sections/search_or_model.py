"""Wrong translations that a better search would avoid, and those that the model prefers."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from typing_extensions import override

from lightning_modules.metrics.metric import Array
from lightning_modules.metrics.search_errors import (
    COUNTS,
    KINDS,
    MODEL_ERRORS,
    OUTPUT,
    SEARCH_ERRORS,
    error_counts,
    search_scores,
)
from lightning_modules.metrics.systems import Output, System
from lightning_modules.metrics.text_metrics import ExactMatch
from lightning_modules.runs.identity import Identity
from lightning_modules.runs.schema import Result
from sweeps.comparison.evaluation import Evaluation, evaluate_further
from sweeps.comparison.outputs import RunOutput
from sweeps.comparison.score_tables import by_length, origin, seeds, system_column, uncertainty
from sweeps.comparison.tables import Cell, Column, Table
from sweeps.report.sections import Section

SEARCHES = ("BeamSearch", "GreedySearch")
"""Searches for the translation with the highest score; samples and risks are something else."""
NOTE = (
    "A search error: the model gives a higher score to the reference, or to the translation that "
    "another search of the same training has found. A model error: no translation that is known "
    "has a higher score than the wrong one. The best translation of all is unknown, so that some "
    "model errors may be search errors. Scores are those by which the search ranks."
)


class SearchErrors(Section):
    """Kinds of errors; nothing for runs without ``scoring.probabilities``."""

    heading = "The search or the model?"

    @cached_property
    def _runs(self) -> dict[Output, RunOutput]:
        return {run.output: run for run in self.findings.comparison.runs if _is_judged(run)}

    @cached_property
    def _evaluation(self) -> Evaluation:
        evaluation = evaluate_further(self.findings.evaluation, KINDS, self._counts)
        judged = [
            system
            for system in evaluation.systems
            if all(output in self._runs for output in system.outputs)
        ]
        return replace(evaluation, systems=judged)

    @cached_property
    def _trainings(self) -> dict[Output, str]:
        """The training of each judged run, by its output."""
        found = self._runs.items()
        return {output: Identity.of_result(run.result).training for output, run in found}

    def _counts(self, system: System, output: Output) -> Array | None:
        run = self._runs.get(output)
        if run is None:
            return None
        penalty = float(run.result.decoding.get("length_penalty") or 0)
        found = output.statistics[OUTPUT]
        others = [output.statistics["likelihood"], *self._others(run)]
        right = ExactMatch().count(system.test, output.hypotheses)[:, 0]
        scores = [search_scores(each, penalty) for each in others]
        return error_counts(search_scores(found, penalty), scores, right)

    def _others(self, run: RunOutput) -> Iterator[Array]:
        """Yield the likelihood of what other searches of a training found and this one could."""
        training, length = self._trainings[run.output], run.result.decoding.get("length")
        for output, other in self._runs.items():
            same = self._trainings[output] == training and other.test is run.test
            allowed = length is None or other.result.decoding.get("length") == length
            if other is not run and same and allowed:
                yield output.statistics[OUTPUT]

    @override
    def tables(self) -> Sequence[Table]:
        evaluation = self._evaluation
        if not evaluation.systems:
            return []
        columns = [system_column(evaluation.systems), Column("seeds", "seed")]
        columns += [Column(kind.name, kind.label, "estimate", best=kind.better) for kind in KINDS]
        rows: list[list[Cell]] = [
            [
                system.name,
                seeds(system),
                *(evaluation.estimate(system, None, kind.name) for kind in KINDS),
            ]
            for system in evaluation.systems
        ]
        title = "Errors of the search and of the model"
        note, of = f"{NOTE} {uncertainty(evaluation)}", origin(self.findings.evaluation)
        whole = Table(COUNTS, title, columns, rows, of, note)
        return [whole, *(by_length(evaluation, kind) for kind in (SEARCH_ERRORS, MODEL_ERRORS))]


def _is_judged(run: RunOutput) -> bool:
    """Return whether the scores of a search are known, and the reference was allowed."""
    result: Result = run.result
    forbids = ("coverage_penalty", "min_length", "no_repeat_ngram")
    return (
        {OUTPUT, "likelihood"} <= run.output.statistics.keys()
        and result.decoding.get("search") in SEARCHES
        and not any(result.decoding.get(key) for key in forbids)
    )
