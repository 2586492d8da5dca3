"""Samplers and pruners by their names."""

from optuna import pruners, samplers

from sweeps.studies.settings import Sweep
from sweeps.studies.watch import WHOLE


def build_sampler(sweep: Sweep, worker: int) -> samplers.BaseSampler:
    """Build the sampler of a worker; each has random numbers of its own.

    A grid's points are places of the study already, so that nothing is left to sample.
    """
    seed = sweep.sampler_seed + worker
    start = sweep.warmup_trials
    match sweep.sampler:
        case "tpe":
            return samplers.TPESampler(seed=seed, n_startup_trials=start, constant_liar=True)
        case "multivariate_tpe":
            return samplers.TPESampler(
                seed=seed, n_startup_trials=start, multivariate=True, group=True, constant_liar=True
            )
        case "cmaes":
            return samplers.CmaEsSampler(seed=seed, n_startup_trials=max(1, start))
        case "gp":
            return samplers.GPSampler(seed=seed, n_startup_trials=max(1, start))
        case "qmc":
            return samplers.QMCSampler(seed=sweep.sampler_seed, scramble=True)
        case "random" | "grid":
            return samplers.RandomSampler(seed=seed)


def build_pruner(sweep: Sweep) -> pruners.BasePruner:
    """Build the pruner; steps are hundredths of a trial's cost, or seeds for Wilcoxon's test."""
    match sweep.pruner:
        case "median":
            return pruners.MedianPruner(n_startup_trials=sweep.warmup_trials)
        case "hyperband":
            return pruners.HyperbandPruner(min_resource=WHOLE // 9, max_resource=WHOLE)
        case "wilcoxon":
            return pruners.WilcoxonPruner(n_startup_steps=1)
        case "none":
            return pruners.NopPruner()
