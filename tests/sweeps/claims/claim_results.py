"""Made results of claims: ladders that rise, cross or stay, trainings that collapse, and gates."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from lightning_modules.metrics.resampling import Interval
from lightning_modules.runs.schema import Result
from sweeps.claims.claim import QUESTIONS
from sweeps.claims.evidence import ClaimResult, ClaimRun, CorpusResult, Evidence, RungResult
from sweeps.claims.pooling import CorpusEffect, PooledEffect
from sweeps.claims.scoreboard import numbers, verdict_words
from sweeps.claims.trajectory import Extrapolation, HeldOut, Trajectory
from sweeps.claims.verdict import Margin, Outcome, Verdict
from tests.helpers.run_folders import result
from tests.sweeps.claims.claim_runs import a_claim

RUNGS = (200_000.0, 400_000.0, 800_000.0)
SEEDS = (1, 2, 3, 4, 5)
FOLDERS = count()  # each run has another folder
SECONDS = 600.0  # of training of each rung's runs together
TWO = {
    "unit": "BLEU", "flavour": "multi-bleu, tokenised", "data": "a corpus",
    "values": {"attention": 26.75, "none": 17.82},
}  # fmt: skip
NO_REGIME = dict.fromkeys(QUESTIONS, True) | {"regime": False, "why": "Models do not overfit here."}
QUOTE = {"text": "the performance drops", "section": "5.2.2", "read": "2026-11-28"}


def said_of(one, scale):
    """What a card says of a claim: the verdict, then its numbers."""
    return f"{verdict_words(one, scale)} {numbers(one)}".strip()


def evidence(
    systems: Sequence[str], rung: float, lost: Mapping[str, Sequence[int]] | None = None
) -> Evidence:
    """The runs of systems, as far as the page reads them."""
    runs = {
        system: [run(seed, rung) for seed in SEEDS if seed not in (lost or {}).get(system, ())]
        for system in systems
    }
    return cast(Evidence, SimpleNamespace(runs=runs, seconds=SECONDS))


def run(seed: int, rung: float, bleu: float = 85.0) -> ClaimRun:
    """A run, as far as the page reads it."""
    config = {"budget": {"target_tokens": int(rung)}}
    made = result(seed=seed, config=config, scores={"bleu": bleu + seed / 10})
    folder = Path(f"run-{next(FOLDERS)}")
    return cast(ClaimRun, SimpleNamespace(seed=seed, result=Result(**made), folder=folder))


def on_corpus(
    effects: Sequence[float],
    outcome: Outcome,
    corpus: str = "en-fr",
    systems: Sequence[str] = ("attention", "none"),
    collapsed: Mapping[str, Sequence[int]] | None = None,
    reason: str | None = None,
    converged: bool = True,
) -> CorpusResult:
    """The ladder of an effect: the first system has it over the others, of 20, 25, 30, … BLEU."""
    rng = np.random.default_rng(len(corpus))
    lost = collapsed or {}
    rungs = []
    for place, (amount, effect) in enumerate(zip(RUNGS, effects, strict=False)):
        seeds = {system: [s for s in SEEDS if s not in lost.get(system, ())] for system in systems}
        values = {
            system: 20.0 + 5 * place + effect * (system == systems[0])
            + rng.normal(size=len(seeds[system])) / 2
            for system in systems
        }  # fmt: skip
        p = 0.001 if outcome.decided else 1.0
        verdict = Verdict(outcome, effect, Interval(effect - 1, effect + 1), p, 5)
        rungs.append(
            RungResult(
                amount=amount,
                verdict=verdict,
                values=values,
                seeds=seeds,
                losses={system: np.full(len(seeds[system]), 3.0 - place) for system in systems},
                evidence=evidence(systems, amount, lost),
                middle=effect,
                improvement=0.9,
                lost={key: [run(seed, amount, 3.0) for seed in of] for key, of in lost.items()},
            )
        )
    return CorpusResult(
        corpus=corpus,
        rungs=rungs,
        collapsed=lost,
        floors=dict.fromkeys(systems, 20.0),
        reached=dict.fromkeys(systems, 31.5),
        margin=Margin(1.0, "larger"),
        trajectory=Trajectory(
            amounts=RUNGS,
            effects=effects,
            falls=dict.fromkeys(systems, 0.012),
            change=0.1,
            change_interval=Interval(-0.2, 0.4),
            why_not_converged=None if converged else "the effect still moves",
            losses={systems[0]: Extrapolation(2.5, Interval(2.4, 2.6), None)},
            effect=Extrapolation(
                effects[-1] + 1,
                Interval(effects[-1], effects[-1] + 2),
                HeldOut(effects[-1] - 0.5, Interval(effects[-1] - 1, effects[-1]), effects[-1]),
            ),
        ),
        verdict=replace(rungs[-1].verdict, reason=reason),  # of a gate
    )


def a_result(name: str, *corpora: CorpusResult, **changes: Any) -> ClaimResult:
    """The result of a claim; ``changes`` are of its file, or of the result."""
    of_result = {
        key: changes.pop(key) for key in ("corrected", "extension", "pooled") if key in changes
    }
    return ClaimResult(a_claim(name, **changes), corpora=corpora, **of_result)


def pooled(*effects: float) -> PooledEffect:
    """The mean of effects on draws."""
    mean = float(np.mean(effects))
    return PooledEffect(
        scale="share of the attention effect",
        corpora=[CorpusEffect(f"draw-{n}", each, 0.02) for n, each in enumerate(effects, 1)],
        real=False,
        effect=mean,
        interval=Interval(mean - 0.05, mean + 0.05),
        tau=0.04,
        prediction=Interval(mean - 0.2, mean + 0.2),
        margin=Margin(0.05, "larger"),
        outcome=Outcome.SUPPORTED,
    )


def results() -> list[ClaimResult]:
    """One claim of each outcome, an extension, a failure, and a claim that cannot be run."""
    above = on_corpus((20, 30, 35.9), Outcome.SUPPORTED)
    german = on_corpus((18, 25, 31), Outcome.SUPPORTED, "en-de")
    weak = on_corpus((0.5, 1, 2.2), Outcome.SUPPORTED)
    back = replace(weak.rungs[-1].verdict, outcome=Outcome.UNDECIDED, p=0.2, reason="p = 0.20")
    crossing = on_corpus(
        (-8, -2, 4),
        Outcome.UNDECIDED,
        reason="“none” was still learning when training ended",
        converged=False,
        collapsed={"none": [3]},
    )
    unfair = on_corpus(
        (3, 3, 3),
        Outcome.NOT_FAIR,
        reason="“none” has not learned to translate: it reaches 5.9 BLEU, and its floor is 20.0",
    )
    return [
        a_result("crosses", crossing, statement="Attention falls less with length."),
        a_result("unfair", unfair),
        a_result("weak", weak, corrected=back, statement="Attention helps a little."),
        a_result(
            "holds",
            above,
            german,
            corrected=above.verdict,
            pooled=[pooled(0.2, 0.3, 0.25)],
            published=TWO,
            quote=QUOTE,
        ),
        a_result("turned", on_corpus((-3, -4, -5), Outcome.REVERSED), statement="Dropout helps."),
        a_result("nothing", on_corpus((0.3, 0.2, 0.1), Outcome.NEGLIGIBLE)),
        a_result(
            "regime",
            on_corpus((1, 2, 3), Outcome.SUPPORTED),
            fidelity=NO_REGIME,
            extension=NO_REGIME["why"],
            statement="Label smoothing makes BLEU better.",
        ),
        a_result("lost", CorpusResult("en-fr", failure="attention, seed 1: was not trained")),
        replace(
            a_result("else", needs="a thing", systems={}, tiers={}, fidelity=None),
            not_run="needs a thing",
        ),
    ]


def by_name(made=None):
    return {one.claim.name.removeprefix("paper."): one for one in made or results()}
