"""Sizing a variant to match another: ``match=parameters``, ``match=flops``."""

import logging
from collections.abc import Callable, Sequence
from functools import partial

import hydra
import torch
from hydra.errors import MissingConfigException
from omegaconf import DictConfig

from datamodules.errors import UserError
from datamodules.translation_data import TranslationData
from lightning_modules.runs.schema import MEASURES, SizeMatch
from lightning_modules.training.factories import build_model
from lightning_modules.training.flops import count_flops
from lightning_modules.training.word_vectors import freeze
from lightning_modules.variants import EncoderDecoder, count_parameters

log = logging.getLogger(__name__)


FACTORS = ("scale", "fine_scale")
WIDEST = 32.0  # largest scale of the search; its inverse is the smallest
GROWTH = 1.6  # counts grow with about this power of a width
SAME = 1.0005  # two factors with a smaller ratio count as one
MAX_TRIES = 30
NEAR = 0.005  # relative error that is small enough to end a search
MAX_FLOP_COUNTS = 6


def match_size(config: DictConfig, data: TranslationData) -> None:
    """Set the scales of ``config`` as its ``match`` says; record the counts there and in the log.

    Raises ``UserError`` if no widths fit.
    """
    match = config.match
    if match.by is None or match.get("found") is not None:
        return
    other = _other_variant(config, match.variant)
    counts = fit_size(config, other, data)
    outcome = (
        f"scale={config.scale} fine_scale={config.fine_scale}: {counts.own:,.0f} "
        f"{MEASURES[match.by]}, {counts.apart:+.2%} from the {counts.other:,.0f} of {match.variant}"
    )
    if abs(counts.apart) > match.tolerance:
        raise UserError(
            f"match={match.by}: no widths come nearer than {outcome}; give match.tolerance="
            f"{abs(counts.apart) + 0.001:.3f} or another match.variant"
        )
    match.found = counts.model_dump()
    log.info("%s  %s", config.variant, outcome)


def fit_size(config: DictConfig, other: DictConfig, data: TranslationData) -> SizeMatch:
    """Set the scales of ``config`` so that its variant is as large as that of ``other``.

    FLOPs take long to count and follow parameters closely. So the search is for a number of
    parameters; the FLOPs of its result are counted, and the number is multiplied by wanted FLOPs /
    counted FLOPs.
    """
    parameters = partial(count_trained, data=data)
    wanted = goal = parameters(other)
    if config.match.by == "parameters":
        return SizeMatch(own=fit_parameters(config, goal, parameters), other=wanted)
    wanted = count_per_token(other, data)
    tried: list[tuple[float, dict[str, float], float]] = []
    for _ in range(MAX_FLOP_COUNTS):
        fit_parameters(config, goal, parameters)
        count = count_per_token(config, data)
        tried.append((abs(count / wanted - 1), {name: config[name] for name in FACTORS}, count))
        if tried[-1][0] <= NEAR:
            break
        goal *= wanted / count
    _, chosen, count = min(tried, key=lambda one: one[0])
    config.update(chosen)
    return SizeMatch(own=count, other=wanted)


def fit_parameters(
    config: DictConfig, wanted: float, parameters: Callable[[DictConfig], float]
) -> float:
    """Set ``config.scale`` to come nearest to the wanted parameters; return their number.

    Rounded widths may leave no scale that is near. Then ``config.fine_scale`` moves the widths on
    which no other width depends.
    """
    config.update(dict.fromkeys(FACTORS, 1))
    count = 0.0
    for name in FACTORS:

        def count_with(factor: float, name: str = name) -> float:
            changed = config.copy()
            changed[name] = factor
            return parameters(changed)

        config[name], count = search(count_with, wanted)
        if abs(count / wanted - 1) <= NEAR:
            break
    return count


def build_to_count(config: DictConfig, sizes: Sequence[int]) -> EncoderDecoder:
    """Build a variant on the current default device, without ``model.placement``.

    Embeddings are frozen as in training. Global random state stays as it is.
    """
    config = config.copy()
    if "placement" in config.model:
        config.model.placement = None
    with torch.random.fork_rng(devices=[]):
        model = build_model(config, *sizes)
    freeze(model, config)
    return model


def count_trained(config: DictConfig, data: TranslationData) -> float:
    """Count the trained parameters of a variant, on a model without storage."""
    with torch.device("meta"):
        return count_parameters(build_to_count(config, data.vocabulary_sizes))


def count_per_token(config: DictConfig, data: TranslationData) -> float:
    """Count the FLOPs of a variant for a target token of the training data."""
    model = build_to_count(config, data.vocabulary_sizes)
    return count_flops(model, config.teacher_forcing).per_target_token(data.training_pairs)


def search(count: Callable[[float], float], wanted: float) -> tuple[float, float]:
    """Return the factor whose count is nearest to the wanted one, and that count.

    Counts rise with the factor, in jumps where a width does. So the search also ends where two
    factors are too close to differ.
    """
    low, high = 1 / WIDEST, WIDEST
    factor, tried = 1.0, {}
    for _ in range(MAX_TRIES):
        tried[factor] = reached = count(factor)
        low, high = (factor, high) if reached < wanted else (low, factor)
        if abs(reached / wanted - 1) <= NEAR / 5 or high / low < SAME:
            break
        factor = round(factor * (wanted / reached) ** (1 / GROWTH), 5)
        if not low < factor < high:
            factor = round((low * high) ** 0.5, 5)
    return min(tried.items(), key=lambda one: abs(one[1] - wanted))


def _other_variant(config: DictConfig, name: str) -> DictConfig:
    """Return the same configuration with the unchanged variant of a file of ``conf/model``."""
    try:
        plain = hydra.compose("config", [f"model={name}"])
    except MissingConfigException:
        raise UserError(f"match.variant={name}: no file of conf/model") from None
    other = config.copy()
    other.model = plain.model
    return other
