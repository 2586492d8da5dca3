"""How probably a plan decides a claim, and with how many seeds, before anything is trained."""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sweeps.claims.claim import TIERS, Claim, TierName
from sweeps.claims.corpora import ClaimCorpus
from sweeps.claims.intervals import Spread, pair_spread
from sweeps.claims.job_time import JobTime, gpu_speeds, job_time, speeds_of
from sweeps.claims.plan import ClaimsPlan, PlannedRun
from sweeps.claims.power import MOST_SEEDS, find_seeds, power
from sweeps.claims.scoreboard import CHANGES, NAME, NOT_RUN, TUNED
from sweeps.claims.verdict import LEAST_SEEDS, LEVEL
from sweeps.comparison.numbers import format_duration

log = logging.getLogger(__name__)


EFFECT = 3.0
"""Assumed effect of a claim without published values, in multiples of its margin; 0 where the claim
says that the effect is not smaller, or that there is no difference."""
SEEDS, BOTH, SENTENCES, TOGETHER = 1.0, 0.3, 0.5, 0.8
"""Assumed deviations in multiples of the margin, over seeds, over seeds and sentences, and over
sentences; and the correlation of two systems over sentences."""
MANY = 1000  # seeds from which an assumed variance is as good as known
NOTE = (
    "decides: the chance that the last rung on the first corpus decides, corrected as the first "
    "step of Holm's method over the claims of the paper in this command. It assumes that the true "
    "effect is the published effect; without published values, three times the smallest effect "
    "that counts, or 0 if the claim says that there is no difference or no loss. It also assumes "
    "that the scores of seeds deviate by the smallest effect that counts; searches of one training "
    "deviate together. A ladder that does not converge decides nothing. for 80%: the seeds of each "
    "system that decide with a chance of 80% under these assumptions."
)


class Prospect(NamedTuple):
    """How probably a plan decides a claim, as text."""

    chance: str  # with the seeds of the plan
    seeds: str  # seeds that decide with a chance of 80%


PROSPECTS = ("decides", "for 80%")  # columns of the plan


def prospects(plan: ClaimsPlan) -> dict[str, Prospect]:
    """Return the prospects of the claims that lack runs, by name."""
    return {
        claim.name: _prospect(claim, plan)
        for claim in plan.claims
        if any(run.identity not in plan.finished.runs for run in plan.runs_of(claim))
    }


def _prospect(claim: Claim, plan: ClaimsPlan) -> Prospect:
    corpus = plan.corpora[claim.name][0]
    margin = claim.decision_margin(corpus.attention or 1.0)
    seeds = len(plan.seeds_of(claim, corpus.name))
    spread, differences = assume_spread(claim, corpus), claim.measure.differences
    if plan.is_one_training(claim):
        spread, differences = pair_spread(spread, differences)
    level = LEVEL / len(family(claim, plan))
    enough, chance = find_seeds(spread, differences, margin, level), f"never with {seeds}"
    if seeds >= LEAST_SEEDS:
        chance = f"{power(spread, differences, margin, seeds, level):.0%}"
    return Prospect(chance, str(enough or f"> {MOST_SEEDS}"))


def family(claim: Claim, plan: ClaimsPlan) -> list[Claim]:
    """Return the claims that are corrected with a claim: those of its paper, extensions apart."""

    def kind(each: Claim) -> tuple[str, bool]:
        return each.name.partition(".")[0], each.extension(plan.tier) is None

    return [each for each in plan.claims if kind(each) == kind(claim)]


def assume_spread(claim: Claim, corpus: ClaimCorpus) -> Spread:
    """Return the means and variances that are assumed of the systems of a claim on a corpus.

    They are in units of the measure, or in shares of the attention effect where the margin is one
    and the effect of attention on the corpus is not known. Only a real corpus has one test set for
    all seeds.
    """
    differences = claim.measure.differences
    unit = claim.decision_margin(corpus.attention or 1.0).size
    unknown = claim.margin.unit == "attention" and corpus.attention is None
    effect = None if unknown else claim.published_effect
    if effect is None:
        effect = EFFECT * unit if claim.says == "larger" else 0.0
    systems = differences.weights.shape[-1]
    # Means with which every difference is the effect.
    entries = differences.weights.reshape(-1, systems)
    wanted = np.full(len(entries), effect + differences.reference)
    means = np.linalg.lstsq(entries, wanted, rcond=None)[0]
    both, sentences = (BOTH * unit) ** 2, (SENTENCES * unit) ** 2
    together = np.full((systems, systems), TOGETHER) + (1 - TOGETHER) * np.eye(systems)
    shared = corpus.real
    return Spread(
        means=means,
        seeds=np.full(systems, MANY),
        between_seeds=np.full(systems, (SEEDS * unit) ** 2 + both + (0 if shared else sentences)),
        both=np.full(systems, both if shared else 0.0),
        sentences=together * sentences * shared,
    )


JOB_TIME = (
    "job time: taken from the speed of finished runs on this machine with the same variant, sizes, "
    "corpus and batches. unknown: no such run has finished. ≥: no such run has finished for a part "
    "of the runs."
)
GPU_TIME = (
    "job time: at tier=paper from the speeds in docs/findings/gpu, of systems of published size in "
    "bf16 or float32 on the fastest GPU that was measured. unknown: none was measured; ≥: none for "
    "a part of the runs."
)
State = Mapping[tuple[str, TierName], str]
"""The last verdict on a claim at a tier, with its cost, as text."""


def list_claims(claims: Iterable[Claim], state: State) -> Group:
    """Return all claims, each with its statement and the tiers where the claim can be run."""
    return Group(*(part for claim in claims for part in _listed(claim, state)))


def _listed(claim: Claim, state: State) -> Iterator[Padding | Text]:
    where = [
        f"{tier}: {state.get((claim.name, tier)) or _not_run(claim, tier)}"
        for tier in TIERS
        if tier in claim.tiers
    ]
    about = f"{claim.statement} (figures: {claim.figures})"
    yield Text(claim.name, "bold")
    for line in (about, "; ".join(where) or f"nowhere: needs {claim.needs}"):
        yield Padding(Text(line), (0, 0, 0, 2))


def _not_run(claim: Claim, tier: TierName) -> str:
    if (why := claim.why_not(tier)) is not None:
        return why
    return f"not run, {len(claim.systems) * len(claim.seeds(tier))} training runs"


def last_verdicts(outputs: Path) -> State:
    """Return what the scoreboards in ``outputs`` say; of several on a claim, the newest."""
    found: dict[tuple[str, TierName], str] = {}
    files = outputs.glob(f"claims/*/tables/{NAME}.json")
    for file in sorted(files, key=lambda each: each.stat().st_mtime):
        try:
            found |= _verdicts_in(json.loads(file.read_text(encoding="utf-8")))
        except (OSError, ValueError, LookupError, TypeError):
            log.warning("%s: no table of claims; its verdicts are left out of the list", file)
    return found


def _verdicts_in(table: Any) -> State:
    """Return the verdicts of a table as its JSON file has it; none of a tier that was changed."""
    tier, tuned = table["origin"]["tier"], table["origin"].get("learning rates") == TUNED
    if CHANGES in table["origin"]:
        return {}
    return {
        (row["claim"], tier): _last(row, tuned)
        for row in table["rows"]
        if row["verdict"] != NOT_RUN
    }


def _last(row: Mapping[str, Any], tuned: bool) -> str:
    cost = [] if row["minutes"] is None else [format_duration(60 * row["minutes"])]
    return ", ".join([row["verdict"], *([TUNED] if tuned else []), *cost])


def notes(plan: ClaimsPlan, known: Mapping[str, Prospect]) -> list[str]:
    """Return what explains the columns of ``plan_table``."""
    time = GPU_TIME if plan.tier == "paper" else JOB_TIME
    return [time, NOTE] if known else [time]


def plan_table(
    plan: ClaimsPlan, known: Mapping[str, Prospect], at_once: int, on_slurm: bool = False
) -> Table:
    """Return what each claim needs: corpora, rungs, runs, those that are missing, time, seeds.

    ``known`` are prospects by the names of claims. At most ``at_once`` jobs run at a time; how many
    do on SLURM, nobody knows beforehand.
    """
    at_paper = plan.tier == "paper"
    speeds = gpu_speeds(plan.runs) if at_paper else speeds_of(plan.finished.runs)
    done = [run for run in plan.runs if run.identity in plan.finished.runs]

    def time_of(runs: Sequence[PlannedRun]) -> JobTime:
        lacking = [run for run in runs if run.identity not in plan.finished.runs]
        return job_time(lacking, speeds, done, plan.finished.trainings)

    rows = []
    for claim in plan.claims:
        runs, corpora = plan.runs_of(claim), plan.corpora[claim.name]
        rows.append(
            {
                "corpora": str(len(corpora)),
                "rungs": str(len(plan.rungs[claim.name])),
                "seeds": str(len(plan.seeds_of(claim, corpora[0].name))),
                "runs": str(len(runs)),
                "missing": str(sum(run.identity not in plan.finished.runs for run in runs)),
                "job time": time_of(runs).text(),
                **dict(zip(PROSPECTS, known.get(claim.name, ("–", "–")), strict=True)),
            }
        )
    # What is the same for all claims is said once: the table fits into 80 columns.
    same = {
        name: rows[0][name]
        for name in ("corpora", "rungs", "seeds")
        if len({row[name] for row in rows}) == 1
    }
    of_each = "".join(f"{name}: {number}, " for name, number in same.items())
    trunks = {run.trunk for run in plan.missing}
    time = time_of(plan.runs)
    title = (
        f"claims: {len(plan.claims)}, {of_each}runs: {len(plan.runs)}, missing: "
        f"{len(plan.missing)} ({len(trunks)} training run{'s'[: len(trunks) != 1]}); job time "
        + (
            f"{time.text()} in all; SLURM starts up to {at_once} jobs at a time"
            if on_slurm
            else f"{time.text(at_once)} with {at_once} at a time"
        )
    )
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0))
    table.add_column("claim", overflow="fold")
    columns = [name for name in (rows[0] if rows else ()) if name not in same]
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for claim, row in zip(plan.claims, rows, strict=True):
        table.add_row(claim.name, *(row[column] for column in columns))
    return table
