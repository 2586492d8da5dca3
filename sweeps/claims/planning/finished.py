"""The runs that exist already, known by their settings and code."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from lightning_modules.runs.checksums import BrokenFileError
from lightning_modules.runs.provenance import CodeVersions
from lightning_modules.runs.reader import read_result
from lightning_modules.runs.schema import RESULT
from lightning_modules.runs.settings.table import RESULTS, values_that_affect
from lightning_modules.training.checkpoints import FOLDER, LAST


class Finished(NamedTuple):
    """Folders of finished runs."""

    runs: dict[str, Path]
    """By the identity of the run."""
    trainings: dict[str, Path]
    """By the training alone; a run whose checkpoints are gone does not count."""


def finished_runs(outputs: Path) -> Finished:
    """Return the finished runs in ``outputs``.

    A run counts wherever it was trained: alone, for claims, or in a comparison.
    """
    found = Finished({}, {})
    for file in sorted(outputs.glob(f"**/{RESULT}")):
        try:
            result = read_result(file.parent)
        except BrokenFileError:
            continue
        if result is not None:
            code = CodeVersions(result.code or "", result.testing_code or "")
            identity, training = identities(result.config, code)
            found.runs[identity] = file.parent
            if (file.parent / FOLDER / LAST).is_file():
                found.trainings[training] = file.parent
    return found


def identities(config: Mapping[str, Any], code: CodeVersions) -> tuple[str, str]:
    """Return the identity of a run, and that of its training.

    Data is not read yet, as in ``output_folders.digest``: paths of files stand for their content.
    """
    return (
        _digest(values_that_affect(config, RESULTS), code),
        _digest(values_that_affect(config, ["weights"]), code.training),
    )


def _digest(*content: Any) -> str:
    """Return sixteen hexadecimal digits."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
