"""Settings that are to be equal in a fair comparison, or to differ because the comparison says so.

``conf/settings.yaml`` names the condition that compares each of these settings.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from lightning_modules.runs.schema import Result
from lightning_modules.runs.settings.table import flatten, group_files, key_of, setting_of, settings
from sweeps.comparison.condition import Condition, check_equal

FOR_RESULTS = ("precision", "decoding", "attention step")
"""Conditions on settings in which no system may differ from another."""
FOR_TRAINING = (
    *("optimizer", "learning rate", "schedule", "label smoothing", "dropout", "teacher forcing"),
)
"""Conditions on settings in which systems may differ by design."""
FIXED_BEFORE = {"trainer.precision": "32-true", "scoring.attention_step": "predicted"}
"""Values of settings that early versions did not have, and so did not record."""
DECODING_TIMES = ("seconds", "sentences_per_second")
"""Entries of ``Result.decoding`` that are no settings."""
NO_VALUES = ("_partial_", "fused")
"""Keys that change no result beyond the last digits."""


def check_settings(
    labels: Sequence[str], results: Sequence[Result], tuned: Collection[str] = ()
) -> list[Condition]:
    """Check the settings of all conditions; ``tuned`` are the keys that studies have chosen.

    A setting differs by design if every run's command gives it (the lists of a multirun), if files
    of ``conf/model`` set it and no run's command does, or if studies have chosen it.
    """
    values = {
        name: [_values(name, result) for result in results]
        for name in (*FOR_RESULTS, *FOR_TRAINING)
    }
    checked = [
        check_equal(
            name,
            labels,
            [
                _shown(name, of_run) or _without(name, result)
                for of_run, result in zip(of_runs, results, strict=True)
            ],
        )
        for name, of_runs in values.items()
    ]
    return [
        replace(each, holds=True, by_design=True)
        if each.name in FOR_TRAINING and _by_design(values[each.name], results, tuned)
        else each
        for each in checked
    ]


def _values(condition: str, result: Result) -> dict[str, Any]:
    """Return the recorded values of the settings that a condition compares, by dotted key."""
    decoding = {key: value for key, value in result.decoding.items() if key not in DECODING_TIMES}
    recorded = {**FIXED_BEFORE, **flatten(result.config | {"decoding": decoding})}
    return {
        key: value
        for key, value in sorted(recorded.items())
        if value is not None  # a setting without a value: as in runs that did not have it yet
        and (setting := setting_of(key))
        and setting.condition == condition
        and key.rpartition(".")[2] not in NO_VALUES
    }


def _shown(condition: str, values: Mapping[str, Any]) -> str | None:
    """Return values in one line; None without values."""
    if len(_settings(condition)) == 1:
        return next(map(str, values.values()), None)
    parts = []
    for key, value in values.items():
        name = key.rpartition(".")[2]
        parts.append(str(value).rpartition(".")[2] if name == "_target_" else f"{name} {value}")
    return ", ".join(parts) or None


def _without(condition: str, result: Result) -> str | None:
    """Return what a run did without, such as the dropout of a model that has none."""
    return "none" if condition in FOR_TRAINING and result.config else None


@cache
def _settings(condition: str) -> list[str]:
    return [
        key for key, each in settings().items() if each.condition == condition and not each.is_group
    ]


def _by_design(
    values: Sequence[Mapping[str, Any]], results: Sequence[Result], tuned: Collection[str]
) -> bool:
    """Return whether the values differ, and each differing setting differs on purpose."""
    differing = {
        key for key in set().union(*values) if len({str(of_run.get(key)) for of_run in values}) > 1
    }
    return bool(differing) and all(
        key in tuned or _on_purpose(key, results) for key in sorted(differing)
    )


def _on_purpose(key: str, results: Sequence[Result]) -> bool:
    given = [any(_covers(each, key) for each in result.overrides) for result in results]
    return all(given) or (not any(given) and key in _of_variants())


def _covers(override: str, key: str) -> bool:
    """Return whether an override gives a setting, itself or by the choice of its group."""
    named = key_of(override)
    return key == named or key.startswith(f"{named}.")


@cache
def _of_variants() -> frozenset[str]:
    """Return the settings that files of ``conf/model`` set."""
    return frozenset(key for file in group_files() if file.group == "model" for key in file.values)
