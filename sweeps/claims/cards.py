"""What the card of a claim says: its verdict, its facts, and published values next to ours."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from lightning_modules.figures.ladder_chart import CORPORA, DataChart
from lightning_modules.runs.files import read_predictions
from sweeps.claims.card_charts import (
    corpus_charts,
    forest_of,
    keys_of,
    system_looks,
    where_it_falls,
)
from sweeps.claims.claim import Claim, TierName
from sweeps.claims.evidence import ClaimResult, ClaimRun, CorpusResult, Evidence
from sweeps.claims.gates import why_no_plateau
from sweeps.claims.published_bleu import FLAVOURS, Flavour, TableAgreement, agreement
from sweeps.claims.scoreboard import (
    DECIMALS,
    Scale,
    format_effect,
    format_ends,
    numbers,
    outcome_of,
    pooled_sentence,
    so_far,
    taken_back,
    verdict_words,
)
from sweeps.claims.scoreboard_tables import minutes_of
from sweeps.claims.trajectory import Extrapolation, Trajectory
from sweeps.claims.verdict import Outcome
from sweeps.comparison.numbers import format_duration, format_estimate, format_number, in_words

QUESTIONS = {
    "systems": "systems",
    "measure": "measure",
    "regime": "kind of training",
    "lengths": "test lengths as the claim needs",
    "paper": "the claim itself",
}
"""What a tick says of each question of ``fidelity``."""
Tick = tuple[bool, str]
LEAST_VALUES = 3  # fewest values of a table whose agreement says anything
Fact = tuple[str, Sequence[str]]  # a term, and lines about it


def card_of(one: ClaimResult, scale: Scale) -> tuple[dict[str, Any], dict[str, DataChart]]:
    """Return a card as the template shows it, and its charts by their names."""
    claim = one.claim
    shown: dict[str, Any] = {
        "claim": claim,
        "result": one,
        "outcome": outcome_of(one),
        "taken_back": taken_back(one),
        "so_far": so_far(one),
        "words": verdict_words(one, scale),
        "numbers": numbers(one),
        "quoted": _quoted(claim),
    }
    if one.not_run is not None:
        return shown, {}
    looks, stem = system_looks(claim, scale.tier), claim.name.replace(".", "_")
    charts: dict[str, DataChart] = {}
    figures: list[tuple[str, list[str]]] = []
    for number, corpus in enumerate(one.corpora):
        of_corpus = corpus_charts(corpus, one, looks)
        named = {f"{stem}_{number}_{kind}": chart for kind, chart in of_corpus.items()}
        charts |= named
        figures += [(corpus.corpus, [*named])] if named else []
    forests = {
        f"{stem}_{number}_{CORPORA}": forest_of(pooled) for number, pooled in enumerate(one.pooled)
    }
    answers = claim.answers(scale.tier)
    shown |= {
        "checks": [
            ("Gates", [*_gates(one, scale)]),
            (
                "As in the paper",
                [
                    *((yes, QUESTIONS[question]) for question, yes in answers.items()),
                    (scale.tier == "paper" and not scale.changes, "corpus and amount of training"),
                ],
            ),
        ],
        "cost": None if (spent := minutes_of(one)) is None else format_duration(60 * spent),
        "keys": keys_of(looks, one.corpora),
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


def _quoted(claim: Claim) -> str | None:
    """Return where the quoted words stand; None for a claim without a quote."""
    if claim.quote == "not read":
        return None
    place = claim.quote.section
    return f"Section {place}" if place[0].isdigit() else place[0].upper() + place[1:]


def _gates(one: ClaimResult, scale: Scale) -> Iterator[Tick]:
    """Yield whether each gate let the verdict through, in their order."""
    corpus = one.corpora[0]
    if corpus.verdict is None or corpus.trajectory is None:
        return
    if corpus.verdict.outcome is Outcome.NOT_FAIR:
        yield False, "floor: a system has not learned to translate short sentences"
    elif corpus.floors:
        yield True, "floor: the systems have learned to translate short sentences"
    left_out = f"{_collapsed(corpus)} left out" if corpus.collapsed else "no training collapsed"
    yield corpus.too_few is None, f"collapse: {corpus.too_few or left_out}"
    exempt = why_no_plateau(one.claim, scale.tier, len(corpus.rungs))
    settled = corpus.trajectory.converged
    found = "losses and effect had settled" if settled else "training ended before all had settled"
    yield bool(exempt) or settled, f"plateau: {f'not needed, {exempt}' if exempt else found}"


def _found(one: ClaimResult) -> Iterator[str]:
    """Yield what a reader must know besides the verdict, in sentences."""
    if one.extension is not None:
        yield f"An extension: {one.extension}"
    if one.corpora and (told := where_it_falls(one.corpora[0], one.claim)):
        yield told
    for corpus in one.corpora:
        if corpus.collapsed:
            yield f"Collapsed on {corpus.corpus}: {_collapsed(corpus)}; left out."
    for corpus in one.corpora[1:]:
        yield f"On {corpus.corpus}: {_on_corpus(corpus)}."
    yield from map(pooled_sentence, one.pooled)


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
    if claim.floors is not None:
        yield "Floors of its own", [claim.floors.why]
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
    yield f"effect of the interquartile means {format_number(last.middle, DECIMALS)}"
    yield f"probability of improvement {format_number(100 * last.improvement)}%"
    if last.beside is not None:
        slope = format_estimate(last.beside, DECIMALS)
        yield f"the same claim about BLEU for every ten words, which has a floor: {slope}"


def _way(way: Trajectory) -> Iterator[str]:
    if way.falls:
        falls = ", ".join(
            f"{name} {format_number(100 * fall, 1)}%" for name, fall in way.falls.items()
        )
        yield f"fall of the validation loss with the last doubling: {falls}"
    if way.change is not None:
        change = format_number(way.change, DECIMALS, signed=True)
        ends = "" if way.change_interval is None else f" {format_ends(way.change_interval)} (90%)"
        yield f"change of the effect over the last two doublings: {change}{ends}"
    if way.effect is not None:
        yield f"effect, extrapolated, not measured: {_limit(way.effect)}"
    for system, limit in way.losses.items():
        yield f"validation loss of “{system}”, extrapolated, not measured: {_limit(limit)}"


def _limit(each: Extrapolation) -> str:
    """Return the limit of L∞ + a·B^−b, and how the law foretold the last rung.

    A law that foretells it wrongly has no limit to show.
    """
    test = each.held_out
    limit = "none" if test and test.failed else format_effect(each.limit, each.interval)
    if test is None:
        return limit
    seen = format_number(test.seen, DECIMALS)
    foretold = format_effect(test.foretold, test.interval)
    return (
        f"{limit}; from the smaller budgets, {foretold} is expected at the largest; it has {seen}"
    )


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
def _unknown(run: ClaimRun) -> set[int]:
    # The test set itself has the sentences that any run of the command does not know.
    return {row for row, each in enumerate(read_predictions(run.folder)) if each.unknown}


@cache
def _score(flavour: Flavour, run: ClaimRun, rows: tuple[int, ...]) -> float:
    lines = read_predictions(run.folder)
    references = [run.test.references[row] for row in rows]
    return flavour.score(
        [lines[row].hypothesis for row in rows], references, run.result.data.target
    )
