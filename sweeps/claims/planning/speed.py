"""How fast finished runs trained on this machine: by what decides the speed."""

import json
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from lightning_modules.runs.environment import environment
from lightning_modules.runs.reader import read_result
from lightning_modules.runs.schema import Environment
from lightning_modules.runs.settings.table import flatten

KINDS = ("target_tokens", "updates", "flops", "seconds")
"""Kinds of budgets whose amount a run has spent per second."""
CORPUS = ("data._target_", "data.name", "data.path")
DECISIVE = (
    *("variant", "tokenizer.kind", "tokenizer.vocabulary_size"),
    *("batching.max_tokens", "batching.by_length"),
    *("threads", "compile", "trainer.precision", "trainer.devices", "trainer.num_nodes"),
)
Rates = Mapping[tuple[str, str], float]
"""Amount spent in a second of training, by workload and kind of budget."""


def workload(config: Mapping[str, Any]) -> str:
    """Return the settings that decide the speed of a training, as JSON.

    They are the variant with the sizes of its parts, the corpus, the vocabulary, the batches, and
    how the machine is used. All other settings change the speed little.
    """
    values = flatten(config)
    decisive = {key: values.get(key) for key in (*CORPUS, *DECISIVE)}
    sizes = {
        key: value
        for key, value in values.items()
        if key.startswith("model.") and isinstance(value, int) and not isinstance(value, bool)
    }
    return json.dumps(decisive | sizes, sort_keys=True)


def rates_of(finished: Mapping[str, Path]) -> Rates:
    """Return the median rate of each workload, from the finished runs of this machine."""
    here = Environment.model_validate(environment())
    found: dict[tuple[str, str], list[float]] = {}
    for folder in finished.values():
        result = read_result(folder)
        if result is None or not result.training.seconds:
            continue
        if not _same_machine(result.environment, here):
            continue
        for kind in KINDS:
            if spent := result.training.spent(kind):
                key = workload(result.config), kind
                found.setdefault(key, []).append(spent / result.training.seconds)
    return {key: median(values) for key, values in found.items()}


def _same_machine(one: Environment, other: Environment) -> bool:
    """Return whether two machines train on the same GPU or, without one, on the same processor."""
    processors = [(each.model_extra or {}).get("cpu") for each in (one, other)]
    on_cpu = other.device == "cpu"
    return one.device == other.device and (not on_cpu or processors[0] == processors[1])
