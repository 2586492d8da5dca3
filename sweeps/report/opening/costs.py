"""What the systems cost, in a sentence."""

from collections.abc import Sequence
from statistics import mean

from lightning_modules.metrics.systems import System
from sweeps.comparison.collect import Comparison, Run
from sweeps.report.opening.finding import Finding, quoted


def cost(comparison: Comparison, best: System) -> Finding | None:
    """Return what training costs of the best system and of the fastest; None if not recorded."""
    variants = {
        variant.name: (variant.system, variant.runs)
        for variant in comparison.variants
        if all(_is_timed(run) for run in variant.runs)
    }
    if best.name not in variants:
        return None
    system, runs = variants[best.name]
    claim = f"Training {quoted(system)} took {_shown(runs)}"
    fastest, its_runs = max(variants.values(), key=lambda each: _speed(each[1]))
    if fastest.name == best.name and len(variants) > 1:
        claim += ", the fastest of all"
    elif fastest.name != best.name:
        claim += f"; {quoted(fastest)}, the fastest, {_shown(its_runs)}"
    return Finding(claim, "means over seeds, no test; jobs side by side slow each other")


def _is_timed(run: Run) -> bool:
    training = run.result.training
    return bool(training.seconds and training.target_tokens_per_second and run.result.parameters)


def _speed(runs: Sequence[Run]) -> float:
    return mean(run.result.training.target_tokens_per_second or 0 for run in runs)


def _shown(runs: Sequence[Run]) -> str:
    seconds = mean(run.result.training.seconds or 0 for run in runs)
    parameters = mean(run.result.parameters or 0 for run in runs)
    return (
        f"{duration(seconds)} ({rounded(_speed(runs))} target tokens/s, "
        f"{rounded(parameters)} parameters)"
    )


def rounded(number: float) -> str:
    """Return a number in three significant digits: ``812,000``."""
    return f"{float(f'{number:.3g}'):,.0f}"


def duration(seconds: float) -> str:
    """Return a time in the unit in which it is read: ``42 s``, ``3.5 min``, ``2.1 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
