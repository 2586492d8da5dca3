"""How long the jobs of a plan take, from the speeds of finished runs or of measured GPUs."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from lightning_modules.runs.files import read_result
from lightning_modules.runs.provenance import ROOT, environment
from lightning_modules.runs.schema import Environment, Result
from lightning_modules.runs.settings import flatten
from sweeps.comparison.numbers import format_duration

if TYPE_CHECKING:
    from sweeps.claims.plan import PlannedRun

TESTED = 0.3
"""Time of start, validation and test of a run, as a share of training up to its first rung."""
KINDS = ("target_tokens", "updates", "flops", "seconds")
"""Kinds of budgets whose amount a run has spent per second."""
DECISIVE = (
    *("data._target_", "data.name", "data.path", "data.vocabulary", "data.longest"),
    *("data.short_share", "data.train_max_words", "variant", "tokenizer.kind"),
    *("tokenizer.vocabulary_size", "batching.max_tokens", "batching.by_length"),
    *("threads", "kernels", "packed", "capture", "compile"),
    *("trainer.precision", "trainer.devices", "trainer.num_nodes"),
)
"""Settings that decide the speed of a training, besides the sizes of the model."""
LEAST_SECONDS = 5  # time that a training must take for its speed to count: its start is slow
GPU_RESULTS = ROOT / "docs" / "findings" / "gpu"
PUBLISHED = {
    "transformer_base": "Transformer",
    "transformer_big": "Transformer big",
    "rnnsearch": "RNNsearch",
    "rnnencdec": "no attention",
    "sutskever2014": "no attention",
    "luong_global": "Luong, global",
    "luong_local": "Luong, local",
}
"""Measured systems of ``docs/findings/gpu`` by how the names of published variants begin."""
Speeds = Mapping[tuple[str, str], float]
"""Amount spent in a second of training, by workload and kind of budget."""


def workload(config: Mapping[str, Any]) -> str:
    """Return the settings that decide the speed of a training, as JSON."""
    values = flatten(config)
    sizes = {
        key: value
        for key, value in values.items()
        if key.startswith("model.") and isinstance(value, int) and not isinstance(value, bool)
    }
    return json.dumps({key: values.get(key) for key in DECISIVE} | sizes, sort_keys=True)


def speeds_of(finished: Mapping[str, Path]) -> Speeds:
    """Return the median speed of each workload, from the finished runs of this machine."""
    found: dict[tuple[str, str], list[float]] = {}
    for result in results_here(finished.values()):
        seconds = result.training.seconds or 0
        for kind in KINDS if seconds >= LEAST_SECONDS else ():
            if spent := result.training.spent(kind):
                found.setdefault((workload(result.config), kind), []).append(spent / seconds)
    return {key: median(values) for key, values in found.items()}


def results_here(folders: Iterable[Path]) -> Iterator[Result]:
    """Yield the results of the finished runs of this machine."""
    here = Environment.model_validate(environment())
    for folder in folders:
        result = read_result(folder)
        if result is not None and _same_machine(result.environment, here):
            yield result


def _same_machine(one: Environment, other: Environment) -> bool:
    """Return whether two machines train on the same GPU or, without one, on the same processor."""
    first, second = ((each.model_extra or {}).get("cpu") for each in (one, other))
    return one.device == other.device and (other.device != "cpu" or first == second)


def gpu_speeds(runs: "Iterable[PlannedRun]", results: Path = GPU_RESULTS) -> Speeds:
    """Return the speeds of systems of published size on the fastest GPU that was measured.

    ``results`` is the folder of the measurements of ``docs/findings/gpu.md``.
    """
    fastest: dict[str, float] = {}
    for file in results.glob("*/*.json"):
        for each in json.loads(file.read_text(encoding="utf-8"))["figures"]:
            speed = each.get("tokens_per_second")
            if each.get("size") == "published" and each.get("kind") == "auto" and speed:
                fastest[each["variant"]] = max(speed, fastest.get(each["variant"], 0.0))
    found: dict[tuple[str, str], float] = {}
    for run in runs:
        variant = str(json.loads(run.workload)["variant"])
        measured = next((name for key, name in PUBLISHED.items() if variant.startswith(key)), None)
        if run.kind == "target_tokens" and measured in fastest:
            found[run.workload, run.kind] = fastest[measured]
    return found


class JobTime(NamedTuple):
    """Estimate of the summed time of jobs."""

    seconds: float  # time of the runs for which a speed is known
    unknown: int  # number of runs without a known speed

    def text(self, at_once: int = 1) -> str:
        """Return the time in words, with some jobs at the same time."""
        time = format_duration(self.seconds / at_once)
        if not self.unknown:
            return time
        return f"≥ {time}" if self.seconds else "unknown"


def job_time(
    missing: "Sequence[PlannedRun]",
    speeds: Speeds,
    finished: "Iterable[PlannedRun]" = (),
    trained: Iterable[str] = (),
) -> JobTime:
    """Estimate the summed time of the jobs that make missing runs.

    A trunk is trained once, from the last of its ``finished`` runs on, and each run is tested.
    ``trained`` are trainings of which any run exists.
    """
    total, unknown, done = 0.0, 0, {*trained}
    amounts: dict[str, list[float]] = {}
    for run in finished:
        amounts.setdefault(run.trunk, []).append(run.amount)
    first: dict[str, float] = {}
    for run in sorted(missing, key=lambda run: run.amount):
        speed = speeds.get((run.workload, run.kind))
        if speed is None:
            unknown += 1
            continue
        total += TESTED * first.setdefault(run.trunk, run.amount) / speed
        if run.training not in done:
            known = amounts.setdefault(run.trunk, [])
            before = max((amount for amount in known if amount < run.amount), default=0.0)
            total += (run.amount - before) / speed
            known.append(run.amount)
            done.add(run.training)
    return JobTime(total, unknown)
