"""How the translations of each system fail, by sentence length: kinds, their shares, a table."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lightning_modules.metrics.bootstrap import Estimate, ScoredSubset, score_subsets
from lightning_modules.metrics.failures import (
    COUNTS,
    SHARES,
    TranslationKind,
    kind_counts,
    translation_kinds,
)
from lightning_modules.metrics.lengths import Bounds
from lightning_modules.metrics.systems import Output, System
from sweeps.comparison.evaluation import Evaluation
from sweeps.comparison.score_tables import origin, seeds, system_column, uncertainty
from sweeps.comparison.tables import Cell, Column, Table


@dataclass(frozen=True, eq=False)
class FailureShares:
    """The kind of every translation of the systems, and the share of each kind by length."""

    evaluation: Evaluation

    @cached_property
    def kinds(self) -> Mapping[str, NDArray[np.int64]]:
        """The kinds by the name of the system, ``(seeds, sentences)``."""
        return {
            system.name: np.stack(
                [translation_kinds(system.test, output.hypotheses) for output in system.outputs]
            )
            for system in self.evaluation.systems
        }

    @cached_property
    def _subsets(self) -> Mapping[str, list[ScoredSubset]]:
        """Whole test set and length groups by the name of the system, drawn as for the scores."""
        scored: dict[str, list[ScoredSubset]] = {}
        for group in self.evaluation.groups:
            counted = [
                System(system.name, system.test, self._outputs(system)) for system in group.systems
            ]
            subsets = score_subsets(
                counted, list(SHARES.values()), group.buckets, self.evaluation.draws
            )
            scored |= {system.name: subsets for system in group.systems}
        return scored

    def _outputs(self, system: System) -> list[Output]:
        pairs = zip(system.outputs, self.kinds[system.name], strict=True)
        return [Output(each.seed, [], {COUNTS: kind_counts(kinds)}, ()) for each, kinds in pairs]

    def share(
        self, system: System, kind: TranslationKind, bounds: Bounds | None = None
    ) -> Estimate | None:
        """Return the percentage of a kind on a length group (None: on all sentences), if known."""
        subsets = [each for each in self._subsets[system.name] if each.bounds == bounds]
        return subsets[0].estimate(system.name, SHARES[kind].name) if subsets else None

    def shares(self, system: System, bounds: Bounds) -> dict[TranslationKind, Estimate]:
        """Return the percentages of all kinds on a length group; empty without sentences."""
        known = {kind: self.share(system, kind, bounds) for kind in TranslationKind}
        return {kind: share for kind, share in known.items() if share is not None}


def failure_table(failures: FailureShares) -> Table:
    """Return a table with a row for each system and length group: the share of each kind."""
    evaluation = failures.evaluation
    parts: list[Bounds | None] = [None, *evaluation.bounds]
    rows: list[list[Cell]] = [
        [
            system.name,
            seeds(system),
            "all" if bounds is None else bounds.label,
            sentences,
            *(failures.share(system, kind, bounds) for kind in TranslationKind),
        ]
        for system in evaluation.systems
        for bounds in parts
        if (sentences := _sentences(evaluation, system, bounds))
    ]
    columns = [
        system_column(evaluation.systems),
        Column("seeds", "seed"),
        Column("lengths", "lengths"),
        Column("sentences", "sentences", "count"),
        *(Column(each.name, each.label, "estimate", best=each.better) for each in SHARES.values()),
    ]
    return Table(
        "failures_by_length",
        f"How translations fail, by {evaluation.length_axis}",
        columns,
        rows,
        origin(evaluation),
        "Each translation is of one kind; docs/reference/evaluation.md has the thresholds. Of "
        f"several seeds, means. {uncertainty(evaluation)}",
        within="lengths",
    )


def _sentences(evaluation: Evaluation, system: System, bounds: Bounds | None) -> int:
    subsets = evaluation.group(system).subsets
    return next((len(each.index) for each in subsets if each.bounds == bounds), 0)
