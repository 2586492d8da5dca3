"""A published claim: a file of ``conf/claim``, checked against these models."""

import math
import re
from collections.abc import Iterable, Mapping
from datetime import date
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

import yaml
from pydantic import AfterValidator, Field, PositiveInt, field_validator, model_validator

from datamodules.errors import UserError, one_line, validated
from lightning_modules.runs.paths import CONF
from lightning_modules.runs.settings import key_of
from sweeps.claims.measures import AnyMeasure, ClaimPart
from sweeps.claims.published_bleu import FLAVOURS
from sweeps.claims.verdict import Margin, Says

TierName = Literal["laptop", "bench", "paper"]
TIERS: tuple[TierName, ...] = get_args(TierName)
OF_COMMANDS = (
    *("task", "claims", "tier", "corpora", "rungs", "seed_count", "first_seed", "roots"),
    *("register", "registration", "plan", "tune", "learning_rates"),
    *("workers", "comparison_name", "hydra"),
)
"""Keys, or their first parts, that are a command's and no training's."""
CHOICES = "scoring.contrastive"
"""The only key of scoring that a claim sets: all claims of a command are scored alike."""
MOST = 1e6  # largest size of a number in a claim's file; all scores are far below
Number = Annotated[float, Field(strict=True, ge=-MOST, le=MOST)]
Positive = Annotated[float, Field(strict=True, gt=0, le=MOST)]
Percent = Annotated[float, Field(strict=True, ge=0, le=100)]
Text = Annotated[str, Field(min_length=1)]


def _has_come(day: date) -> date:
    if day > date.today():
        raise ValueError("a day in the future")
    return day


PastDay = Annotated[date, AfterValidator(_has_come)]
SEEDS: Mapping[TierName, tuple[int, ...]] = {
    "laptop": (1, 2, 3, 4, 5),
    "bench": (1, 2, 3),
    "paper": (1, 2, 3),
}
"""Seeds of a tier unless a claim names others."""
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


class Quote(ClaimPart):
    """The paper's own words."""

    text: Text
    section: Text  # where the words stand: section, table or figure
    read: PastDay  # the day on which somebody read them in the paper


class Fidelity(ClaimPart):
    """Whether a claim is tested as its paper has it. Any no makes the claim an extension."""

    systems: bool  # the systems differ in what the paper's do; they may be smaller
    measure: bool  # the same quantity is measured
    regime: bool  # training gets to where the effect is at home, such as to overfitting
    lengths: bool  # test sentences no longer than training's, or a claim about longer ones
    paper: bool  # the paper makes the claim
    why: Text | None = None  # one sentence on each no

    @model_validator(mode="after")
    def _says_why(self) -> Self:
        if (self.why is None) != all(getattr(self, question) for question in QUESTIONS):
            raise ValueError("why: give one sentence where an answer is false, and only there")
        return self


QUESTIONS = ("systems", "measure", "regime", "lengths", "paper")


class FidelityAtTier(ClaimPart):
    """Answers that are no at one tier, and yes elsewhere."""

    systems: Literal[False] | None = None
    measure: Literal[False] | None = None
    regime: Literal[False] | None = None
    lengths: Literal[False] | None = None
    why: Text


class SmallestEffect(ClaimPart):
    """The smallest effect that counts."""

    value: Positive
    unit: Literal["score", "attention"] = "score"
    """The unit of what is measured, or the BLEU that attention brings on the corpus."""
    why: Text
    written: PastDay  # the day on which the margin was written, before the first run


class Floors(ClaimPart):
    """BLEU on the shortest sentences below which a system has not learned to translate."""

    systems: Annotated[dict[str, Percent | None], Field(min_length=1)]
    """Floors by system; None for a system that needs none. The others have the usual floor."""
    why: Text


class Tier(ClaimPart):
    """How a claim is run at one scale."""

    overrides: tuple[str, ...] = ()  # overrides of all systems, after those of `conf/tier`
    systems: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Overrides that replace those of a system of the claim."""
    seeds: Annotated[tuple[PositiveInt, ...], Field(min_length=1)] | None = None
    """None for those of ``SEEDS``. Seed 0 is that of the trials that choose learning rates."""
    corpora: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    """Corpora that suit the claim, its own first; None for all of the tier in their order."""
    rungs: Annotated[tuple[PositiveInt, ...], Field(min_length=1)] | None = None
    """Rising amounts of the budget at which the claim is judged; None for those of the tier."""
    fidelity: FidelityAtTier | None = None
    needs: Text | None = None  # what the harness lacks to run the claim at this scale

    @field_validator("seeds")
    @classmethod
    def _differ(cls, seeds: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if seeds is not None and len({*seeds}) < len(seeds):
            raise ValueError("the same seed trains the same model: give each seed once")
        return seeds

    @field_validator("rungs")
    @classmethod
    def _rise(cls, rungs: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if rungs is not None and any(a >= b for a, b in pairwise(rungs)):
            raise ValueError("give rising amounts of the budget, each once")
        return rungs


class Claim(ClaimPart):
    """A statement of a paper about systems that can be trained here."""

    name: str  # `PAPER.NAME`, from the path of the file
    paper: Paper
    statement: str  # in our words
    place: str  # section, table or figure of the paper
    quote: Quote | Literal["not read"]
    fidelity: Fidelity | None = None  # None for a claim that cannot be run at any scale
    contested: bool = False
    """Whether budget, start or measure turned an earlier verdict: more rungs and corpora then."""
    figures: Literal["copied from the paper", "not verified"]
    """Whether the published figures are those of the paper itself; others come from other texts."""
    published: PublishedValues | None = None
    systems: dict[str, tuple[str, ...]]  # overrides of each system over the defaults and the tier
    measure: AnyMeasure
    says: Says = "larger"
    """Whether the effect is ``larger`` than 0, ``not_smaller``, or there is ``no_difference``."""
    margin: SmallestEffect
    floors: Floors | None = None
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
        named += [] if self.floors is None else [*self.floors.systems]
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
    def _says_whether_it_is_the_papers_test(self) -> Self:
        if (self.needs is None) != (self.fidelity is not None):
            raise ValueError(
                f"fidelity: answer {', '.join(QUESTIONS)} with true or false for a claim that can "
                "be run, and for no other"
            )
        return self

    @model_validator(mode="after")
    def _share_of_attention_is_bleu(self) -> Self:
        if self.margin.unit == "attention" and not self.measure.of_bleu_differences:
            raise ValueError(
                "margin.unit=attention: only a difference of BLEU is a share of what attention "
                "brings; give score"
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

    def decision_margin(self, attention: float | None = None) -> Margin:
        """Return the margin with its direction, in the unit of what is measured.

        ``attention`` is the BLEU that attention brings on the corpus. Raises ``UserError`` if the
        margin is a share of it and it is not known.
        """
        if self.margin.unit == "score":
            return Margin(self.margin.value, self.says)
        if attention is None:
            raise UserError(
                f"{self.name}: its margin is a share of what attention brings on a corpus, which "
                "is not known of this one: give its attention in conf/claim/corpora.yaml"
            )
        return Margin(self.margin.value * attention, self.says)

    def extension(self, tier: TierName) -> str | None:
        """Return why the claim is not tested as in its paper at a tier; None if it is."""
        at = self.tiers[tier].fidelity
        parts = (self.fidelity and self.fidelity.why, at and at.why)
        return " ".join(part for part in parts if part) or None

    def answers(self, tier: TierName) -> dict[str, bool]:
        """Return the answers of ``fidelity`` at a tier, in the order of ``QUESTIONS``."""
        at = self.tiers[tier].fidelity
        return {
            question: bool(getattr(self.fidelity, question))
            and getattr(at, question, None) is not False
            for question in QUESTIONS
        }

    def floor(self, system: str, usual: float | None) -> float | None:
        """Return the floor of a system's BLEU on the shortest sentences; None if it needs none."""
        return usual if self.floors is None else self.floors.systems.get(system, usual)

    def seeds(self, tier: TierName) -> tuple[int, ...]:
        """Return the seeds of each system at a tier."""
        return self.tiers[tier].seeds or SEEDS[tier]

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
        effect = measure.effect([published.values[system] for system in measure.systems])
        return effect if math.isfinite(effect) else None

    def overrides(self, system: str, tier: TierName) -> list[str]:
        """Return the overrides of a system at a tier, without the seed."""
        at = self.tiers[tier]
        return [f"tier={tier}", *at.overrides, *at.systems.get(system, self.systems[system])]

    def has_own_budget(self, system: str, tier: TierName) -> bool:
        """Return whether a system names its budget: then its one run counts at every rung."""
        own = self.tiers[tier].systems.get(system, self.systems[system])
        return any(key_of(each).partition(".")[0] == "budget" for each in own)

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
        raise UserError(f"{file}: no mapping; docs/how_to/extend/claim.md shows a claim")
    return content
