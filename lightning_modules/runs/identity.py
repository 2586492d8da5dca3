"""The identity of a run: its settings, its data and its code, as far as they affect its results.

A finished result is used again if the whole identity is equal, and a training goes on from its
checkpoint if the part is equal that decides the weights. Which settings belong to which part says
the table of settings. The default folder is named before data is read: its digest has the settings
and the training code, and paths of files stand for their content.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from omegaconf import DictConfig, OmegaConf

from lightning_modules.runs.checksums import BrokenFileError, ChangedFileError
from lightning_modules.runs.files import read_result
from lightning_modules.runs.provenance import CodeVersions, code_versions
from lightning_modules.runs.redaction import redacted
from lightning_modules.runs.schema import Result
from lightning_modules.runs.settings import RESULTS, Effect, is_by_fingerprint, values_that_affect


class RunIdentity(NamedTuple):
    """Two runs with equal identities have equal results."""

    config: Mapping[str, Any]
    """The resolved configuration, without passwords."""
    data: str | None
    """The fingerprint of the corpus, cut into tokens."""
    vectors: Mapping[str, str | None]
    """Fingerprints of files of word vectors, by side."""
    code: CodeVersions

    @classmethod
    def of_run(
        cls, config: DictConfig, data: str, vectors: Mapping[str, str | None]
    ) -> "RunIdentity":
        """Return the identity of a run with a resolved configuration."""
        plain: Any = redacted(OmegaConf.to_container(config))
        return cls(plain, data, vectors, code_versions(config))

    @classmethod
    def of_result(cls, result: Result) -> "RunIdentity":
        """Return the identity of a finished run."""
        vectors = {side: file.fingerprint for side, file in result.vectors.items()}
        code = CodeVersions(result.code or "", result.testing_code or "")
        return cls(result.config, result.data.fingerprint, vectors, code)

    def parts(self, effects: Sequence[Effect] = RESULTS) -> dict[str, Any]:
        """Return what must be equal for equal weights and, with ``test``, for equal scores."""
        values = values_that_affect(self.config, effects)
        codes: dict[Effect, str] = {"weights": self.code.training, "test": self.code.testing}
        return {
            **{key: value for key, value in values.items() if not is_by_fingerprint(key)},
            "data": self.data,
            **{f"vectors.{side}": fingerprint for side, fingerprint in self.vectors.items()},
            **{f"code ({effect})": codes[effect] for effect in effects},
        }

    def difference(self, other: "RunIdentity", effects: Sequence[Effect] = RESULTS) -> str | None:
        """Return the name of the first part that differs; None if all parts are equal."""
        here, there = self.parts(effects), other.parts(effects)
        return next((name for name in sorted({*here, *there}) if _differ(name, here, there)), None)

    def digest(self, effects: Sequence[Effect] = RESULTS) -> str:
        """Return sixteen hexadecimal digits of the parts."""
        content = json.dumps(self.parts(effects), sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:16]


def _differ(name: str, here: Mapping[str, Any], there: Mapping[str, Any]) -> bool:
    return name not in here or name not in there or bool(here[name] != there[name])


def finished_result(folder: Path, wanted: RunIdentity) -> Result | None:
    """Return the result in a folder if it is that of the wanted run, else None."""
    try:
        result = read_result(folder)
    except ChangedFileError:
        raise
    except BrokenFileError:
        return None
    if result is None or wanted.difference(RunIdentity.of_result(result)):
        return None
    return result
