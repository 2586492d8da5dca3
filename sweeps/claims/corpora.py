"""The corpora on which claims are re-tested: ``conf/claim/corpora.yaml``, and random ones."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any

import numpy as np
import yaml
from pydantic import Field, PositiveInt

from datamodules.errors import UserError, validated
from sweeps.claims.claim import CLAIMS, Claim, Positive, TierName
from sweeps.claims.measures import ClaimPart

FILE = CLAIMS / "corpora.yaml"
EVERY, DRAWS = "all", "draws"
SYNTHETIC: TierName = "laptop"
LANGUAGES = ("data.source", "data.target")
Languages = tuple[str, str]  # of source and target


class ClaimCorpus(ClaimPart):
    """A corpus of a tier."""

    name: str
    data: str | None = None  # a file of `conf/data`; None for that of the tier
    languages: Languages | None = None  # None: those of the claim, whose own corpus it is
    knobs: Mapping[str, int | float] = Field(default_factory=dict)  # of the built-in corpus
    attention: Positive | None = None
    """BLEU that attention brings on the corpus; None where it was not measured."""
    real: bool = True  # text that people wrote, not the built-in corpus
    seeds: tuple[int, ...] | None = None
    """Seeds of each system in place of those of the claims: a random corpus has a single one."""

    @property
    def choice(self) -> list[str]:
        """The override that chooses the corpus, if it is another than the tier's."""
        return [] if self.data is None else [f"data={self.data}"]

    @property
    def settings(self) -> dict[str, Any]:
        """Further settings of the corpus by key, unless a claim has its own."""
        named = dict(zip(LANGUAGES, self.languages or (), strict=False))
        return named | {f"data.{key}": value for key, value in self.knobs.items()}


OWN = ClaimCorpus(name="the paper's", attention=8.93)
"""At the tier ``paper``, the corpus that each claim names. Attention brings what it brought on
WMT14 from English to French: Bahdanau et al. (2015), Table 1, RNNsearch-50 less RNNencdec-50."""


class _Draws(ClaimPart):
    count: PositiveInt
    languages: Annotated[tuple[Languages, ...], Field(min_length=1)]
    knobs: Mapping[str, tuple[int | float, int | float]]


class _File(ClaimPart):
    laptop: dict[str, dict[str, Any]]
    bench: dict[str, dict[str, Any]]
    draws: _Draws


def corpora_of(tier: TierName) -> dict[str, ClaimCorpus]:
    """Return the corpora of a tier by name, the random ones last."""
    if tier == "paper":
        return {OWN.name: OWN}
    content = _content()
    named = content.laptop if tier == SYNTHETIC else content.bench
    found = {name: _corpus(name, entry, tier) for name, entry in named.items()}
    return found | (_draws(content.draws) if tier == SYNTHETIC else {})


def suited_corpora(claim: Claim, tier: TierName) -> list[ClaimCorpus]:
    """Return the corpora on which a claim can be run, its own first and random ones last.

    A claim whose file names corpora can be run on these, and on random ones of their languages.
    Raises ``UserError`` for a name that the tier does not have.
    """
    known, own = corpora_of(tier), claim.tiers[tier].corpora
    for name in own or ():
        if name not in known:
            raise UserError(f"claim {claim.name}: {_no_corpus(name, tier, known)}")
    named = [known[name] for name in own or known]
    languages = {each.languages for each in named}
    random = [
        each for each in known.values() if each.seeds is not None and each.languages in languages
    ]
    suited = {each.name: each for each in (*named, *random)}
    return [each for each in suited.values() if _has_languages(each, claim, tier)]


def choose_corpora(
    claim: Claim, tier: TierName, names: Sequence[str] | None, every: bool
) -> list[ClaimCorpus]:
    """Return the corpora of a claim: those of ``names`` that suit it, else the first, or all.

    All are those that are not random, and for a contested claim the random ones too.
    """
    suited = suited_corpora(claim, tier)
    if names is not None:
        by_name = {each.name: each for each in suited}
        return [by_name[name] for name in names if name in by_name]
    chosen = [each for each in suited if each.seeds is None or claim.contested]
    return chosen if every else chosen[:1]


def read_names(given: object, tier: TierName) -> list[str] | None:
    """Return the corpora that ``corpora=`` names; None for the first, or all, of each claim.

    Raises ``UserError`` for a corpus that the tier does not have.
    """
    if given is None or given == EVERY:
        return None
    if tier == "paper":
        raise UserError(f"corpora={given}: at tier=paper each claim has its paper's; leave it out")
    known = corpora_of(tier)
    random = [each.name for each in known.values() if each.seeds is not None]
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not names:
        raise UserError(f"corpora={given}: {_choices(known)}")
    for name in names:
        if name not in known and not (name == DRAWS and random):
            raise UserError(_no_corpus(name, tier, known))
    expanded = [each for name in names for each in (random if name == DRAWS else [name])]
    return [*dict.fromkeys(expanded)]


def _no_corpus(name: object, tier: TierName, known: Mapping[str, ClaimCorpus]) -> str:
    return f"corpora={name}: no corpus of tier={tier}; {_choices(known)}"


def _choices(known: Mapping[str, ClaimCorpus]) -> str:
    random = f", {DRAWS} for all random ones" if any(each.seeds for each in known.values()) else ""
    return f"give {EVERY}{random}, or names of {', '.join(known)}"


def _has_languages(corpus: ClaimCorpus, claim: Claim, tier: TierName) -> bool:
    """Return whether no override of a claim asks for another language."""
    if corpus.languages is None:
        return True
    has = dict(zip(LANGUAGES, corpus.languages, strict=True))
    asked = [each for system in claim.systems for each in claim.overrides(system, tier)]
    pairs = (each.split("=", 1) for each in asked if "=" in each)
    return all(has.get(key, value) == value for key, value in pairs)


def _corpus(name: str, entry: Mapping[str, Any], tier: TierName) -> ClaimCorpus:
    content = {**entry, "name": name, "real": tier != SYNTHETIC}
    return validated(ClaimCorpus, content, f"{FILE}: {name}")


def _draws(draws: _Draws) -> dict[str, ClaimCorpus]:
    found = [_draw(draws, number) for number in range(1, draws.count + 1)]
    return {each.name: each for each in found}


def _draw(draws: _Draws, number: int) -> ClaimCorpus:
    generator = np.random.default_rng(number)
    languages = draws.languages[(number - 1) % len(draws.languages)]
    knobs = {
        key: int(generator.integers(low, high, endpoint=True))
        if isinstance(low, int) and isinstance(high, int)
        else round(float(generator.uniform(low, high)), 2)
        for key, (low, high) in draws.knobs.items()
    }
    name = f"draw-{number}"
    return ClaimCorpus(name=name, languages=languages, knobs=knobs, real=False, seeds=(number,))


@cache
def _content() -> _File:
    content = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return validated(_File, content, str(FILE))
