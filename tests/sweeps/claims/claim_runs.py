"""Claims on runs that are made of random mistakes, not trained."""

from itertools import product
from pathlib import Path
from typing import Any

from sweeps.claims.claim import QUESTIONS, Claim
from sweeps.claims.corpora import corpora_of
from sweeps.claims.job_time import workload
from sweeps.claims.plan import ClaimsPlan, FinishedRuns, Need, PlannedRun
from tests.helpers.run_folders import CONFIG, make_run

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
