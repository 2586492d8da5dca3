"""What a command on claims asks for: its claims, its tier, the runs of its systems."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from datamodules.errors import UserError
from lightning_modules.runs.settings.table import key_of
from sweeps.claims.catalogue import choose
from sweeps.claims.claim import OF_COMMANDS, TIERS, Claim, TierName
from sweeps.claims.planning.finished import finished_runs
from sweeps.claims.planning.plan import LeftOut, Plan
from sweeps.claims.planning.runs import RATE, Systems, Wanted, key_of_system, wanted_runs
from sweeps.claims.tuning import read_rates, trial_runs


def plan_of(config: DictConfig, wanted: Sequence[Wanted], hydra: Any = None) -> Plan:
    """Return the plan of a command, with the runs that exist now."""
    runnable, left_out = chosen_claims(config, tier_of(hydra or config.hydra))
    return Plan(runnable, left_out, wanted, *finished_runs(Path(config.outputs)))


def wanted_by(config: DictConfig) -> tuple[list[Wanted], list[Wanted]]:
    """Return the runs that a command wants, and those with the learning rates of the files.

    Raises ``UserError`` for overrides that do not fit.
    """
    tier, shared = tier_of(config.hydra), shared_overrides(config)
    for override in shared:
        if key_of(override) == "seed":
            raise UserError(
                f"{override}: claims name their seeds; give seed_count=N for seeds 1 to N"
            )
    claims, systems = chosen_claims(config, tier)[0], Systems(tier, shared)
    if config.tune:
        _refuse_beside_tune(config, shared)
    seeds = None if config.seed_count is None else range(1, config.seed_count + 1)
    untuned = wanted_runs(claims, systems, seeds)
    if config.tune:  # after the check above, that the systems of a claim differ
        return trial_runs(claims, systems), []
    if config.learning_rates is None:
        return untuned, untuned
    return wanted_runs(claims, systems, seeds, _rates(config, claims, systems)), untuned


def shared_overrides(config: DictConfig) -> list[str]:
    """Return the overrides of a command that every run takes."""
    given = config.hydra.overrides.task
    return [each for each in given if key_of(each).partition(".")[0] not in OF_COMMANDS]


def _refuse_beside_tune(config: DictConfig, shared: Sequence[str]) -> None:
    """Raise ``UserError`` for settings that trials have themselves."""
    for key, has in (("learning_rates", "own rates"), ("seed_count", "one seed")):
        if config[key] is not None:
            raise UserError(f"tune=true and {key}: give one of them, trials have {has}")
    for override in shared:
        if key_of(override) == RATE:
            raise UserError(f"tune=true and {override}: give one of them, trials have own rates")


def _rates(config: DictConfig, claims: list[Claim], systems: Systems) -> dict[str, float]:
    """Return the recorded rates. Raises ``UserError`` unless each system has exactly one rate."""
    setting = f"learning_rates={config.learning_rates}"
    rates = read_rates(Path(config.learning_rates))
    if any(key_of(override) == RATE for override in systems.shared):
        raise UserError(f"{setting} and {RATE}: give one of them")
    for claim in claims:
        for system in claim.systems:
            key = key_of_system(claim, system, systems.tier)
            if key not in rates:
                raise UserError(
                    f"{setting} has no rate of {key} ({claim.name}); the same command with "
                    "tune=true and without learning_rates finds it"
                )
    return rates


def chosen_claims(config: DictConfig, tier: TierName) -> tuple[list[Claim], list[LeftOut]]:
    """Return the claims to run, and those that cannot be run at the tier with the reason.

    Raises ``UserError`` for an unknown claim.
    """
    given = config.claims
    chosen = choose(OmegaConf.to_container(given) if OmegaConf.is_config(given) else given)
    left_out = [LeftOut(claim, why) for claim in chosen if (why := claim.why_not(tier)) is not None]
    if len(left_out) == len(chosen):
        reasons = "; ".join(f"{claim.name} {why}" for claim, why in left_out)
        raise UserError(f"none of the claims can be run at tier={tier}: {reasons}")
    return [claim for claim in chosen if claim.why_not(tier) is None], left_out


def tier_of(hydra: Any) -> TierName:
    """Return the tier of a command. Raises ``UserError`` without one."""
    chosen = hydra.runtime.choices.tier
    for tier in TIERS:
        if tier == chosen:
            return tier
    raise UserError(f"tier=null: give one of {', '.join(TIERS)}")
