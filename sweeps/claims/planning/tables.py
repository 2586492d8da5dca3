"""What the terminal shows before anything is trained: the claims, and what they need."""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sweeps.claims.claim import TIERS, Claim, TierName
from sweeps.claims.planning.plan import Plan, job_time
from sweeps.claims.planning.prospects import Prospect
from sweeps.claims.planning.speed import rates_of
from sweeps.claims.scoreboard.rows import CHANGES, NAME, NOT_RUN, TUNED
from sweeps.report.opening.costs import duration

JOB_TIME = (
    "job time: taken from the speed of finished runs on this machine with the same variant, sizes, "
    "corpus and batches. unknown: no such run has finished. ≥: no such run has finished for a part "
    "of the runs."
)
log = logging.getLogger(__name__)
State = Mapping[tuple[str, TierName], str]
"""The last verdict on a claim at a tier, with its cost, as text."""


def list_of(claims: Iterable[Claim], state: State) -> Group:
    """Return all claims, each with its statement and the tiers where the claim can be run."""
    return Group(*(part for claim in claims for part in _listed(claim, state)))


def _listed(claim: Claim, state: State) -> Iterator[Padding | Text]:
    tiers = [tier for tier in TIERS if tier in claim.tiers]
    where = [f"{tier}: {state.get((claim.name, tier)) or _not_run(claim, tier)}" for tier in tiers]
    yield Text(claim.name, "bold")
    for line in (
        f"{claim.statement} (figures: {claim.figures})",
        "; ".join(where) or f"nowhere: needs {claim.needs}",
    ):
        yield Padding(Text(line), (0, 0, 0, 2))


def _not_run(claim: Claim, tier: TierName) -> str:
    if (why := claim.why_not(tier)) is not None:
        return why
    return f"not run, {len(claim.systems) * len(claim.tiers[tier].seeds)} runs"


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
    cost = [] if row["minutes"] is None else [duration(60 * row["minutes"])]
    return ", ".join([row["verdict"], *([TUNED] if tuned else []), *cost])


def plan_table(plan: Plan, known: Mapping[str, Prospect], at_once: int) -> Table:
    """Return what each claim needs: runs, those that are missing, job time, seeds.

    ``known`` are prospects by the names of claims.
    """
    rates = rates_of(plan.finished)
    time = job_time(plan.missing, rates, plan.trained)
    title = (
        f"claims: {len(plan.claims)}, runs: {len(plan.wanted)}, missing: {len(plan.missing)}; "
        f"job time {time.text(at_once)} with {at_once} at a time"
    )
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0))
    table.add_column("claim", no_wrap=True)
    for column in ("seeds", "runs", "missing", "job time", "decides", "for 80%"):
        table.add_column(column, justify="right")
    missing = {run.identity for run in plan.missing}
    for claim in plan.claims:
        runs = plan.runs_of(claim)
        lacking = [run for run in runs if run.identity in missing]
        table.add_row(
            claim.name,
            str(plan.seeds_of(claim)),
            str(len(runs)),
            str(len(lacking)),
            job_time(lacking, rates, plan.trained).text(),
            *known.get(claim.name, ("–", "–")),
        )
    return table
