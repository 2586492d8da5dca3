"""The settings of each trial of a study: the points of a grid, or what a sampler draws.

What a trial gets does not depend on the worker that asks, or on trials that were interrupted: a
study of two trials that is continued to four equals a study of four.
"""

import itertools
import math
from collections.abc import Sequence
from copy import copy
from inspect import signature
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import (
    BaseSampler,
    CmaEsSampler,
    PartialFixedSampler,
    QMCSampler,
    RandomSampler,
)
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState
from typing_extensions import override

from datamodules.errors import UserError, one_line
from sweeps.studies.settings import Space, Sweep, Value, suggest

SLOT = "slot"
"""Attribute of a trial: its place in the queue, the same for all attempts."""
MOST_POINTS = 10_000  # of a grid


class SlotSampler(BaseSampler):
    """Draws for each slot with a seed of its own, which follows from the study's seed."""

    def __init__(self, sweep: Sweep) -> None:
        self.sweep = sweep
        self.sampler = sweep.make_sampler(sweep.sampler_seed)

    @override
    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        kind, slot = self.sweep.sampler_kind, trial.user_attrs.get(SLOT, 0)
        if issubclass(kind, QMCSampler):
            self.sampler = PartialFixedSampler(self._point(slot), RandomSampler())
        elif "seed" in signature(kind).parameters:
            self.sampler = self.sweep.make_sampler(self._seed(slot))
        self.sampler.before_trial(study, trial)

    def _seed(self, slot: int) -> int:
        return int(np.random.SeedSequence([self.sweep.sampler_seed, slot]).generate_state(1)[0])

    def _point(self, slot: int) -> dict[str, Any]:
        """Return a point of a sequence, of which Optuna's sampler draws one after the other."""
        sequence = optuna.create_study(sampler=self.sweep.make_sampler(self.sweep.sampler_seed))
        for _ in range(slot + 1):
            trial = sequence.ask()
            suggest(trial, self.sweep.space)
            sequence.tell(trial, state=TrialState.PRUNED)
        return trial.params

    @override
    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        return self.sampler.infer_relative_search_space(study, trial)

    @override
    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        if isinstance(self.sampler, CmaEsSampler):  # it adds the number of the attempt to its seed
            trial = copy(trial)
            trial.number = trial.user_attrs[SLOT]
        return self.sampler.sample_relative(study, trial, search_space)

    @override
    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        return self.sampler.sample_independent(study, trial, param_name, param_distribution)

    @override
    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        self.sampler.after_trial(study, trial, state, values)


def check_draws(sweep: Sweep) -> None:
    """Draw once. Raises ``UserError`` for a sampler that cannot draw from the space."""
    study = optuna.create_study(sampler=SlotSampler(sweep), directions=sweep.directions)
    study.enqueue_trial({}, user_attrs={SLOT: 0})
    try:
        suggest(study.ask(), sweep.space)
    except Exception as error:  # a user's class may raise anything
        raise UserError(f"sweep.sampler={sweep.sampler}: {one_line(error)}") from error


def settings_to_try(sweep: Sweep) -> list[dict[str, Value]]:
    """Return the settings that need no sampler: those that are known, then those of a grid."""
    points = grid(sweep.space, sweep.grid_points) if sweep.sampler == "grid" else []
    return [*sweep.known, *(point for point in points if point not in sweep.known)]


def grid(space: Space, points: int) -> list[dict[str, Value]]:
    """Return every combination once; a range without steps has that many ``points``.

    Raises ``UserError`` for a space with too many combinations.
    """
    axes = {name: parameter.values(points) for name, parameter in space.items()}
    if (count := math.prod(map(len, axes.values()))) > MOST_POINTS:
        raise UserError(
            f"sweep.sampler=grid: the space has {count:,} combinations, more than {MOST_POINTS:,}; "
            "lower sweep.grid_points, or give another sampler"
        )
    combinations: dict[tuple[tuple[str, Value], ...], dict[str, Value]] = {}
    for values in itertools.product(*axes.values()):
        chosen: dict[str, Value] = {}
        for name, value in zip(axes, values, strict=True):
            if space[name].applies(chosen):
                chosen[name] = value
        combinations.setdefault(tuple(chosen.items()), chosen)
    return list(combinations.values())
