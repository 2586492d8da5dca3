"""What the systems cost, in a sentence."""

from collections.abc import Callable, Iterator, Sequence
from statistics import mean

from lightning_modules.metrics.systems import System
from lightning_modules.runs.schema import Result
from sweeps.comparison.collect import Comparison, Run
from sweeps.evaluation.numbers import shown_size
from sweeps.report.opening.finding import Finding, enumerated, quoted

LISTED = 5
"""Most systems of which a sentence tells the time."""


def cost(comparison: Comparison, best: System) -> Iterator[Finding]:
    """Say how long a training of each system took, the fastest first; nothing if not recorded.

    Of many systems: of the fastest, the best and the slowest. Then sizes, memory and hardware.
    """
    timed = {
        variant.system: variant.runs
        for variant in comparison.variants
        if all(_is_timed(run) for run in variant.runs)
    }
    if best.name not in {system.name for system in timed}:
        return
    fastest_first = sorted(timed, key=lambda system: _seconds(timed[system]))
    shown = fastest_first
    if len(shown) > LISTED:
        shown = [each for each in shown if each.name == best.name or each in (shown[0], shown[-1])]
    times = [f"{duration(_seconds(timed[each]))} ({quoted(each)})" for each in shown]
    sizes = [_parameters(runs) for runs in timed.values()]
    size = _span(sizes, shown_size)
    several = any(len(runs) > 1 for runs in timed.values())
    trained = [run.result for runs in timed.values() for run in runs]
    yield Finding(
        f"A training{_hardware(trained)} took {enumerated(times)}; the models have {size} "
        f"parameters{_memory(trained)}",
        f"{'means over seeds, ' if several else ''}no test; jobs side by side slow each other",
    )


def cost_range(comparison: Comparison) -> str | None:
    """Return what the cheapest and the dearest training took; None if not recorded."""
    runs = comparison.runs
    if not runs or not all(map(_is_timed, runs)):
        return None
    times = [run.result.training.seconds or 0 for run in runs]
    size = _span([run.result.parameters or 0 for run in runs], shown_size)
    hardware = _hardware([run.result for run in runs])
    return f"{_span(times, duration)} a training{hardware}, {size} parameters"


def _span(values: Sequence[float], shown: Callable[[float], str]) -> str:
    """Return the least and the largest value: ``1.17 M to 1.21 M``, or one if both look alike."""
    return " to ".join(dict.fromkeys([shown(min(values)), shown(max(values))]))


def _is_timed(run: Run) -> bool:
    training = run.result.training
    return bool(training.seconds and run.result.parameters)


def _seconds(runs: Sequence[Run]) -> float:
    return mean(run.result.training.seconds or 0 for run in runs)


def _parameters(runs: Sequence[Run]) -> float:
    return mean(run.result.parameters or 0 for run in runs)


def _hardware(results: Sequence[Result]) -> str:
    devices = {result.environment.device for result in results} - {None}
    return f" on {enumerated(sorted(map(_named, devices)))}" if devices else ""


def _named(device: str | None) -> str:
    return "a CPU" if device == "cpu" else f"a {device}"


def _memory(results: Sequence[Result]) -> str:
    peaks = [result.peak_memory_mib for result in results if result.peak_memory_mib]
    return f"; no process took more than {max(peaks):,.0f} MiB of memory" if peaks else ""


def rounded(number: float) -> str:
    """Return a number in three significant digits: ``812,000``."""
    return f"{float(f'{number:.3g}'):,.0f}"


def duration(seconds: float) -> str:
    """Return a time in the unit in which it is read: ``42 s``, ``3.5 min``, ``2.1 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
