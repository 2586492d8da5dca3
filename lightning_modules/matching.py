"""Sizing a variant to match another: ``match=parameters``, ``match=flops``."""

import logging
from collections.abc import Callable

import hydra
import torch
from hydra.core.hydra_config import HydraConfig
from hydra.errors import MissingConfigException
from omegaconf import DictConfig

from datamodules.errors import UserError
from datamodules.translation_data import TranslationData
from lightning_modules.building import build_settings
from lightning_modules.flops import build_to_count, count_flops
from lightning_modules.match import MEASURES, Found, Match, Measure
from lightning_modules.testing import count_parameters

log = logging.getLogger(__name__)

FACTORS = ("scale", "fine_scale")
OF_THE_VARIANT = ("model", "match", "variant", *FACTORS)
"""Overrides on the command line that the other variant does not take."""
WIDEST = 32.0
"""A scale, and one over the narrowest, that nothing is searched beyond."""
GROWTH = 1.6
"""The power of a width with which counts grow, about."""
SAME = 1.0005
"""Ratio of two factors that make no difference."""
TRIES = 30
CLOSE = 0.001
"""Part of a count that ends the search."""


def match_size(config: DictConfig, data: TranslationData) -> None:
    """Choose widths as ``config.match`` says, and tell so in the log and in ``config.match.found``.

    Raises ``UserError`` if none fit, or if a scale is given too.
    """
    match = build_settings(config).match
    if match.by is None or match.found is not None:
        return
    for name in FACTORS:
        if config[name] != 1:
            raise UserError(
                f"{name}={config[name]}: match={match.by} chooses it; leave one of them out"
            )
    found = fit_size(config, _other(match), match, data)
    told = (
        f"scale={config.scale} fine_scale={config.fine_scale}: {found.own:,.0f} "
        f"{MEASURES[match.by]}, {found.apart:+.2%} from the {found.other:,.0f} of {match.variant}"
    )
    if abs(found.apart) > match.tolerance:
        raise UserError(
            f"match={match.by}: no widths come nearer than {told}; give match.tolerance="
            f"{abs(found.apart) + 0.001:.3f} or another match.variant"
        )
    config.match.found = found.model_dump()
    log.info("%s  %s", config.variant, told)


def fit_size(config: DictConfig, other: DictConfig, match: Match, data: TranslationData) -> Found:
    """Set ``config.scale`` so that its variant is as large as the other one.

    Where rounded widths leave none that fits, ``config.fine_scale`` then moves those on which no
    other depends.
    """
    assert match.by is not None
    wanted = count(match.by, other, data)
    for name in FACTORS:

        def counted(factor: float, measure: Measure = match.by, name: str = name) -> float:
            changed = config.copy()
            changed[name] = factor
            return count(measure, changed, data)

        config[name], own = search(counted, wanted)
        found = Found(own=own, other=wanted)
        if abs(found.apart) <= match.tolerance:
            break
    return found


def count(measure: Measure, config: DictConfig, data: TranslationData) -> float:
    """Return the count of a configuration's variant."""
    if measure == "flops":
        pairs = data.prepared.encoded["train"]
        return count_flops(config, data.tokenizers).a_target_token(pairs)
    with torch.device("meta"):
        return count_parameters(build_to_count(config, data.tokenizers))


def search(counted: Callable[[float], float], wanted: float) -> tuple[float, float]:
    """Return the factor whose count is nearest to the one wanted, and that count.

    Counts rise with the factor, in jumps where a width does, so the search also ends where two
    factors are too close to differ.
    """
    low, high = 1 / WIDEST, WIDEST
    factor, tried = 1.0, {}
    for _ in range(TRIES):
        tried[factor] = found = counted(factor)
        low, high = (factor, high) if found < wanted else (low, factor)
        if abs(found / wanted - 1) <= CLOSE or high / low < SAME:
            break
        factor = round(factor * (wanted / found) ** (1 / GROWTH), 5)
        if not low < factor < high:
            factor = round((low * high) ** 0.5, 5)
    return min(tried.items(), key=lambda one: abs(one[1] - wanted))


def _other(match: Match) -> DictConfig:
    """The configuration of the variant to be matched, with all else that the command line says."""
    given = [
        override
        for override in HydraConfig.get().overrides.task
        if override.lstrip("+~").partition("=")[0].partition(".")[0] not in OF_THE_VARIANT
    ]
    try:
        return hydra.compose("config", [*given, f"model={match.variant}"])
    except MissingConfigException:
        raise UserError(f"match.variant={match.variant}: no file of conf/model") from None
