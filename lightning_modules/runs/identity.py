"""When are two trainings, runs, folders, comparisons or studies the same? Every answer is here.

An identity holds what affects the results of a run: settings, data, code. ``conf/settings.yaml``
says which settings count, and whether for the weights or only for the test.

- Same training (a checkpoint continues, a claim copies it): ``Identity.training``.
- Same run (a finished result is used again): ``Identity.run``.
- Same folder: ``folder_digest``, before any data is read, so that paths stand for their content.
- Same run of a claim, wherever it was trained: ``Identity.before_data().run``.
- Same comparison: its ``folder_digest``, with the overrides of all jobs.
- Same scoreboard of claims: ``scoreboard_name``. Same study: ``study_identity``.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from yaml import YAMLError

from datamodules.errors import UserError
from lightning_modules.runs.job import given_overrides
from lightning_modules.runs.paths import HYDRA
from lightning_modules.runs.provenance import CodeVersions, code_versions
from lightning_modules.runs.redaction import redacted
from lightning_modules.runs.settings import (
    RESULTS,
    Effect,
    key_of,
    overrides_that_affect,
    setting_of,
    values_that_affect,
)

if TYPE_CHECKING:  # --help needs folder names, and neither NumPy nor pydantic
    from datamodules.corpus import Corpus
    from lightning_modules.runs.schema import Coverage, FirstWeights, Result

SCOREBOARD_KEYS = ("claims", "corpora", "rungs", "seed_count", "first_seed", "learning_rates")
"""Keys of ``task=claims`` that change verdicts and no training."""
NOT_COUNTED = ("data", "code", "scoring")  # parts of an identity without "another"
EVERY_CLAIM = ("all", "list")
CLAIM_NAME = re.compile(r"[\w.]+")  # names of papers and claims, which name a folder as they are
CHECKPOINT_RECORD = (
    *("tokenizers", "corpus", "languages", "data_fingerprint", "code"),
    "files",  # fingerprints by setting, once the files are loaded
)
"""What a checkpoint keeps beside the configuration."""


def checkpoint_record(
    config: DictConfig, corpus: "Corpus", data: str, tokenizers: list[str]
) -> dict[str, Any]:
    """Return what a checkpoint keeps, for ``Identity.of_checkpoint``."""
    languages = [corpus.source, corpus.target]
    code, files = code_versions(config).training, dict[str, str]()
    values = (tokenizers, corpus.name, languages, data, code, files)
    plain: Any = redacted(OmegaConf.to_container(config, resolve=True))
    return plain | dict(zip(CHECKPOINT_RECORD, values, strict=True))


def fingerprints(
    vectors: Mapping[str, "Coverage"], first: "FirstWeights | None"
) -> dict[str, str | None]:
    """Return the fingerprints of word vectors and first weights by setting."""
    files = {f"vectors.{side}": file.fingerprint for side, file in vectors.items()}
    return files if first is None else files | {"init_from": first.fingerprint}


@dataclass(frozen=True)
class Identity:
    """What decides the results of a run: runs with equal identities have equal results."""

    config: Mapping[str, Any]  # the configuration, without passwords
    code: CodeVersions
    data: str | None = None
    """Fingerprint of the corpus, cut into tokens; None before the corpus is read."""
    files: Mapping[str, str | None] = field(default_factory=dict)
    """Fingerprints of word vectors and first weights, by the settings that name their files."""

    @classmethod
    def of_config(
        cls,
        config: DictConfig,
        data: str | None = None,
        files: Mapping[str, str | None] | None = None,
    ) -> "Identity":
        """Return the identity of a run that is still to be made."""
        plain: Any = redacted(OmegaConf.to_container(config, resolve=True))
        return cls(plain, code_versions(config), data, files or {})

    @classmethod
    def of_result(cls, result: "Result") -> "Identity":
        """Return the identity of a finished run."""
        files = fingerprints(result.vectors, result.first_weights)
        code = CodeVersions(result.code or "", result.testing_code or "")
        return cls(result.config, code, result.data.fingerprint, files)

    @classmethod
    def of_checkpoint(cls, record: Mapping[str, Any]) -> "Identity":
        """Return the identity in a checkpoint's record; it knows no code that tests."""
        return cls(
            {key: value for key, value in record.items() if key not in CHECKPOINT_RECORD},
            CodeVersions(record["code"], ""),
            record["data_fingerprint"],
            record["files"],
        )

    @property
    def training(self) -> str:
        """Sixteen hexadecimal digits of all that decides the weights."""
        return self.digest(["weights"])

    @property
    def run(self) -> str:
        """Sixteen hexadecimal digits of all that decides the scores."""
        return self.digest()

    def before_data(self) -> "Identity":
        """Return the identity as it was before any data was read."""
        return replace(self, data=None, files={})

    def without_budget(self) -> "Identity":
        """Return what a training and one that continues it with a larger budget share."""
        return replace(
            self, config={key: self.config[key] for key in self.config if key != "budget"}
        )

    def parts(self, effects: Sequence[Effect] = RESULTS) -> dict[str, Any]:
        """Return what must be equal for equal weights and, with ``test``, for equal scores.

        Once data is read, its fingerprint takes the place of the settings that lead to it.
        """
        values = values_that_affect(self.config, effects)
        codes: dict[Effect, str] = {"weights": self.code.training, "test": self.code.testing}
        code = {f"code ({effect})": codes[effect] for effect in effects}
        if self.data is None:
            return values | code
        found = {key: setting_of(key) for key in values}
        behind_data = [key for key, setting in found.items() if setting and setting.by_fingerprint]
        return {
            **{key: values[key] for key in values if key not in behind_data},
            "data": self.data,
            **self.files,
            **code,
        }

    def difference(self, other: "Identity", effects: Sequence[Effect] = RESULTS) -> str | None:
        """Return the name of the first part that differs; None if all parts are equal."""
        return _first_difference(self.parts(effects), other.parts(effects))

    def digest(self, effects: Sequence[Effect] = RESULTS) -> str:
        """Return sixteen hexadecimal digits of the parts."""
        return _digest(self.parts(effects), 16)


def finished_result(folder: Path, wanted: Identity) -> "Result | None":
    """Return the result in a folder if it is that of the wanted run; None without a result.

    None also for a result of other code that tests: the test is made again. Raises
    ``UserError`` for another finished run, which nothing but ``force=true`` replaces.
    """
    from lightning_modules.runs.checksums import BrokenFileError
    from lightning_modules.runs.files import read_result

    remedy = "give another folder (hydra.run.dir=DIR), or force=true to begin anew"
    try:
        result = read_result(folder)
    except BrokenFileError as error:
        raise UserError(f"{error}; {remedy}") from None
    if result is None:
        return None
    recorded = Identity.of_result(result)
    tested = replace(recorded, code=recorded.code._replace(testing=wanted.code.testing))
    if other := wanted.difference(tested):
        raise UserError(f"{folder}: holds a finished run with {another(other)}; {remedy}")
    return result if tested == recorded else None


def recorded_difference(folder: Path, config: DictConfig) -> str | None:
    """Return the first setting that differs from Hydra's record of the run in a folder, else None.

    Settings are compared as they were given, before any data is read; ``config`` is not resolved.
    Without a readable record, the result itself is compared later.
    """
    try:
        recorded: Any = OmegaConf.to_container(OmegaConf.load(folder / HYDRA / "config.yaml"))
    except (OSError, ValueError, YAMLError):
        return None
    given: Any = redacted(OmegaConf.to_container(config))
    here, there = (values_that_affect(each, RESULTS) for each in (given, recorded))
    return _first_difference(here, there)


def another(part: str) -> str:
    """Return a part that differs, in words: "another seed", "other data"."""
    return f"{'other' if part.split()[0] in NOT_COUNTED else 'another'} {part}"


def _first_difference(here: Mapping[str, Any], there: Mapping[str, Any]) -> str | None:
    missing = object()
    return next(
        (
            name
            for name in sorted({*here, *there})
            if here.get(name, missing) != there.get(name, missing)
        ),
        None,
    )


def folder_digest(config: DictConfig) -> str:
    """Return eight hexadecimal digits of the settings that affect results, and of training code.

    ``config`` is a composed configuration with Hydra's node, not resolved. In a multirun, the
    digits are also of the overrides of all jobs: two comparisons with equal digits are the same.
    Changed code that tests leads back to the same folder, where only the test is made again.
    """
    plain: Any = OmegaConf.to_container(config)
    content: list[Any] = [values_that_affect(plain, RESULTS), code_versions(config).training]
    hydra = config.hydra
    if hydra.mode == RunMode.MULTIRUN:
        content += [shared_settings(given_overrides(hydra)), dict(hydra.sweeper.params or {})]
    return _digest(content, 8)


def shared_settings(overrides: Sequence[str]) -> list[str]:
    """Return the overrides that affect results, in a fixed order, without passwords."""
    return sorted(redacted(overrides_that_affect(overrides, RESULTS)))


def study_identity(
    overrides: Sequence[str], code: str, space: Any, objectives: Sequence[str], seeds: Sequence[int]
) -> dict[str, Any]:
    """Return what two trials of one study must share, by a name for people."""
    return {
        "version of the code that trains": code,
        "search space": space,
        "objectives": list(objectives),
        "seeds": list(seeds),
        "list of overrides": shared_settings(
            [each for each in overrides if not key_of(each).startswith("sweep.")]
        ),
    }


def scoreboard_name(config: DictConfig, hydra: Any) -> str:
    """Return TIER for all claims as they stand; else TIER-CLAIMS, with eight digits of the rest.

    The digits are of the overrides that change a verdict, so that the scoreboards of two commands
    do not replace each other. ``hydra`` is Hydra's node.
    """
    name, given = str(hydra.runtime.choices.tier), given_overrides(hydra)
    further = {each for each in given if key_of(each) in SCOREBOARD_KEYS}
    further |= {*overrides_that_affect(given, RESULTS)} - {f"tier={name}"}
    claims = config.get("claims")
    if isinstance(claims, str) and CLAIM_NAME.fullmatch(claims):
        further -= {f"claims={claims}"}
        name += "" if claims in EVERY_CLAIM else f"-{claims}"
    return f"{name}-{_digest(sorted(further), 8)}" if further else name


def _digest(content: Any, digits: int) -> str:
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:digits]
