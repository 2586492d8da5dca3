"""Sizing a variant to match another: ``match=parameters``, ``match=flops``."""

import logging
from collections.abc import Callable
from functools import partial

import hydra
import torch
from hydra.errors import MissingConfigException
from omegaconf import DictConfig

from datamodules.errors import UserError
from datamodules.translation_data import TranslationData
from lightning_modules.building import build_data, build_settings
from lightning_modules.flops import build_to_count, count_flops
from lightning_modules.match import MEASURES, Found, Match
from lightning_modules.testing import count_parameters

log = logging.getLogger(__name__)

FACTORS = ("scale", "fine_scale")
WIDEST = 32.0
"""A scale, and one over the narrowest, that nothing is searched beyond."""
GROWTH = 1.6
"""The power of a width with which counts grow, about."""
SAME = 1.0005
"""Ratio of two factors that make no difference."""
TRIES = 30
NEAR = 0.005
"""Part of a count that is near enough to end a search."""
COUNTS = 6
"""Of operations, at most."""


def match_size(config: DictConfig) -> None:
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
    found = fit_size(config, _other(config, match.variant), match, build_data(config))
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

    Operations take long to count and follow parameters closely: the parameters wanted are put
    right by how far off the operations were.
    """
    parameters = partial(count_trained, data=data)
    wanted = goal = parameters(other)
    if match.by == "parameters":
        return Found(own=fit_parameters(config, goal, parameters), other=wanted)
    wanted = count_operations(other, data)
    tried: list[tuple[float, dict[str, float], float]] = []
    for _ in range(COUNTS):
        fit_parameters(config, goal, parameters)
        own = count_operations(config, data)
        tried.append((abs(own / wanted - 1), {name: config[name] for name in FACTORS}, own))
        if tried[-1][0] <= NEAR:
            break
        goal *= wanted / own
    _, chosen, own = min(tried, key=lambda one: one[0])
    config.update(chosen)
    return Found(own=own, other=wanted)


def fit_parameters(
    config: DictConfig, wanted: float, parameters: Callable[[DictConfig], float]
) -> float:
    """Set ``config.scale`` to come nearest to so many parameters; return how many it has.

    Where rounded widths leave none that is near, ``config.fine_scale`` then moves those on which
    no other depends.
    """
    config.update(dict.fromkeys(FACTORS, 1))
    own = 0.0
    for name in FACTORS:

        def counted(factor: float, name: str = name) -> float:
            changed = config.copy()
            changed[name] = factor
            return parameters(changed)

        config[name], own = search(counted, wanted)
        if abs(own / wanted - 1) <= NEAR:
            break
    return own


def count_trained(config: DictConfig, data: TranslationData) -> float:
    """Parameters that training moves, of a model without numbers."""
    with torch.device("meta"):
        return count_parameters(build_to_count(config, data.vocabulary_sizes))


def count_operations(config: DictConfig, data: TranslationData) -> float:
    """Operations for a target token of the training data."""
    pairs = data.prepared.encoded["train"]
    return count_flops(config, data.vocabulary_sizes).a_target_token(pairs)


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
        if abs(found / wanted - 1) <= NEAR / 5 or high / low < SAME:
            break
        factor = round(factor * (wanted / found) ** (1 / GROWTH), 5)
        if not low < factor < high:
            factor = round((low * high) ** 0.5, 5)
    return min(tried.items(), key=lambda one: abs(one[1] - wanted))


def _other(config: DictConfig, name: str) -> DictConfig:
    """The same configuration with the variant of a file, as it is there, in place of its own."""
    try:
        plain = hydra.compose("config", [f"model={name}"])
    except MissingConfigException:
        raise UserError(f"match.variant={name}: no file of conf/model") from None
    other = config.copy()
    other.model = plain.model
    return other
