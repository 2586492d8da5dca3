"""Samplers and pruners: Optuna's or a user's, by name or by dotted path."""

from collections.abc import Mapping
from inspect import signature
from typing import Any, Literal, TypeVar

import hydra.utils
from optuna import pruners, samplers

from datamodules.plugs import find_plug, make_plug

TRIAL_STEPS = 100
"""Steps of a trial for a pruner: hundredths of its budget, over all of its seeds."""
SAMPLERS: dict[str, type[samplers.BaseSampler]] = {
    "tpe": samplers.TPESampler,
    "multivariate_tpe": samplers.TPESampler,
    "cmaes": samplers.CmaEsSampler,
    "gp": samplers.GPSampler,
    "qmc": samplers.QMCSampler,
    "random": samplers.RandomSampler,
    "grid": samplers.RandomSampler,  # never asked: the points of the grid are in the slots already
}
PRUNERS: dict[str, type[pruners.BasePruner]] = {
    "median": pruners.MedianPruner,
    "hyperband": pruners.HyperbandPruner,
    "wilcoxon": pruners.WilcoxonPruner,
    "none": pruners.NopPruner,
}
PrunesBy = Literal["validations", "seeds", "nothing"]
Method = TypeVar("Method", samplers.BaseSampler, pruners.BasePruner)
Options = Mapping[str, Any]


def make_sampler(
    name: str, options: Options, seed: int, worker: int, warmup_trials: int
) -> samplers.BaseSampler:
    """Make the sampler of a worker.

    Args:
        name: a name in ``SAMPLERS``, or a dotted path.
        options: arguments of the user, before all others.
        seed: seed of the first worker; the following workers have the following seeds.
        worker: number of the worker, from 0.
        warmup_trials: number of trials that are drawn at random first.

    Raises ``UserError`` for a class or an argument that cannot be used.
    """
    kind = find_plug("sweep.sampler", name, SAMPLERS, samplers.BaseSampler)
    usual = {"seed": seed + worker, "n_startup_trials": warmup_trials}
    named: dict[str, Options] = {
        "tpe": {"constant_liar": True},
        "multivariate_tpe": {"multivariate": True, "group": True, "constant_liar": True},
        "cmaes": {"n_startup_trials": max(1, warmup_trials)},
        "gp": {"n_startup_trials": max(1, warmup_trials)},
        "qmc": {"seed": seed, "scramble": True},  # all workers draw from one sequence
    }
    return _made("sweep.sampler", name, kind, usual, {**named.get(name, {}), **options})


def make_pruner(name: str, options: Options, warmup_trials: int) -> pruners.BasePruner:
    """Make the pruner of a study; its steps are ``TRIAL_STEPS``, or seeds for Wilcoxon's test.

    Args:
        name: a name in ``PRUNERS``, or a dotted path.
        options: arguments of the user, before all others.
        warmup_trials: number of trials that must finish before the first is pruned.

    Raises ``UserError`` for a class or an argument that cannot be used.
    """
    usual = {"n_startup_trials": warmup_trials}
    named: dict[str, Options] = {
        "hyperband": {"min_resource": TRIAL_STEPS // 9, "max_resource": TRIAL_STEPS},
        "wilcoxon": {"n_startup_steps": 1},
    }
    kind = _pruner_kind(name)
    return _made("sweep.pruner", name, kind, usual, {**named.get(name, {}), **options})


def prunes_by(name: str) -> PrunesBy:
    """Return which values a pruner gets: those of validations, those of whole seeds, or none.

    Raises ``UserError`` for a class that is no pruner.
    """
    kind = _pruner_kind(name)
    if issubclass(kind, pruners.NopPruner):
        return "nothing"
    return "seeds" if issubclass(kind, pruners.WilcoxonPruner) else "validations"


def _pruner_kind(name: str) -> type[pruners.BasePruner]:
    return find_plug("sweep.pruner", name, PRUNERS, pruners.BasePruner)


def _made(setting: str, name: str, kind: type[Method], usual: Options, given: Options) -> Method:
    """Make a sampler or pruner; ``usual`` arguments go only to a class whose constructor has them.

    Raises ``UserError`` for an argument that the class refuses.
    """
    taken = {key: usual[key] for key in usual.keys() & signature(kind).parameters.keys()}
    options = hydra.utils.instantiate({**taken, **given}, _convert_="all")  # a pruner in a pruner
    return make_plug(setting, name, kind, **options)
