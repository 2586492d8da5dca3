"""What a training of each system cost, in sentences."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import mean

from lightning_modules.metrics.systems import System
from lightning_modules.runs.identity import Identity
from lightning_modules.runs.schema import Result
from sweeps.comparison.collect import Comparison
from sweeps.comparison.numbers import format_duration, format_size, in_words
from sweeps.comparison.outputs import RunOutput
from sweeps.report.group_tests import quote
from sweeps.report.headline import Finding, Listing

TIMED = 5  # most systems of which a sentence tells the time


def cost_findings(comparison: Comparison, best: System) -> Iterator[Finding]:
    """Say how long a training of each system took, the fastest first; nothing if not recorded.

    Of many systems: of the fastest, the best and the slowest. Then sizes, memory and hardware.
    """
    timed = {
        system: runs for system, runs in comparison.by_system.items() if all(map(_is_timed, runs))
    }
    if best not in timed:
        return
    fastest_first = sorted(timed, key=lambda system: _seconds(timed[system]))
    shown = fastest_first
    if len(shown) > TIMED:
        shown = [each for each in shown if each in (best, shown[0], shown[-1])]
    times = [(quote(each), format_duration(_seconds(timed[each]))) for each in shown]
    sizes = [mean(run.result.parameters or 0 for run in runs) for runs in timed.values()]
    size = _span(sizes, format_size)
    several = any(len(runs) > 1 for runs in timed.values())
    trained = [run.result for runs in timed.values() for run in runs]
    peak = max(result.peak_memory_mib or 0 for result in trained)
    memory = f"; no process took more than {peak:,.0f} MiB of memory" if peak else ""
    models = f"The models have {size} parameters{memory}"
    yield Finding.of_each(
        "Cost",
        Listing(f"Training{hardware(trained)} took", times, models),
        f"{'means over seeds, ' if several else ''}no test; jobs side by side slow each other",
    )


def time_range(comparison: Comparison) -> str | None:
    """Return the time of the shortest and of the longest training; None if not recorded."""
    runs = comparison.runs
    if not runs or not all(map(_is_timed, runs)):
        return None
    times = [run.result.training.seconds or 0 for run in runs]
    return _span(times, format_duration)


def total_time(comparison: Comparison) -> str:
    """Return the time of all trainings together."""
    return format_duration(sum(training_seconds(run.result for run in comparison.runs).values()))


def training_seconds(results: Iterable[Result]) -> dict[tuple[str, str], float]:
    """Return the seconds of each training. Tests of one training, at any budget, share its time."""
    seconds: dict[tuple[str, str], float] = {}
    for result in results:
        training = result.variant, Identity.of_result(result).without_budget().training
        seconds[training] = max(seconds.get(training, 0.0), result.training.seconds or 0.0)
    return seconds


def cost_range(comparison: Comparison) -> str | None:
    """Return what the cheapest and the dearest training took; None if not recorded."""
    if (time := time_range(comparison)) is None:
        return None
    trained = [run.result for run in comparison.runs]
    size = _span([result.parameters or 0 for result in trained], format_size)
    return f"{time} per run{hardware(trained)}, {size} parameters"


def _span(values: Sequence[float], shown: Callable[[float], str]) -> str:
    """Return the least and the largest value: ``1.17 M to 1.21 M``, or one if both look alike."""
    return " to ".join(dict.fromkeys([shown(min(values)), shown(max(values))]))


def _is_timed(run: RunOutput) -> bool:
    return bool(run.result.training.seconds and run.result.parameters)


def _seconds(runs: Sequence[RunOutput]) -> float:
    return mean(run.result.training.seconds or 0 for run in runs)


def hardware(results: Iterable[Result]) -> str:
    """Return on what the trainings ran: `` on a CPU``; empty where it was not recorded."""
    names = {each.environment.device for each in results if each.environment.device}
    devices = ["a CPU" if name == "cpu" else f"a {name}" for name in sorted(names)]
    return f" on {in_words(devices)}" if devices else ""
