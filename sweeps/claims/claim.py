"""A published claim: a file of ``conf/claim``, checked against these models."""

import math
import re
from collections.abc import Iterable
from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

import numpy as np
import yaml
from pydantic import Field, PositiveInt, field_validator, model_validator

from datamodules.errors import UserError, one_line, validated
from lightning_modules.runs.paths import CONF
from lightning_modules.runs.settings import key_of
from sweeps.claims.measures import AnyMeasure, ClaimPart
from sweeps.claims.published_bleu import FLAVOURS
from sweeps.claims.verdict import Margin, Says

TierName = Literal["laptop", "bench", "paper"]
TIERS: tuple[TierName, ...] = get_args(TierName)
OF_COMMANDS = (
    *("task", "claims", "tier", "plan", "seed_count", "tune", "learning_rates"),
    *("workers", "comparison_name", "hydra"),
)
"""Keys, or their first parts, that are a command's and no training's."""
CHOICES = "scoring.contrastive"
"""The only key of scoring that a claim sets: all claims of a command are scored alike."""
MOST = 1e6  # largest size of a number in a claim's file; all scores are far below
Number = Annotated[float, Field(strict=True, ge=-MOST, le=MOST)]
Positive = Annotated[float, Field(strict=True, gt=0, le=MOST)]
Text = Annotated[str, Field(min_length=1)]
OF_RUNS = ("seed", "outputs")
"""Keys that each run of a claim gets from the command or from the tier's seeds."""


class Paper(ClaimPart):
    """Where claims are from: ``paper.yaml`` of a folder of ``conf/claim``."""

    authors: str
    year: int
    title: str
    link: str


class PublishedValues(ClaimPart):
    """Values that the paper reports for the systems of a claim."""

    unit: str  # what the values are, such as `BLEU` or `AER (%)`
    flavour: str | None = None  # how the paper computed BLEU: a name of `flavours`
    data: str
    values: dict[str, Number]  # by the names of the systems
    curves: dict[str, tuple[tuple[Positive, Number], ...]] = Field(default_factory=dict)
    """Sentence lengths with values at these lengths, by the names of systems."""
    read_off: bool = False  # whether values and curves were read off a picture

    @model_validator(mode="after")
    def _bleu_has_a_known_flavour(self) -> Self:
        if _is_unit_of(self.unit, "bleu") != (self.flavour is not None):
            raise ValueError(f"unit={self.unit}: published BLEU has a flavour, and nothing else")
        if self.flavour is not None and self.flavour not in FLAVOURS:
            raise ValueError(f"no known flavour of BLEU; give one of {'; '.join(FLAVOURS)}")
        return self


class SmallestEffect(ClaimPart):
    """The smallest effect that counts, in the unit of what is measured."""

    value: Positive
    why: str
    written: date  # the day on which the margin was written, before the first run

    @field_validator("written")
    @classmethod
    def _has_come(cls, written: date) -> date:
        if written > date.today():
            raise ValueError("a day in the future; give the day on which the margin was written")
        return written


class Tier(ClaimPart):
    """How a claim is run at one scale."""

    overrides: tuple[str, ...] = ()  # overrides of all systems, after those of `conf/tier`
    systems: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Overrides that replace those of a system of the claim."""
    seeds: Annotated[tuple[PositiveInt, ...], Field(min_length=1)] = (1, 2, 3)
    """Seed 0 is that of the trials that choose learning rates."""
    needs: Text | None = None  # what the harness lacks to run the claim at this scale

    @field_validator("seeds")
    @classmethod
    def _differ(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        if len({*seeds}) < len(seeds):
            raise ValueError("the same seed trains the same model: give each seed once")
        return seeds


class Claim(ClaimPart):
    """A statement of a paper about systems that can be trained here."""

    name: str  # `PAPER.NAME`, from the path of the file
    paper: Paper
    statement: str  # in our words
    place: str  # section, table or figure of the paper
    figures: Literal["copied from the paper", "not verified"]
    """Whether the published figures are those of the paper itself; others come from other texts."""
    published: PublishedValues | None = None
    systems: dict[str, tuple[str, ...]]  # overrides of each system over the defaults and the tier
    measure: AnyMeasure
    says: Says = "larger"
    """Whether the effect is ``larger`` than 0, ``not_smaller``, or there is ``no_difference``."""
    margin: SmallestEffect
    needs: Text | None = None  # what the harness lacks to run the claim at any scale
    tiers: dict[TierName, Tier] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _names_agree(self) -> Self:
        if self.needs is not None:
            return self
        named = [*self.measure.systems]
        if self.published is not None:
            named += [*self.published.values, *self.published.curves]
        named += [system for tier in self.tiers.values() for system in tier.systems]
        for system in named:
            if system not in self.systems:
                raise ValueError(f"{system} is no system of the claim")
        for system in self.systems:
            if system not in self.measure.systems:
                raise ValueError(f"the measure does not name the system {system}: leave it out")
        return self

    @model_validator(mode="after")
    def _says_where_it_is_run(self) -> Self:
        if self.needs is None and not self.tiers:
            raise ValueError(
                f"tiers: give those where the claim can be run, of {', '.join(TIERS)}; or needs: "
                "what the harness lacks"
            )
        return self

    @model_validator(mode="after")
    def _overrides_are_of_trainings(self) -> Self:
        by_system = [*self.systems.items()]
        for name, tier in self.tiers.items():
            by_system += [(f"at {name}", tier.overrides), *tier.systems.items()]
        for where, overrides in by_system:
            if (override := _not_of_training(overrides)) is not None:
                raise ValueError(f"{where}: {override} belongs to the command: leave it out")
        return self

    @model_validator(mode="after")
    def _no_difference_is_of_one_number(self) -> Self:
        if self.says == "no_difference" and self.measure.kind in ("order", "optimum"):
            raise ValueError(
                f"says=no_difference: kind {self.measure.kind} compares several systems, which "
                "have no single difference; give kind difference for two of them"
            )
        return self

    @property
    def decision_margin(self) -> Margin:
        """The margin with its direction, as verdicts and plans need it."""
        return Margin(self.margin.value, self.says)

    @property
    def published_effect(self) -> float | None:
        """The effect of the paper's values; None unless each system has one in the right unit."""
        published, measure = self.published, self.measure
        if published is None or not measure.of_scores:
            return None
        if not _is_unit_of(published.unit, measure.score):
            return None
        if not set(measure.systems) <= set(published.values):
            return None
        values = np.array([published.values[system] for system in measure.systems])
        effect = float(measure.differences.effect(values))
        return effect if math.isfinite(effect) else None

    def overrides(self, system: str, tier: TierName) -> list[str]:
        """Return the overrides of a system at a tier, without the seed."""
        at = self.tiers[tier]
        return [f"tier={tier}", *at.overrides, *at.systems.get(system, self.systems[system])]

    def why_not(self, tier: TierName) -> str | None:
        """Return why the claim cannot be run at a tier; None if it can."""
        if self.needs is not None:
            return f"needs {self.needs}"
        if tier not in self.tiers:
            return f"has no tier {tier}"
        needs = self.tiers[tier].needs
        return None if needs is None else f"needs {needs}"


def _is_unit_of(unit: str, score: str) -> bool:
    return re.match(rf"{score.replace('_', ' ')}(?![\w+])", unit, re.IGNORECASE) is not None


def _not_of_training(overrides: Iterable[str]) -> str | None:
    """Return the first override that a training does not take from a claim's file."""
    for override in overrides:
        key = key_of(override)
        first = key.partition(".")[0]
        if key in OF_RUNS or first in OF_COMMANDS or (first == "scoring" and key != CHOICES):
            return override
    return None


CLAIMS = CONF / "claim"
PAPER = "paper.yaml"
ALL = "all"


@cache
def all_claims() -> dict[str, Claim]:
    """Return every claim of ``conf/claim`` by its name, papers in the order of their years."""
    claims = [read_claim(file) for file in CLAIMS.glob("*/*.yaml") if file.name != PAPER]
    claims.sort(key=lambda claim: (claim.paper.year, claim.name))
    return {claim.name: claim for claim in claims}


def read_claim(file: Path) -> Claim:
    """Read a claim and the paper beside it. Raises ``UserError`` with the file and the key."""
    if file.name == PAPER:
        raise UserError(f"claims={file}: {PAPER} says where claims are from; give a file beside it")
    paper = validated(Paper, _read(file.with_name(PAPER)), str(file.with_name(PAPER)))
    name = f"{file.resolve().parent.name}.{file.stem}"
    return validated(Claim, {**_read(file), "name": name, "paper": paper.model_dump()}, str(file))


def choose(given: object) -> list[Claim]:
    """Return the claims of ``claims=``: all, those of a paper, or of a file of the user.

    Raises ``UserError`` unless ``given`` is a name of these, or a list of such names.
    """
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not names:
        raise UserError(f"claims={'null' if given is None else given}: {_choices()}")
    chosen: dict[str, Claim] = {}
    for name in names:
        found = _named(name) if isinstance(name, str) else None
        if not found:
            raise UserError(f"claims={name}: no such claim; {_choices()}")
        for key, claim in found.items():
            if chosen.setdefault(key, claim) != claim:
                raise UserError(
                    f"claims={name}: another claim of the command is named {key} too; "
                    "rename the file or its folder"
                )
    return list(chosen.values())


def _choices() -> str:
    papers = ", ".join(sorted({claim.partition(".")[0] for claim in all_claims()}))
    return f"give all, a paper ({papers}), a name that claims=list prints, or a file"


def _named(name: str) -> dict[str, Claim]:
    if name.endswith(".yaml") and Path(name).is_file():
        claim = read_claim(Path(name))
        return {claim.name: claim}
    return {
        key: claim
        for key, claim in all_claims().items()
        if name in (ALL, key) or key.startswith(f"{name}.")
    }


def _read(file: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{file}: missing; a folder of claims needs {PAPER}") from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"{file}: no YAML in UTF-8; {one_line(error)}") from None
    if not isinstance(content, dict):
        raise UserError(f"{file}: no mapping; docs/plugs/claim.md shows a claim")
    return content
