"""Claims on runs that are made of random mistakes, not trained."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from sweeps.claims.claim import QUESTIONS, Claim
from sweeps.claims.corpora import ClaimCorpus, corpora_of
from sweeps.claims.job_time import workload
from sweeps.claims.plan import ClaimsPlan, FinishedRuns, Need, PlannedRun
from tests.helpers.run_folders import CONFIG, make_run, result, text

PAPER = {"authors": "A. Author", "year": 2020, "title": "A paper", "link": "https://example.org"}
SYSTEMS = {"attention": ["model=bahdanau"], "none": ["model=seq2seq"]}
THREE = SYSTEMS | {"transformer": ["model=transformer"]}
VARIANTS = {"attention": "luong", "none": "none", "transformer": "transformer"}
"""The variant of each system, which decides how many words are wrong: ``run_folders.ERRORS``."""
WORKLOAD = workload(CONFIG)
EN_FR = corpora_of("laptop")["en-fr"]
MEASURE = {"kind": "difference", "more": "attention", "less": "none"}


def a_claim(name="one", **changes: Any) -> Claim:
    """A claim that attention is better; ``changes`` replace entries of its file."""
    measure = changes.get("measure", MEASURE)
    content = {
        "name": f"paper.{name}",
        "paper": PAPER,
        "statement": "Attention is better.",
        "place": "Table 1",
        "quote": "not read",
        "fidelity": dict.fromkeys(QUESTIONS, True),
        "figures": "not verified",
        "systems": {name: THREE[name] for name in THREE if name in measured(measure)},
        "measure": measure,
        "margin": {"value": 1.0, "why": "one BLEU", "written": "2026-11-25"},
        "tiers": {"laptop": {"seeds": [1, 2, 3]}},
    }
    return Claim.model_validate(content | changes)


def config_of(model: str, seed: int, **test: Any) -> dict[str, Any]:
    """The settings of a training of a model; ``test`` are settings of the test alone."""
    return CONFIG | {"model": {"_target_": model}, "seed": seed} | test


def measured(measure: dict[str, Any]) -> set[str]:
    """The systems that a measure names."""
    several = [*measure.get("order", []), *measure.get("rungs", [])]
    return {*several, *(measure[key] for key in ("more", "less", "system") if key in measure)}


def plan_of(
    folder: Path,
    *claims: Claim,
    seeds=(1, 2, 3),
    made=True,
    corpora=(EN_FR,),
    rungs=(1000,),
    **changes: Any,
) -> ClaimsPlan:
    """The plan of claims whose runs are all finished; each system has the same runs in all."""
    wanted: dict[str, PlannedRun] = {}
    for claim, corpus, rung in product(claims, corpora, rungs):
        for system, seed in product(claim.systems, corpus.seeds or seeds):
            name = f"{system}-{corpus.name}-{rung}-{seed}"
            if name not in wanted:
                place = folder / name
                trunk = f"{system}-{corpus.name}-{seed}"
                run = PlannedRun(name, name, trunk, (), place, WORKLOAD, "target_tokens", rung, [])
                wanted[name] = run
                if made and not place.exists():
                    config = config_of(VARIANTS[system], seed) | {"budget": {"target_tokens": rung}}
                    make_run(place, VARIANTS[system], seed, **{"config": config} | changes)
            need = Need(claim.name, corpus.name, rung, system, seed)
            wanted[name].needs.append(need)
    finished = {name: run.folder for name, run in wanted.items()} if made else {}
    return ClaimsPlan(
        tier="laptop",
        claims=claims,
        skipped=[],
        runs=list(wanted.values()),
        corpora={claim.name: corpora for claim in claims},
        rungs={claim.name: rungs for claim in claims},
        finished=FinishedRuns(finished, {}),
    )


RUNGS = (1000.0, 2000.0, 4000.0)
"""Two doublings, as many as a trajectory needs to converge."""
CORPORA = {
    "en-fr": ClaimCorpus(name="en-fr", attention=20.0, real=False),
    "en-de": ClaimCorpus(name="en-de", attention=10.0, real=False),
    "multi30k": ClaimCorpus(name="multi30k", attention=10.0),
    "canlaw": ClaimCorpus(name="canlaw"),
} | {
    f"draw-{number}": ClaimCorpus(
        name=f"draw-{number}", attention=10.0, real=False, seeds=(number,)
    )
    for number in range(1, 9)
}
LEARNED = {
    "training": result()["training"] | {"val_loss": 2.0},
    "baselines": {"nearest copy": {"scores": {}, "by_length": {"1–10": {"bleu": 5.0}}}},
}
"""What the record of a training says that has learned enough to be judged."""


def finished_plan(
    folder: Path,
    *claims: Claim,
    seeds: Sequence[int] = (1, 2, 3),
    corpora: Sequence[str] = ("en-fr",),
    rungs: Sequence[float] = RUNGS,
    own: bool = False,
    made: bool = True,
    **changes: Any,
) -> ClaimsPlan:
    """The plan of claims whose runs are all finished; each system has the same runs in all.

    A run lies in ``SYSTEM-SEED``, or in ``CORPUS/SYSTEM-SEED`` of any but the first corpus, and is
    that of all rungs; of a rung that has a run in ``SYSTEM-SEED-RUNG``, that one counts. With
    ``own``, each seed has a test set of its own.
    """
    wanted: dict[Path, PlannedRun] = {}
    for claim, corpus, system in ((c, o, s) for c in claims for o in corpora for s in c.systems):
        base = folder if corpus == corpora[0] else folder / corpus
        for seed in CORPORA[corpus].seeds or seeds:
            every = base / f"{system}-{seed}"
            if made and not every.exists():
                given = {"config": config_of(VARIANTS[system], seed)} | LEARNED
                given |= {"text": text(seed)} if own or CORPORA[corpus].seeds else {}
                make_run(every, VARIANTS[system], seed, **given | changes)
            for rung in rungs:
                of_rung = base / f"{every.name}-{rung:g}"
                place = of_rung if of_rung.exists() else every
                name = str(place)
                run = PlannedRun(
                    name, name, name, (), place, WORKLOAD, "target_tokens", rungs[-1], []
                )
                need = Need(claim.name, corpus, rung, system, seed)
                wanted.setdefault(place, run).needs.append(need)
    return ClaimsPlan(
        tier="laptop",
        claims=claims,
        skipped=[],
        runs=[*wanted.values()],
        corpora={claim.name: [CORPORA[each] for each in corpora] for claim in claims},
        rungs=dict.fromkeys((claim.name for claim in claims), rungs),
        finished=FinishedRuns({run.identity: run.folder for run in wanted.values()}, {}),
    )
