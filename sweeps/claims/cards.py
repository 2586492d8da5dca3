"""What the card of a claim shows: its charts, its facts in words, and published values next to ours.

The charts bring data alone; ``lightning_modules.figures.ladder_chart`` describes them.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from lightning_modules.figures.ladder_chart import CORPORA, LADDER, ROW, SYSTEMS, DataChart
from lightning_modules.figures.system_looks import DASHES, SHAPES, Look, looks_of
from lightning_modules.metrics.resampling import Interval
from lightning_modules.runs.files import read_predictions
from lightning_modules.runs.settings import key_of
from sweeps.claims.claim import Claim, TierName
from sweeps.claims.evidence import ClaimResult, CorpusResult, Evidence, RungResult
from sweeps.claims.pooling import PooledEffect
from sweeps.claims.published_bleu import FLAVOURS, Flavour, TableAgreement, agreement
from sweeps.claims.scoreboard import (
    DECIMALS,
    Scale,
    format_effect,
    margin_of,
    outcome_of,
    unit_of,
    verdict_sentence,
)
from sweeps.claims.scoreboard_tables import minutes_of
from sweeps.claims.trajectory import Extrapolation, HeldOut, Trajectory
from sweeps.comparison.numbers import format_duration, format_number, in_words
from sweeps.comparison.outputs import RunOutput

QUESTIONS = {
    "systems": "the paper's systems",
    "measure": "the paper's measure",
    "regime": "training long enough for the effect",
    "lengths": "test lengths of training",
    "paper": "a claim of the paper",
}
"""What a tick says of each question of ``fidelity``."""
GLYPHS = dict(zip(SHAPES, "●■▲◆✚▼▶◀", strict=True))
"""Marks of systems as letters, for the key beside a chart."""
DEFAULT_MODEL = "bahdanau"  # of `conf/config.yaml`
POOLED = "pooled"
LEAST_VALUES = 3  # fewest values of a table whose agreement says anything
Fact = tuple[str, Sequence[str]]  # a term, and lines about it


class Key(NamedTuple):
    """How a system is drawn on a card."""

    system: str
    glyph: str
    colour: str


def card_of(one: ClaimResult, scale: Scale) -> tuple[dict[str, Any], dict[str, DataChart]]:
    """Return a card as the template shows it, and its charts by their names."""
    claim = one.claim
    shown: dict[str, Any] = {
        "claim": claim,
        "result": one,
        "outcome": outcome_of(one),
        "sentence": verdict_sentence(one, scale),
    }
    if one.not_run is not None:
        return shown, {}
    looks = system_looks(claim, scale.tier)
    charts, figures = {}, []
    for number, corpus in enumerate(one.corpora):
        if corpus.rungs:
            drawn = _ladders(corpus, one, looks)
            names = {f"{_stem(claim)}_{number}_{like}": each for like, each in drawn.items()}
            charts |= names
            figures.append((corpus.corpus, [*names]))
    forests = {
        f"{_stem(claim)}_{number}_{CORPORA}": _forest(pooled)
        for number, pooled in enumerate(one.pooled)
    }
    answers = claim.answers(scale.tier)
    shown |= {
        "fidelity": [(QUESTIONS[question], yes) for question, yes in answers.items()],
        "keys": [Key(name, GLYPHS[look.shape], look.colour) for name, look in looks.items()],
        "figures": figures,
        "forests": [*forests],
        "overrides": {
            system: [*claim.overrides(system, scale.tier), *scale.changes]
            for system in claim.systems
        },
        "found": [*_found(one)],
        "facts": [*_facts(one, scale)],
    }
    return shown, charts | forests


def _stem(claim: Claim) -> str:
    return claim.name.replace(".", "_")


def system_looks(claim: Claim, tier: TierName) -> dict[str, Look]:
    """Return the look of each system of a claim: the colour is that of its model in all figures.

    Systems of one model differ in mark and dash.
    """
    models = {system: _model(claim.overrides(system, tier)) for system in claim.systems}
    of_models = looks_of(dict.fromkeys(models.values()))
    looks: dict[str, Look] = {}
    for system, model in models.items():
        looks[system] = _unlike(of_models[model], looks.values())
    return looks


def _model(overrides: Sequence[str]) -> str:
    chosen = [each.partition("=")[2] for each in overrides if key_of(each) == "model"]
    return chosen[-1] if chosen else DEFAULT_MODEL


def _unlike(look: Look, used: Sequence[Look] | Any) -> Look:
    """Return a look in the same colour with a mark that no other system of the colour has."""
    same = [each for each in used if each.colour == look.colour]
    if not same:
        return look
    marks = {each.shape for each in same}
    shape = next((shape for shape in (look.shape, *SHAPES) if shape not in marks), look.shape)
    return Look(look.colour, shape, DASHES[len(same) % len(DASHES)])


def _ladders(
    corpus: CorpusResult, one: ClaimResult, looks: Mapping[str, Look]
) -> dict[str, DataChart]:
    """Return the ladder of the effect and that of the systems on one corpus."""
    size, unit = margin_of(corpus, one).size, unit_of(one.claim)
    effect = {
        "margin": [{"low": -size, "high": size}],
        "seeds": [
            {"rung": rung.amount, "seed": seed, "effect": value}
            for rung in corpus.rungs
            for seed, value in effects_of_seeds(one.claim, rung).items()
        ],
        "rungs": [
            {
                "rung": rung.amount,
                "effect": rung.verdict.effect,
                **_ends(rung.verdict.interval, rung.verdict.effect),
            }
            for rung in corpus.rungs
        ],
    }
    systems = {
        "seeds": [
            {"rung": rung.amount, "system": system, "seed": seed, "value": float(value)}
            | {"colour": looks[system].colour, "shape": looks[system].shape, "collapsed": False}
            for rung in corpus.rungs
            for system, values in rung.values.items()
            for seed, value in zip(rung.seeds[system], values, strict=True)
        ],
        "means": [
            {"rung": rung.amount, "system": system, "value": float(np.mean(values))}
            | {"colour": looks[system].colour, "dash": looks[system].dash}
            for rung in corpus.rungs
            for system, values in rung.values.items()
            if len(values)
        ],
    }
    way = corpus.trajectory.sentence if corpus.trajectory else ""
    return {
        LADDER: DataChart(
            LADDER,
            effect,
            f"Effect on {corpus.corpus}: {unit}",
            f"Effect of {one.claim.name} on {corpus.corpus} at each budget: {way}",
        ),
        SYSTEMS: DataChart(
            SYSTEMS,
            systems,
            f"Systems on {corpus.corpus}",
            f"Systems of {one.claim.name} on {corpus.corpus} at each budget, a mark for each seed.",
        ),
    }


def effects_of_seeds(claim: Claim, rung: RungResult) -> dict[int, float]:
    """Return the effect of each seed that all systems have: of trainings on the same sample."""
    by_system = [
        dict(zip(rung.seeds[system], map(float, rung.values[system]), strict=True))
        for system in claim.measure.systems
    ]
    shared = [seed for seed in by_system[0] if all(seed in of for of in by_system)]
    return {seed: claim.measure.effect([of[seed] for of in by_system]) for seed in shared}


def _ends(interval: Interval | None, effect: float) -> dict[str, float]:
    low, high = interval or (effect, effect)
    return {"low": low, "high": high}


def _forest(pooled: PooledEffect) -> DataChart:
    low, high = pooled.prediction
    size = None if pooled.margin is None else pooled.margin.size
    kind = "real text" if pooled.real else "synthetic corpora"
    data = {
        "margin": [] if size is None else [{"low": -size, "high": size}],
        "corpora": [
            {"corpus": each.corpus, "effect": each.effect, **_ends(each.interval, each.effect)}
            for each in pooled.corpora
        ],
        "pooled": [
            {"corpus": POOLED, "effect": pooled.effect, "from": low, "to": high}
            | _ends(pooled.interval, pooled.effect)
        ],
    }
    title = f"{kind.capitalize()}, {pooled.scale}"
    rows = len(pooled.corpora) + 1
    return DataChart(CORPORA, data, title, _pooled_sentence(pooled), ROW * rows)


def _pooled_sentence(pooled: PooledEffect) -> str:
    kind = "corpora of real text" if pooled.real else "synthetic corpora"
    outcome = f"; {pooled.outcome}" if pooled.outcome else ""
    return (
        f"Over {len(pooled.corpora)} {kind}: {format_effect(pooled.effect, pooled.interval)} "
        f"({pooled.scale}); it deviates by τ = {format_number(pooled.tau, DECIMALS)} over corpora; "
        f"in a new corpus {_interval(pooled.prediction)}{outcome}."
    )


def _interval(interval: Interval) -> str:
    low, high = (format_number(end, DECIMALS) for end in interval)
    return f"[{low}, {high}]"


def _found(one: ClaimResult) -> Iterator[str]:
    """Yield what a reader must know besides the verdict, in sentences."""
    if one.extension is not None:
        yield f"An extension: {one.extension}"
    for corpus in one.corpora:
        if corpus.collapsed:
            yield f"Collapsed on {corpus.corpus}: {_collapsed(corpus)}; left out."
    for corpus in one.corpora[1:]:
        yield f"On {corpus.corpus}: {_on_corpus(corpus)}."
    yield from map(_pooled_sentence, one.pooled)


def _collapsed(corpus: CorpusResult) -> str:
    return in_words([
        f"{system}, seed{'s'[: len(seeds) > 1]} {in_words([*map(str, seeds)])}"
        for system, seeds in corpus.collapsed.items()
    ])  # fmt: skip


def _on_corpus(corpus: CorpusResult) -> str:
    verdict = corpus.verdict
    if verdict is None:
        return f"no verdict, {corpus.failure}"
    reason = f"; {verdict.reason}" if verdict.reason else ""
    return f"{verdict.outcome}, {format_effect(verdict.effect, verdict.interval)}{reason}"


def _facts(one: ClaimResult, scale: Scale) -> Iterator[Fact]:
    claim = one.claim
    for corpus in one.corpora:
        if corpus.rungs:
            yield f"On {corpus.corpus}", [*_facts_of_corpus(corpus)]
    margin = format_number(claim.margin.value, DECIMALS)
    unit = " of what attention brings" if claim.margin.unit == "attention" else ""
    why = f"{margin}{unit}, written on {claim.margin.written}: {claim.margin.why}"
    yield "Smallest effect that counts", [why]
    if claim.published is not None:
        yield "Published", [*_published(one, scale)]
    if one.corpora and one.corpora[0].rungs:
        runs = one.corpora[0].rungs[-1].evidence.runs
        rates = {system: of[0].result.config["optimizer"]["lr"] for system, of in runs.items()}
        yield "Learning rates", [", ".join(f"{name} {rate:g}" for name, rate in rates.items())]
    if (minutes := minutes_of(one)) is not None:
        yield "Cost", [f"{format_duration(60 * minutes)} of training"]


def _facts_of_corpus(corpus: CorpusResult) -> Iterator[str]:
    last, way = corpus.rungs[-1], corpus.trajectory
    if corpus.floors:
        yield "shortest sentences: " + ", ".join(
            f"{system} {format_number(corpus.reached[system], 1)} BLEU "
            f"(floor {format_number(floor, 1)})"
            for system, floor in corpus.floors.items()
            if system in corpus.reached
        )
    if way is not None:
        yield from _way(way)
    if last.middle is not None:
        yield f"effect of the interquartile means {format_number(last.middle, DECIMALS)}"
    if last.improvement is not None:
        yield f"probability of improvement {format_number(100 * last.improvement)}%"
    if last.slope is not None:
        yield f"beside it, in BLEU for every ten words: {format_number(last.slope, DECIMALS)}"


def _way(way: Trajectory) -> Iterator[str]:
    yield f"{'converged' if way.converged else 'not converged'}: {way.sentence}"
    if way.falls:
        falls = ", ".join(f"{name} {100 * fall:.1f}%" for name, fall in way.falls.items())
        yield f"fall of the validation loss from the last rung but one: {falls}"
    limits = [f"{name} {_limit(each)}" for name, each in way.losses.items()]
    if way.effect is not None:
        limits.insert(0, f"effect {_limit(way.effect)}")
    if limits:
        yield f"extrapolated, not measured (L∞ of L∞ + a·B^−b): {'; '.join(limits)}"
    if way.held_out is not None:
        yield f"the law, tested on the last rung: {_held_out(way.held_out)}"


def _limit(each: Extrapolation) -> str:
    return format_effect(each.limit, each.interval)


def _held_out(each: HeldOut) -> str:
    seen = format_number(each.seen, DECIMALS)
    return f"foretold {format_effect(each.foretold, each.interval)}, seen {seen}"


class PublishedComparison(NamedTuple):
    """Our BLEU of the published systems; data and sizes of both sides are unlike."""

    ours: Mapping[str, float]  # means over seeds by system
    flavour: str  # how ours was computed
    agreement: TableAgreement | None  # for tables of at least three values


def compare_with_published(
    claim: Claim, evidence: Evidence, tier: TierName
) -> PublishedComparison | None:
    """Return our BLEU next to the published BLEU of a claim.

    On real text, ours is computed as the paper's. The built-in corpus is no text that a paper has,
    so that its recorded BLEU will do. None without published BLEU, and where no sentence counts.
    """
    published = claim.published
    if published is None or published.flavour is None:
        return None
    runs = {name: evidence.runs[name] for name in published.values if name in evidence.runs}
    if tier == "laptop":
        flavour = "as recorded, by sacreBLEU"
        scored = {
            system: [run.result.scores["bleu"] for run in of if "bleu" in run.result.scores]
            for system, of in runs.items()
        }
    else:
        flavour, rows = published.flavour, _rows(FLAVOURS[published.flavour], evidence)
        scored = {
            system: [_score(FLAVOURS[flavour], run, rows) for run in of] if rows else []
            for system, of in runs.items()
        }
    if not scored or not all(scored.values()):
        return None
    ours = {system: float(np.mean(scores)) for system, scores in scored.items()}
    theirs = [published.values[system] for system in ours]
    many = len(ours) >= LEAST_VALUES
    return PublishedComparison(ours, flavour, agreement(theirs, [*ours.values()]) if many else None)


def _published(one: ClaimResult, scale: Scale) -> Iterator[str]:
    published = one.claim.published
    assert published is not None
    values = ", ".join(f"{system} {value}" for system, value in published.values.items())
    about = [published.unit, published.flavour, published.data, one.claim.figures]
    about += ["read off a picture"] if published.read_off else []
    yield f"{values} ({'; '.join(part for part in about if part)})"
    if not (one.corpora and one.corpora[0].rungs):
        return
    evidence = one.corpora[0].rungs[-1].evidence
    if (found := compare_with_published(one.claim, evidence, scale.tier)) is None:
        return
    ours = ", ".join(f"{system} {value:.2f}" for system, value in found.ours.items())
    yield f"ours, on other data: {ours} BLEU ({found.flavour})"
    agreed = found.agreement
    if agreed and agreed.spearman is not None and agreed.same_sign is not None:
        rank = format_number(agreed.spearman, DECIMALS)
        pairs = f"{100 * agreed.same_sign:.0f}% of the pairs differ in the published direction"
        cv = ", ".join("–" if each is None else f"{each:.0f}" for each in agreed.cv)
        shown = f"; CV* {cv}%" if found.flavour == published.flavour else ""
        yield f"rank correlation {rank}; {pairs}{shown}"


def _rows(flavour: Flavour, evidence: Evidence) -> tuple[int, ...]:
    """Return the numbers of the sentences that count.

    An unknown word is one that the vocabularies of a system of the claim lack.
    """
    every = [run for of_system in evidence.runs.values() for run in of_system]
    unknown = set[int]().union(*map(_unknown, every)) if flavour.no_unknown else set[int]()
    return tuple(row for row in range(len(every[0].test.references)) if row not in unknown)


@cache
def _unknown(run: RunOutput) -> set[int]:
    # The test set itself has the sentences that any run of the command does not know.
    return {row for row, each in enumerate(read_predictions(run.folder)) if each.unknown}


@cache
def _score(flavour: Flavour, run: RunOutput, rows: tuple[int, ...]) -> float:
    hypotheses = [run.output.hypotheses[row] for row in rows]
    references = [run.test.references[row] for row in rows]
    return flavour.score(hypotheses, references, run.result.data.target)
