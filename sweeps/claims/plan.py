"""The plan of a command on claims: the runs that its claims need, each once.

A claim is judged on each of its corpora at each rung of its ladder, so that it needs a run of each
system, corpus, rung and seed. The rungs of a system are one training, the *trunk*, which leaves a
run at each of them. A run that exists anywhere in ``outputs`` is used again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from datamodules.errors import UserError
from datamodules.grammar.contrast.errors import CATEGORIES
from lightning_modules.runs.checksums import BrokenFileError
from lightning_modules.runs.files import read_result
from lightning_modules.runs.identity import Identity
from lightning_modules.runs.job import quoted
from lightning_modules.runs.paths import CHECKPOINTS, FAILURE, LAST, RESULT
from lightning_modules.runs.setting_checks import check_settings
from lightning_modules.runs.settings import flatten, key_of
from lightning_modules.runs.trunk_checks import amount_key, schedule_that_ends
from lightning_modules.training.budgets import Budget, read_budget
from lightning_modules.training.factories import SMALL_VOCABULARY, build_model
from sweeps.claims.claim import Claim, TierName
from sweeps.claims.corpora import LANGUAGES, SYNTHETIC, ClaimCorpus
from sweeps.claims.job_time import workload
from sweeps.claims.measures import AgreementDifference
from sweeps.launch.compose import composed, training_config, use_hydra_config
from sweeps.launch.errors import as_user_error

RATE = "optimizer.lr"
TOKENS = "target_tokens"  # the kind of budget of the tiers' ladders
GRAMMAR = "datamodules.grammar.GrammarCorpus"
"""The built-in corpus, whose categories of contrastive pairs are known."""


class Need(NamedTuple):
    """A system of a claim, on one corpus at one rung, trained with one seed."""

    claim: str
    corpus: str
    rung: float
    system: str
    seed: int


class PlannedRun(NamedTuple):
    """A run that at least one system of a claim needs."""

    identity: str  # `Identity.run`, before data is read
    training: str
    """Runs with equal trainings differ only in how the model is tested, as in the search."""
    trunk: str
    """Trainings with equal trunks differ only in how far they go, and continue one another."""
    overrides: tuple[str, ...]  # the amount of the budget is the last but the seed
    folder: Path  # the folder that the same overrides have as a single run
    workload: str  # what decides the speed of the training; see `workload`
    kind: str  # of the budget
    amount: float  # of the budget
    needs: list[Need]


class SkippedClaim(NamedTuple):
    """A claim that cannot be run at the tier."""

    claim: Claim
    why: str


class FinishedRuns(NamedTuple):
    """Folders of finished runs."""

    runs: dict[str, Path]  # by the identity of the run
    trainings: dict[str, Path]
    """By the training alone; a run whose checkpoints are gone does not count."""


@dataclass(frozen=True)
class ClaimsPlan:
    """The runs that chosen claims need."""

    tier: TierName
    claims: Sequence[Claim]
    skipped: Sequence[SkippedClaim]
    runs: Sequence[PlannedRun]
    corpora: Mapping[str, Sequence[ClaimCorpus]]  # of each claim, by its name
    rungs: Mapping[str, Sequence[float]]  # of each claim, rising
    finished: FinishedRuns = field(default_factory=lambda: FinishedRuns({}, {}))
    """The runs that existed when the plan was made."""

    @property
    def missing(self) -> list[PlannedRun]:
        """The runs that are to be trained."""
        return [run for run in self.runs if run.identity not in self.finished.runs]

    @property
    def missing_by_training(self) -> list[list[PlannedRun]]:
        """Missing runs, those together that differ only in how the model is tested."""
        together: dict[str, list[PlannedRun]] = {}
        for run in self.missing:
            together.setdefault(run.training, []).append(run)
        return [*together.values()]

    def folder(self, run: PlannedRun) -> Path:
        """Return where a run is, or will be."""
        return self.finished.runs.get(run.identity, run.folder)

    def of(
        self, claim: Claim, corpus: str, rung: float
    ) -> Mapping[str, Sequence[tuple[int, Path]]]:
        """Return seeds and run folders of each system of a claim, in the order of the seeds."""
        return self._needed.get((claim.name, corpus, rung), {})

    @cached_property
    def _needed(self) -> dict[tuple[str, str, float], dict[str, list[tuple[int, Path]]]]:
        found: dict[tuple[str, str, float], dict[str, list[tuple[int, Path]]]] = {}
        needs = sorted((need, self.folder(run)) for run in self.runs for need in run.needs)
        for need, folder in needs:
            place = found.setdefault((need.claim, need.corpus, need.rung), {})
            place.setdefault(need.system, []).append((need.seed, folder))
        return found

    def runs_of(self, claim: Claim) -> list[PlannedRun]:
        """Return the runs that a claim needs, also those that another claim needs too."""
        return self._by_claim.get(claim.name, [])

    @cached_property
    def _by_claim(self) -> dict[str, list[PlannedRun]]:
        found: dict[str, list[PlannedRun]] = {}
        for run in self.runs:
            for name in {need.claim for need in run.needs}:
                found.setdefault(name, []).append(run)
        return found

    def is_one_training(self, claim: Claim) -> bool:
        """Return whether all systems of a claim are the same trainings, tested in several ways."""
        trainings: dict[str, set[str]] = {system: set() for system in claim.systems}
        for run in self.runs_of(claim):
            for need in run.needs:
                if need.claim == claim.name:
                    trainings[need.system].add(run.training)
        first, *others = trainings.values()
        return bool(others) and all(each == first for each in others)

    def seeds_of(self, claim: Claim, corpus: str) -> list[int]:
        """Return the seeds of each system of a claim on a corpus."""
        systems = self.of(claim, corpus, self.rungs[claim.name][0]).values()
        return sorted({seed for of_system in systems for seed, _ in of_system})


class Choices(NamedTuple):
    """What a command chooses for all of its claims."""

    seeds: Sequence[int] | None = None  # in place of those of the claims
    rungs: Sequence[float] | None = None  # target tokens, in place of those of claims and tier
    rates: Mapping[str, float] = MappingProxyType({})
    """Learning rates in place of those of the files, by ``key_of_system``."""


UNCHANGED = Choices()


class SystemOnCorpus(NamedTuple):
    """A system of a claim on a corpus, as its overrides compose it."""

    config: DictConfig  # whose seed and budget change with each run that is made of it
    overrides: tuple[str, ...]
    budget: Budget


class Systems:
    """The systems of claims at a tier, each composed once: that takes a third of a second.

    Each run is made once too, however many claims need the run.

    ``shared`` are overrides of the command that every run takes, ``roots`` the folders of corpora.
    """

    def __init__(
        self, tier: TierName, shared: Sequence[str], roots: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.tier, self.shared, self.roots = tier, shared, roots
        self._composed: dict[tuple[str, ...], tuple[DictConfig, Budget]] = {}
        self._on_corpus: dict[tuple[str, ...], SystemOnCorpus] = {}
        self._runs: dict[tuple[str, ...], PlannedRun] = {}

    def on(self, claim: Claim, system: str, corpus: ClaimCorpus) -> SystemOnCorpus:
        """Return a system on a corpus.

        Raises ``UserError`` for overrides that do not fit or change the claim, with the claim.
        """
        self._refuse_replaced(claim, system)
        of_claim, values = self._of_claim(claim, system), dict(corpus.settings)
        if corpus.name in self.roots:
            values["data.root"] = self.roots[corpus.name]
        written = [f"{key}={quoted(Path(str(value)))}" for key, value in values.items()]
        overrides = (f"tier={self.tier}", *corpus.choice, *written, *of_claim)
        if overrides not in self._on_corpus:
            where = f"{claim.name}, system {system}"
            shared = (f"tier={self.tier}", *corpus.choice, *of_claim)
            of_all, budget = self._compose(shared, where)
            config = of_all.copy()
            for key in values.keys() - {*map(key_of, of_claim)}:
                OmegaConf.update(config, key, values[key])
            self._on_corpus[overrides] = SystemOnCorpus(config, overrides, budget)
        found = self._on_corpus[overrides]
        if isinstance(claim.measure, AgreementDifference):
            _check_choices(claim.name, claim.measure, found.config)
        if corpus.languages is None:
            self._check_local_text(claim, system, found.config)
        return found

    def _check_local_text(self, claim: Claim, system: str, config: DictConfig) -> None:
        """Raise ``UserError`` for local text in other languages than the claim's own corpus."""
        local = [each for each in self.shared if key_of(each) == "data"]
        if not local:
            return
        where = f"{claim.name}, system {system}"
        own = self._compose(tuple(claim.overrides(system, self.tier)), where)[0].data
        if (own.source, own.target) != (config.data.source, config.data.target):
            raise UserError(
                f"claim {claim.name}: asks for {own.source} to {own.target}, and {local[0]} is "
                f"{config.data.source} to {config.data.target}; give data.source={own.source} "
                f"data.target={own.target} and such text"
            )

    def ladder(
        self, claim: Claim, corpus: ClaimCorpus, rungs: Sequence[float] | None = None
    ) -> list[float]:
        """Return the rungs of a claim: those of its file, of the command, or of the tier.

        At ``laptop``, a contested claim gets one doubling more than the tier has. ``rungs`` of a
        command count target tokens, and leave a claim alone whose budget counts something else.
        Raises ``UserError`` as ``on`` does.
        """
        systems = [each for each in claim.systems if not claim.has_own_budget(each, self.tier)]
        budget = self.on(claim, (systems or [*claim.systems])[0], corpus).budget
        if not systems:
            return [budget.amount]
        if rungs is not None and budget.kind == TOKENS:
            return [*rungs]
        if (own := claim.tiers[self.tier].rungs) is not None:
            return [*own]
        further = claim.contested and self.tier == SYNTHETIC
        more = [2 * budget.amount] if further and budget.rungs else []
        lower = [rung for rung in budget.rungs if rung < budget.amount]
        return [*lower, budget.amount, *more]

    def run(
        self,
        claim: Claim,
        system: str,
        corpus: ClaimCorpus,
        rung: float,
        seed: int,
        rate: float | None = None,
    ) -> PlannedRun:
        """Return a run of a system; ``rate`` is a learning rate other than the system's own."""
        config, overrides, budget = self.on(claim, system, corpus)
        amount = budget.amount if claim.has_own_budget(system, self.tier) else rung
        if rate is not None:
            overrides = (*overrides, f"{RATE}={rate:g}")
        key = amount_key(flatten({"budget": OmegaConf.to_container(config.budget)}))
        overrides = (*overrides, f"{key}={amount:.15g}", f"seed={seed}")
        if overrides not in self._runs:
            if rate is not None:
                config = config.copy()
                config.optimizer.lr = rate
            changed = {key: whole(amount), "seed": seed}
            self._runs[overrides] = _planned(config, changed, overrides)
        return self._runs[overrides]._replace(needs=[])

    def _of_claim(self, claim: Claim, system: str) -> list[str]:
        """Return the overrides of a system and of the command.

        At the tier ``paper``, the command may say that a paper's text lies in local files.
        """
        _, *own = claim.overrides(system, self.tier)
        if any(key_of(each) == "data" for each in self.shared):
            own = [each for each in own if key_of(each) != "data"]
        return [*own, *self.shared]

    def _compose(self, overrides: tuple[str, ...], where: str) -> tuple[DictConfig, Budget]:
        if overrides not in self._composed:
            self._composed[overrides] = _checked(overrides, where)
        return self._composed[overrides]

    def _refuse_replaced(self, claim: Claim, system: str) -> None:
        own = claim.tiers[self.tier].systems.get(system, claim.systems[system])
        fixed = {"model", *map(key_of, own)}
        if self.tier != "paper":  # where the text of a paper may be in local files
            fixed |= {"data", *LANGUAGES}
        for override in self.shared:
            if key_of(override) in fixed:
                raise UserError(
                    f"claim {claim.name}: the claim and its tier choose {key_of(override)}; leave "
                    f"{override} out"
                )
            if key_of(override).partition(".")[0] == "budget":
                raise UserError(f"{override}: claims are judged at rungs; give rungs=[…] instead")


def plan_runs(
    claims: Iterable[Claim],
    corpora: Mapping[str, Sequence[ClaimCorpus]],
    systems: Systems,
    choices: Choices = UNCHANGED,
) -> tuple[list[PlannedRun], dict[str, list[float]]]:
    """Return the runs that claims need, each once, in the order of the claims; and the ladders.

    ``corpora`` are those of each claim, by its name, and so are the ladders. Raises ``UserError``
    for overrides that do not fit, and for two systems of a claim that are the same run, with the
    claim.
    """
    planned: dict[str, PlannedRun] = {}
    ladders: dict[str, list[float]] = {}
    for claim in claims:
        on = corpora[claim.name]
        ladders[claim.name] = systems.ladder(claim, on[0], choices.rungs)
        for corpus, system, rung in product(on, claim.systems, ladders[claim.name]):
            rate = choices.rates.get(key_of_system(claim, system, systems.tier))
            for seed in corpus.seeds or choices.seeds or claim.seeds(systems.tier):
                run = systems.run(claim, system, corpus, rung, seed, rate)
                need = Need(claim.name, corpus.name, rung, system, seed)
                planned.setdefault(run.identity, run).needs.append(need)
        _refuse_equal_systems(claim, planned.values())
    return list(planned.values()), ladders


def _refuse_equal_systems(claim: Claim, planned: Iterable[PlannedRun]) -> None:
    for run in planned:
        first: dict[tuple[str, float, int], str] = {}
        for need in run.needs:
            place = (need.corpus, need.rung, need.seed)
            if need.claim != claim.name or first.setdefault(place, need.system) == need.system:
                continue
            pair = (first[place], need.system)
            raise UserError(
                f"claim {claim.name}: its systems {' and '.join(pair)} are the same run; systems "
                "of a claim differ in a setting"
            )


def key_of_system(claim: Claim, system: str, tier: TierName) -> str:
    """Return the key of a system in all claims: its overrides."""
    return " ".join(claim.overrides(system, tier))


def whole(amount: float) -> int | float:
    """Return an amount of a budget as an override says it: a whole number where it is one."""
    return int(amount) if amount == int(amount) else amount


def _checked(overrides: Sequence[str], where: str) -> tuple[DictConfig, Budget]:
    """Return the configuration of a run, which has no rungs, and its budget, with the rungs."""
    try:
        config = composed(overrides)
        budget = read_budget(config)
        config.budget.rungs = []
        check_settings(config, overrides)
        if budget.plateau is not None:
            raise UserError(
                "budget.plateau: the systems of a claim train equally long; leave it out"
            )
        with torch.device("meta"):  # sizes that do not fit; the vocabularies do not matter
            build_model(config, SMALL_VOCABULARY, SMALL_VOCABULARY)
    except (HydraException, OmegaConfBaseException, UserError) as error:
        raise UserError(f"claim {where}: {as_user_error(error)}") from None
    return config, budget


def _check_choices(name: str, measure: AgreementDifference, config: DictConfig) -> None:
    if not config.scoring.contrastive:
        raise UserError(
            f"claim {name}: kind agreement needs scoring.contrastive=true in the tier's overrides"
        )
    of_grammar = config.data._target_ == GRAMMAR
    if of_grammar and measure.category is not None and measure.category not in CATEGORIES:
        raise UserError(
            f"claim {name}: category={measure.category}: give one of {', '.join(CATEGORIES)}"
        )


def _planned(
    config: DictConfig, changed: Mapping[str, Any], overrides: tuple[str, ...]
) -> PlannedRun:
    """Return a run with some settings changed, in ``config`` too."""
    for key, value in changed.items():
        OmegaConf.update(config, key, value)
    OmegaConf.clear_cache(config)  # the folder of the run before
    with use_hydra_config(config):
        folder = Path(config.hydra.run.dir)
        identity, budget = Identity.of_config(training_config(config)), read_budget(config)
    ends = schedule_that_ends(flatten(identity.config)) is not None
    return PlannedRun(
        identity=identity.run,
        training=identity.training,
        trunk=identity.training if ends else identity.without_budget().training,
        overrides=overrides,
        folder=folder,
        workload=workload(identity.config),
        kind=budget.kind,
        amount=budget.amount,
        needs=[],
    )


def finished_runs(outputs: Path) -> FinishedRuns:
    """Return the finished runs in ``outputs``.

    A run counts wherever it was trained: alone, for claims, or in a comparison; not where a later
    job has failed.
    """
    found = FinishedRuns({}, {})
    for file in sorted(outputs.glob(f"**/{RESULT}")):
        try:
            result = read_result(file.parent)
        except BrokenFileError:
            continue
        if result is not None and not (file.parent / FAILURE).is_file():
            identity = Identity.of_result(result).before_data()
            found.runs[identity.run] = file.parent
            if (file.parent / CHECKPOINTS / LAST).is_file():
                found.trainings[identity.training] = file.parent
    return found
