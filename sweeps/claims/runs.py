"""The runs that claims need, each once, and those that exist already."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from datamodules.errors import UserError
from datamodules.files import write_json
from lightning_modules.runs.checksums import BrokenFileError
from lightning_modules.runs.provenance import CodeVersions, code_versions
from lightning_modules.runs.reader import read_result
from lightning_modules.runs.redaction import redacted
from lightning_modules.runs.schema import RESULT
from lightning_modules.runs.settings.checks import check_settings
from lightning_modules.runs.settings.table import RESULTS, values_that_affect
from sweeps.claims.claim import Claim, TierName
from sweeps.launch.compose import composed, training_config, use_hydra_config
from sweeps.launch.errors import as_user_error

RUNS = "runs.json"
"""File of a command with the runs that the command wants."""


class Need(NamedTuple):
    """A system of a claim, trained with one seed."""

    claim: str
    system: str
    seed: int


class Wanted(NamedTuple):
    """A run that at least one system of a claim needs."""

    identity: str
    """Runs with equal settings and code have equal identities."""
    overrides: tuple[str, ...]
    folder: Path
    """The folder that the same overrides have as a single run."""
    variant: str
    budget: Mapping[str, Any]
    """The group ``budget`` of the configuration: an amount by its kind."""
    needs: list[Need]


def wanted_runs(
    claims: Iterable[Claim],
    tier: TierName,
    shared: Sequence[str],
    seeds: Sequence[int] | None = None,
) -> list[Wanted]:
    """Return the runs that claims need at a tier, in the order of the claims.

    ``shared`` are overrides of the command that every run takes; ``seeds`` replace those of the
    claims. Raises ``UserError`` for overrides that do not fit, with the claim.
    """
    wanted: dict[str, Wanted] = {}
    composed_once: dict[tuple[str, ...], DictConfig] = {}
    for claim in claims:
        for system in claim.systems:
            overrides = (*claim.overrides(system, tier), *shared)
            if overrides not in composed_once:
                composed_once[overrides] = _checked(overrides, f"{claim.name}, system {system}")
            for seed in seeds or claim.tiers[tier].seeds:
                run = _with_seed(composed_once[overrides], overrides, seed)
                wanted.setdefault(run.identity, run).needs.append(Need(claim.name, system, seed))
    return list(wanted.values())


def write_runs(wanted: Sequence[Wanted], folder: Path) -> None:
    """Write what a command wants into ``folder``, so that its workers compose nothing again."""
    rows = [run._asdict() | {"folder": str(run.folder)} for run in wanted]
    write_json(folder / RUNS, rows)


def read_runs(folder: Path) -> list[Wanted]:
    """Read what ``write_runs`` wrote."""
    rows = json.loads((folder / RUNS).read_text(encoding="utf-8"))
    return [
        Wanted(
            **row
            | {
                "overrides": tuple(row["overrides"]),
                "folder": Path(row["folder"]),
                "needs": [Need(*need) for need in row["needs"]],
            }
        )
        for row in rows
    ]


def _checked(overrides: Sequence[str], where: str) -> DictConfig:
    try:
        config = composed(overrides)
        check_settings(config, overrides)
    except (HydraException, OmegaConfBaseException, UserError) as error:
        raise UserError(f"claim {where}: {as_user_error(error)}") from None
    return config


def _with_seed(config: DictConfig, overrides: Sequence[str], seed: int) -> Wanted:
    """Return the run of a seed. To compose the configuration anew takes a third of a second."""
    config.seed = seed
    OmegaConf.clear_cache(config)  # the folder of the seed before
    with use_hydra_config(config):
        folder = Path(config.hydra.run.dir)
        settings = training_config(config)
        plain: Any = OmegaConf.to_container(settings, resolve=True)
    return Wanted(
        identity=_identity(redacted(plain), code_versions(settings)),
        overrides=(*overrides, f"seed={seed}"),
        folder=folder,
        variant=plain["variant"],
        budget=plain["budget"],
        needs=[],
    )


def finished_runs(outputs: Path) -> dict[str, Path]:
    """Return the folder of every finished run in ``outputs`` by its identity.

    A run counts wherever it was trained: alone, for claims, or in a comparison.
    """
    found = {}
    for file in sorted(outputs.glob(f"**/{RESULT}")):
        try:
            result = read_result(file.parent)
        except BrokenFileError:
            continue
        if result is not None:
            code = CodeVersions(result.code or "", result.testing_code or "")
            found[_identity(result.config, code)] = file.parent
    return found


def _identity(config: Mapping[str, Any], code: CodeVersions) -> str:
    """Return sixteen hexadecimal digits of the settings that affect results, and of the code.

    Data is not read yet, as in ``output_folders.digest``: paths of files stand for their content.
    """
    content = [values_that_affect(config, RESULTS), code]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
