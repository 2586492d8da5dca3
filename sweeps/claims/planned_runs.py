"""How fast finished runs trained on this machine: by what decides the speed."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from datamodules.errors import UserError
from datamodules.files import write_json
from datamodules.grammar.contrast.errors import CATEGORIES
from lightning_modules.runs.files import read_result
from lightning_modules.runs.identity import Identity
from lightning_modules.runs.provenance import environment
from lightning_modules.runs.schema import Environment
from lightning_modules.runs.setting_checks import check_settings
from lightning_modules.runs.settings import flatten, key_of
from lightning_modules.training.factories import build_model
from lightning_modules.training.settings import training_settings
from sweeps.claims.claim import Claim, TierName
from sweeps.claims.measures import AgreementDifference
from sweeps.launch.compose import composed, training_config, use_hydra_config
from sweeps.launch.errors import as_user_error

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


RATE = "optimizer.lr"
GRAMMAR = "datamodules.grammar.GrammarCorpus"
"""The built-in corpus, whose categories of contrastive pairs are known."""
SMALL_VOCABULARY = 8
"""Tokens of the vocabularies with which a plan tries whether the sizes of a model fit."""


class Need(NamedTuple):
    """A system of a claim, trained with one seed."""

    claim: str
    system: str
    seed: int


class PlannedRun(NamedTuple):
    """A run that at least one system of a claim needs."""

    identity: str
    """Runs with equal settings and code have equal identities."""
    training: str
    """Runs with equal trainings differ only in how the model is tested, as in the search."""
    overrides: tuple[str, ...]
    folder: Path
    """The folder that the same overrides have as a single run."""
    workload: str
    """What decides the speed of the training: ``speed.workload``."""
    budget: Mapping[str, Any]
    """The group ``budget`` of the configuration: an amount by its kind."""
    needs: list[Need]


class Systems:
    """The systems of claims at a tier, each composed once: that takes a third of a second.

    Each run is made once too, however many claims need the run.

    ``shared`` are overrides of the command that every run takes.
    """

    def __init__(self, tier: TierName, shared: Sequence[str]) -> None:
        self.tier, self.shared = tier, shared
        self._composed: dict[tuple[str, ...], DictConfig] = {}
        self._runs: dict[tuple[str, ...], PlannedRun] = {}

    def config(self, claim: Claim, system: str) -> DictConfig:
        """Return the configuration of a system.

        Raises ``UserError`` for overrides that do not fit or change the claim, with the claim.
        """
        overrides = self.overrides(claim, system)
        _refuse_replaced(claim, system, self.tier, self.shared)
        if overrides not in self._composed:
            self._composed[overrides] = _checked(overrides, f"{claim.name}, system {system}")
        config = self._composed[overrides]
        if isinstance(claim.measure, AgreementDifference):
            _check_choices(claim.name, claim.measure, config)
        return config

    def overrides(self, claim: Claim, system: str) -> tuple[str, ...]:
        """Return the overrides of a system without rate and seed."""
        return (*claim.overrides(system, self.tier), *self.shared)

    def run(self, claim: Claim, system: str, seed: int, rate: float | None = None) -> PlannedRun:
        """Return a run of a system; ``rate`` is a learning rate other than the system's own."""
        config, overrides = self.config(claim, system), self.overrides(claim, system)
        if rate is not None:
            config = config.copy()
            config.optimizer.lr = rate
            overrides = (*overrides, f"{RATE}={rate:g}")
        overrides = (*overrides, f"seed={seed}")
        if overrides not in self._runs:
            self._runs[overrides] = _with_seed(config, overrides, seed)
        return self._runs[overrides]._replace(needs=[])


def plan_runs(
    claims: Iterable[Claim],
    systems: Systems,
    seeds: Sequence[int] | None = None,
    rates: Mapping[str, float] = MappingProxyType({}),
) -> list[PlannedRun]:
    """Return the runs that claims need, each once, in the order of the claims.

    Args:
        claims: claims that can be run at the tier.
        systems: the systems of these claims.
        seeds: seeds in place of those of the claims.
        rates: learning rates other than those of the files, by ``key_of_system``.

    Raises ``UserError`` for overrides that do not fit, and for two systems of a claim that are the
    same run, with the claim.
    """
    wanted: dict[str, PlannedRun] = {}
    for claim in claims:
        for system in claim.systems:
            rate = rates.get(key_of_system(claim, system, systems.tier))
            for seed in seeds or claim.tiers[systems.tier].seeds:
                run = systems.run(claim, system, seed, rate)
                wanted.setdefault(run.identity, run).needs.append(Need(claim.name, system, seed))
        _refuse_equal_systems(claim, wanted.values())
    return list(wanted.values())


def _refuse_replaced(claim: Claim, system: str, tier: TierName, shared: Iterable[str]) -> None:
    """Raise ``UserError`` for an override of the command that changes what a claim is about."""
    own = claim.tiers[tier].systems.get(system, claim.systems[system])
    fixed = {"model", "data", *map(key_of, own)}
    for override in shared:
        if key_of(override) in fixed:
            raise UserError(
                f"claim {claim.name}: the claim and its tier choose {key_of(override)}; leave "
                f"{override} out"
            )


def _refuse_equal_systems(claim: Claim, wanted: Iterable[PlannedRun]) -> None:
    """Raise ``UserError`` if two systems of a claim need one run with one seed."""
    for run in wanted:
        first: dict[int, str] = {}
        for need in run.needs:
            if need.claim != claim.name or first.setdefault(need.seed, need.system) == need.system:
                continue
            pair = (first[need.seed], need.system)
            raise UserError(
                f"claim {claim.name}: its systems {' and '.join(pair)} are the same run; systems "
                "of a claim differ in a setting"
            )


def key_of_system(claim: Claim, system: str, tier: TierName) -> str:
    """Return by what a system is known in all claims: its overrides."""
    return " ".join(claim.overrides(system, tier))


def write_runs(wanted: Sequence[PlannedRun], file: Path) -> None:
    """Write what a command wants into a file, so that its workers compose nothing again."""
    rows = [run._asdict() | {"folder": str(run.folder)} for run in wanted]
    write_json(file, rows)


def read_runs(file: Path) -> list[PlannedRun]:
    """Read what ``write_runs`` wrote."""
    rows = json.loads(file.read_text(encoding="utf-8"))
    return [
        PlannedRun(
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
        training_settings(config)
        with torch.device("meta"):  # sizes that do not fit; the vocabularies do not matter
            build_model(config, SMALL_VOCABULARY, SMALL_VOCABULARY)
    except (HydraException, OmegaConfBaseException, UserError) as error:
        raise UserError(f"claim {where}: {as_user_error(error)}") from None
    return config


def _check_choices(name: str, measure: AgreementDifference, config: DictConfig) -> None:
    """Raise ``UserError`` if a run would make no choices that a claim on agreement counts."""
    if not config.scoring.contrastive:
        raise UserError(
            f"claim {name}: kind agreement needs scoring.contrastive=true in the tier's overrides"
        )
    of_grammar = config.data._target_ == GRAMMAR
    if of_grammar and measure.category is not None and measure.category not in CATEGORIES:
        raise UserError(
            f"claim {name}: category={measure.category}: give one of {', '.join(CATEGORIES)}"
        )


def _with_seed(config: DictConfig, overrides: Sequence[str], seed: int) -> PlannedRun:
    config.seed = seed
    OmegaConf.clear_cache(config)  # the folder of the seed before
    with use_hydra_config(config):
        folder = Path(config.hydra.run.dir)
        identity = Identity.of_config(training_config(config))
    return PlannedRun(
        identity=identity.run,
        training=identity.training,
        overrides=tuple(overrides),
        folder=folder,
        workload=workload(identity.config),
        budget=identity.config["budget"],
        needs=[],
    )
