"""The charts of a claim's card: ladders of its effect and its systems, lengths, corpora.

They are data alone; ``lightning_modules.figures.ladder_chart`` describes the charts.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lightning_modules.figures.charts import GREY
from lightning_modules.figures.ladder_chart import (
    CORPORA,
    LADDER,
    LENGTHS,
    ROW,
    SYSTEMS,
    DataChart,
    Rows,
)
from lightning_modules.figures.palette import DASHES, Look, looks_of
from lightning_modules.metrics.resampling import Interval
from lightning_modules.runs.job import label_of, without_authors
from lightning_modules.runs.settings import system_names
from sweeps.claims.claim import Claim, TierName
from sweeps.claims.evidence import ClaimResult, ClaimRun, CorpusResult, RungResult
from sweeps.claims.measures import ALL, Slope
from sweeps.claims.pooling import PooledEffect
from sweeps.claims.scoreboard import margin_of, pooled_sentence, unit_of

POOLED = "pooled"
NAMED = 2  # most systems whose curves have names at their ends
LEAST_PLACES = 3  # fewest length groups of which it is worth saying where a score falls
EARLY = 0.8  # share of a fall that is nearly all of it
ABOUT_LENGTH = ("slope", "slope_difference", "kept", "kept_difference")
"""Kinds of measures whose cards show scores against length."""
Looks = Mapping[str, Look]  # by system


class Key(NamedTuple):
    """How a system is drawn on a card."""

    words: str  # the system's name in the claim, and the label of its model
    glyph: str
    colour: str


def system_looks(claim: Claim, tier: TierName) -> dict[str, Look]:
    """Return the look of each system of a claim: that of its model on any other page."""
    overrides = [claim.overrides(system, tier) for system in claim.systems]
    names: list[str] = []
    for system, name in zip(claim.systems, system_names(overrides), strict=True):
        names.append(f"{name}, {system}" if name in names else name)
    looks = looks_of(names)
    return {system: looks[name] for system, name in zip(claim.systems, names, strict=True)}


def keys_of(looks: Looks, corpora: Sequence[CorpusResult]) -> list[Key]:
    """Return the key that stands beside the charts of systems: “with: Bahdanau, additive”."""
    results = {
        system: runs[0].result
        for corpus in corpora
        for rung in corpus.rungs
        for system, runs in rung.evidence.runs.items()
        if runs
    }
    labels = {
        system: label_of(each.variant, each.overrides, each.config)
        for system, each in results.items()
        if not any(override.startswith("model.") for override in each.overrides)
    }  # the label of a changed model may no longer be true
    short = without_authors(set(labels.values()))
    words = {
        system: short[label] if system.lower() in label.lower() else f"{system}: {short[label]}"
        for system, label in labels.items()
    }
    return [Key(words.get(name, name), look.glyph, look.colour) for name, look in looks.items()]


def corpus_charts(corpus: CorpusResult, one: ClaimResult, looks: Looks) -> dict[str, DataChart]:
    """Return the charts of a claim on one corpus by their kinds; none without rungs."""
    if not corpus.rungs:
        return {}
    return _ladders(corpus, one, looks) | _by_length(corpus, one, looks)


def _ladders(corpus: CorpusResult, one: ClaimResult, looks: Looks) -> dict[str, DataChart]:
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
    points = [
        {"rung": rung.amount, "system": system, "seed": seed, "value": float(value)}
        for rung in corpus.rungs
        for system, values in rung.values.items()
        for seed, value in zip(rung.seeds[system], values, strict=True)
    ]
    lost = [
        {"rung": rung.amount, "system": system, "seed": run.seed, "value": score}
        for rung in corpus.rungs
        for system, runs in rung.lost.items()
        for run in runs
        if (score := _comparable_score(one.claim, run)) is not None
    ]
    way = corpus.trajectory.sentence if corpus.trajectory else ""
    ladder = DataChart(
        LADDER,
        effect,
        f"Effect on {corpus.corpus}",
        f"Effect of {one.claim.name} on {corpus.corpus} at each budget: {way}",
        subtitle=unit,
    )
    systems = DataChart(
        SYSTEMS,
        _of_systems("rung", points, lost, looks),
        f"Systems on {corpus.corpus}",
        f"Systems of {one.claim.name} on {corpus.corpus} at each budget, a mark for each seed.",
        subtitle=unit.rpartition(", ")[0] or unit,
    )
    if isinstance(one.claim.measure, Slope):  # whose effect is that of its one system
        return {LADDER: ladder}
    return {LADDER: ladder, SYSTEMS: systems}


def _of_systems(
    x: str, points: Sequence[dict[str, Any]], lost: Sequence[dict[str, Any]], looks: Looks
) -> dict[str, Rows]:
    """Return the data of a chart of systems: values of seeds, and their means at each ``x``."""
    values: dict[tuple[str, float], list[float]] = {}
    for each in points:
        values.setdefault((each["system"], each[x]), []).append(each["value"])
    return {
        "seeds": [
            each
            | {"colour": looks[each["system"]].colour, "shape": looks[each["system"]].shape}
            | {"collapsed": collapsed}
            for collapsed, of in ((False, points), (True, lost))
            for each in of
        ],
        "means": [
            {x: place, "system": system, "value": float(np.mean(found))}
            | {"colour": looks[system].colour, "dash": looks[system].dash}
            for (system, place), found in values.items()
        ],
        "labels": _labels(x, values, looks),
    }


def _labels(
    x: str, values: Mapping[tuple[str, float], Sequence[float]], looks: Looks
) -> list[dict[str, Any]]:
    """Return names for the right ends of curves: over the highest, under another.

    Three names or more may overlap, and are empty: the key beside the chart has them.
    """
    last = max(place for _, place in values)
    ends = {
        system: float(np.mean(found)) for (system, place), found in values.items() if place == last
    }
    ranked = sorted(ends, key=lambda system: -ends[system])
    named = len(ranked) <= NAMED
    return [
        {x: last, "value": ends[system], "colour": looks[system].colour}
        | {side: system if named and side == own else "" for side in ("over", "under")}
        for system, own in zip(ranked, ("over", *["under"] * len(ranked)), strict=False)
    ]


def _by_length(corpus: CorpusResult, one: ClaimResult, looks: Looks) -> dict[str, DataChart]:
    """Return the scores against length at the last rung, of a claim about length."""
    claim, metric = one.claim, one.claim.measure.metric
    if claim.measure.kind not in ABOUT_LENGTH:
        return {}
    points = _length_points(corpus, claim)
    curves = claim.published.curves if claim.published else {}
    published = [
        {"place": place, "value": value, "system": f"{system}, published"}
        | {"colour": GREY, "dash": DASHES[1]}
        for system, curve in curves.items()
        for place, value in sorted(curve)
    ]
    data = _of_systems("place", points, (), looks)
    return {
        LENGTHS: DataChart(
            LENGTHS,
            {**data, "means": [*data["means"], *published]},
            f"{metric.label} on {corpus.corpus} by length, largest budget",
            f"{metric.label} of the systems of {claim.name} on {corpus.corpus} by length.",
        )
    }


def _length_points(corpus: CorpusResult, claim: Claim) -> list[dict[str, Any]]:
    """Return the score of each run in each length group at the last rung."""
    evidence, metric = corpus.rungs[-1].evidence, claim.measure.metric
    means: dict[str, list[float]] = {}  # of the lengths of a group, in each test set
    for lengths in evidence.lengths.values():
        for bucket in lengths.buckets:
            means.setdefault(bucket.bounds.label, []).append(bucket.mean_length or 0.0)
    return [
        {
            "place": round(float(np.mean(means[bucket.bounds.label])), 1),
            "system": system,
            "seed": run.seed,
            "value": float(metric.score(counts[bucket.index].sum(0))),
        }
        for system, runs in evidence.runs.items()
        for run, counts in zip(runs, evidence.statistics[system], strict=True)
        for bucket in evidence.lengths[run.seed].buckets
    ]


def where_it_falls(corpus: CorpusResult, claim: Claim) -> str | None:
    """Return between which lengths a score falls, if that is nearly all between the shortest two.

    A slope alone does not tell a fall at one length from a fall at all of them. None for claims
    that are not about a slope.
    """
    if not isinstance(claim.measure, Slope) or not corpus.rungs:
        return None
    values: dict[float, list[float]] = {}
    for point in _length_points(corpus, claim):
        if point["system"] in claim.measure.systems:
            values.setdefault(point["place"], []).append(point["value"])
    places = sorted(values)
    if len(places) < LEAST_PLACES:
        return None
    first, second, *_, last = (float(np.mean(values[place])) for place in places)
    if first <= last or (share := (first - second) / (first - last)) < EARLY:
        return None
    how_much = "All" if share >= 1 else f"Nearly all ({share:.0%})"
    return (
        f"{how_much} of the fall of {claim.measure.metric.label} is between sentences of "
        f"{places[0]:.0f} and of {places[1]:.0f} words on average."
    )


def _comparable_score(claim: Claim, run: ClaimRun) -> float | None:
    """Return the score of a run where that is what the claim measures of a system."""
    whole = claim.measure.of_scores and getattr(claim.measure, "lengths", ALL) == ALL
    return run.result.scores.get(claim.measure.score) if whole else None


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


def forest_of(pooled: PooledEffect) -> DataChart:
    """Return the forest of the corpora that an effect is pooled over."""
    low, high = pooled.prediction
    size = 0.0 if pooled.margin is None else pooled.margin.size
    kind = "real text" if pooled.real else "synthetic corpora"
    data: dict[str, Rows] = {
        "margin": [{"low": -size, "high": size}],
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
    return DataChart(CORPORA, data, title, pooled_sentence(pooled), ROW * rows)
