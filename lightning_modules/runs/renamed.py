"""Names and contents of earlier versions: old run folders open, old commands get an answer."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from datamodules.errors import UserError

_TRAINING = "lightning_modules.training"
PATHS = {
    "lightning_modules.callbacks": f"{_TRAINING}.callbacks",
    "lightning_modules.callbacks.FiniteLoss": f"{_TRAINING}.callbacks.StopOnDivergence",
    "lightning_modules.callbacks.LastCheckpoint": f"{_TRAINING}.callbacks.ResumeCheckpoint",
    "lightning_modules.forcing": f"{_TRAINING}.teacher_forcing",
    "lightning_modules.redaction": "lightning_modules.runs.redaction",
    "lightning_modules.schedules": f"{_TRAINING}.control.schedules",
    "lightning_modules.tracking.tracker.wandb_logger": (
        "lightning_modules.tracking.trackers.wandb_tracker.WandbTracker"
    ),
    "sweeps.callback.ComparisonCallback": "sweeps.launch.multirun_callback.MultirunCallback",
    "sweeps.compare.compare": "sweeps.tasks.compare.compare",
    "sweeps.compare.report": "sweeps.tasks.report.report",
    "sweeps.evaluate": "sweeps.tasks.evaluate",
    "sweeps.report.sections.conditions": "sweeps.report.sections.summary",
    "sweeps.reproduce": "sweeps.tasks.reproduce",
}
"""Dotted paths that a configuration names, such as those of ``_target_``: old to new."""
SETTINGS = {
    "callbacks.finite": "callbacks.divergence",
    "callbacks.last": "callbacks.resume_checkpoint",
}
"""Keys of the configuration: old to new."""

CODE_BEFORE_EDITIONS = "c080089dc17f"
"""Code version of the release before.

That release used a hash of its code as the fingerprint of the built-in corpus; with equal settings,
its corpus has the sentences of edition 1.
"""

TER = "scoring.ter"
"""Switch of the translation edit rate, before ``scoring.metrics`` listed what to compute."""

_longest_first = sorted(map(re.escape, PATHS), key=len, reverse=True)
_OLD_PATH = re.compile(rf"(?<![\w.])(?:{'|'.join(_longest_first)})(?!\w)")
_OLD_SETTING = re.compile(rf"^([+~]*)({'|'.join(map(re.escape, SETTINGS))})(?=[.=]|$)")


def with_new_names(value: Any) -> Any:
    """Return a recorded configuration, a list of overrides or one override with new names."""
    if isinstance(value, str):
        text = _OLD_PATH.sub(lambda old: PATHS[old[0]], value)
        if text.lstrip("+").startswith(f"{TER}="):
            return _metrics_override(text)
        return _OLD_SETTING.sub(lambda old: old[1] + SETTINGS[old[2]], text)
    if isinstance(value, list):
        return [with_new_names(part) for part in value]
    if not isinstance(value, dict):
        return value
    renamed = {key: with_new_names(part) for key, part in value.items()}
    for old, new in SETTINGS.items():
        group, _, key = old.rpartition(".")
        if isinstance(node := renamed.get(group), dict) and key in node:
            names = {key: new.rpartition(".")[2]}
            renamed[group] = {names.get(name, name): part for name, part in node.items()}
    return _with_metrics(renamed)


def _metrics_override(override: str) -> str:
    """Return ``scoring.metrics=…`` for ``scoring.ter=…``, also of several values in a sweep."""
    values = override.partition("=")[2].split(",")
    lists = (f"[{','.join(_metrics(value))}]" for value in values)
    return f"scoring.metrics={','.join(lists)}"


def _with_metrics(config: dict[str, Any]) -> dict[str, Any]:
    scoring = config.get("scoring")
    if not isinstance(scoring, dict) or "ter" not in scoring:
        return config
    others = {key: value for key, value in scoring.items() if key != "ter"}
    return config | {"scoring": others | {"metrics": _metrics(scoring["ter"])}}


def _metrics(ter: object) -> list[str]:
    without = str(ter).strip().lower() in ("false", "0")
    return ["bleu", "chrf", "chrf++", *([] if without else ["ter"])]


def upgraded(record: dict[str, Any], version: int) -> dict[str, Any]:
    """Return the content of a JSON file of version ``version`` as the present version has it.

    Version 1 could write null for an unknown score, in a result and in the results of a comparison,
    and its comparisons have ``scoring.ter``. Fields that versions 1 and 2 lack have their defaults
    in ``schema.py``.
    """
    if version > 1:
        return record
    record = _with_metrics(_without_null_scores(record))
    if isinstance(runs := record.get("runs"), list):
        record["runs"] = [_without_null_scores(run) for run in runs]
    return record


def _without_null_scores(result: Any) -> Any:
    if not isinstance(result, dict) or not isinstance(scores := result.get("scores"), dict):
        return result
    return {
        **result,
        "scores": {name: score for name, score in scores.items() if score is not None},
    }


def has_old_fingerprint(record: Mapping[str, Any]) -> bool:
    """Whether a record is of the built-in corpus with a fingerprint that is not made any more."""
    built_in = "grammar" in (record.get("corpus"), record.get("data", {}).get("name"))
    return built_in and str(record.get("code")).startswith(CODE_BEFORE_EDITIONS)


def refuse_old_names(arguments: Iterable[str]) -> None:
    """Raise ``UserError`` with the new name for the first override that has an old name."""
    for argument in arguments:
        new = with_new_names(argument)
        if new != argument:
            raise UserError(f"{argument}: this name has changed; give {new}")
