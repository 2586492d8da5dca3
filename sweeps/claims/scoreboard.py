"""The scoreboard: verdicts of claims, and the scale at which they were run."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple, Self

from lightning_modules.figures.forest_chart import Effect
from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.runs.settings import RESULTS, key_of, overrides_that_affect
from sweeps.claims.claim import Claim, TierName
from sweeps.claims.evidence import ClaimResult
from sweeps.claims.verdict import Outcome, Verdict
from sweeps.comparison.tables import Cell, Column, Table

SCOPES: dict[TierName, str] = {
    "laptop": "at laptop scale on a synthetic corpus",
    "bench": "at bench scale on a small corpus of real text",
    "paper": "at the paper's scale",
}
"""What a verdict says of each tier, and no more than that."""
UNMARKED = (
    *("data.name", "data.root", "data.path", "data.files", "data.columns", "data.test_sets_folder"),
    *("trainer", "trainer.accelerator", "trainer.devices", "trainer.num_nodes", "trainer.strategy"),
    *(
        "trainer.precision",
        "trainer.benchmark",
        "trainer.deterministic",
        "trainer.use_distributed_sampler",
    ),
    *("threads", "products", "matmul_precision", "keep_memory", "activation_checkpointing"),
    *("kernels", "packed", "capture", "compile", "batching.decode_max_tokens", "batching.pieces"),
)
"""Keys that say where a corpus lies, or on what and how fast numbers are computed, which rounds
them differently; none says what is tested."""


class Scale(NamedTuple):
    """A tier, and what a command changed of the tier."""

    tier: TierName
    changes: tuple[str, ...] = ()  # overrides of the command that may change results

    @classmethod
    def of(cls, tier: TierName, shared: Sequence[str]) -> Self:
        """Return the scale of a command with overrides that every run takes."""
        found = overrides_that_affect(shared, RESULTS)
        return cls(tier, tuple(each for each in found if key_of(each) not in UNMARKED))

    @property
    def scope(self) -> str:
        """What the verdicts are about."""
        changed = f", changed by {' '.join(self.changes)}" if self.changes else ""
        return f"{SCOPES[self.tier]}{changed}"


NAME, TITLE = "claims", "Published claims, tested again"
NO_VERDICT, NOT_RUN = "no verdict", "not run"
PRINTED = ("claim", "published", "ours", "verdict", "untuned")
"""Columns that a terminal has room for."""
ON_PAGE = (
    *("claim", "statement", "published", "ours", "margin"),
    *("verdict", "corrected", "on_trained", "untuned"),
)
"""Columns of the table on the page, which tells all else below it."""
NARROWER = (
    "The verdict “did not hold” (of a claim of no difference: “held”) rests on the 90% interval, "
    "which is shorter: the 95% interval of such a claim may reach across the smallest effect that "
    "counts."
)
"""Why an effect that is shown may look undecided beside its verdict."""
TUNED = "tuned alike"
CHANGES = "changed by"  # where a table says which overrides changed its tier
OPTIONAL = ("on_trained", "untuned")
"""What begins the keys of columns that are left out if they are empty."""


def outcome_of(one: ClaimResult) -> str:
    """Return the outcome of a claim as text."""
    if one.not_run is not None:
        return NOT_RUN
    return NO_VERDICT if one.verdict is None else str(one.verdict.outcome)


def effect_of(verdict: Verdict | None) -> Estimate | None:
    """Return the effect of a claim with its interval; None without a verdict."""
    if verdict is None:
        return None
    return Estimate(verdict.effect, *(verdict.interval or (None, None)))


def _decided(verdict: Verdict | None) -> str | None:
    return None if verdict is None else str(verdict.outcome)


def _place(claim: Claim) -> str:
    return f"{claim.paper.authors} ({claim.paper.year}), {claim.place}"


def _reason(one: ClaimResult) -> str | None:
    return one.failure or one.not_run or (one.requirement.text() if one.requirement else None)


def _minutes(one: ClaimResult) -> float | None:
    return None if one.evidence is None else one.evidence.seconds / 60


COLUMNS: Sequence[tuple[Column, Callable[[ClaimResult], Cell]]] = (
    (Column("claim", "claim"), lambda one: one.claim.name),
    (Column("statement", "statement"), lambda one: one.claim.statement),
    (Column("place", "paper"), lambda one: _place(one.claim)),
    (Column("measured", "measured"), lambda one: one.claim.measure.metric.label),
    (Column("published", "published effect", "number", 2), lambda one: one.claim.published_effect),
    (Column("ours", "our effect", "estimate", 2), lambda one: effect_of(one.verdict)),
    (Column("margin", "least effect", "number", 2), lambda one: one.claim.margin.value),
    (Column("seeds", "seeds", "count"), lambda one: one.verdict.seeds if one.verdict else None),
    (Column("verdict", "verdict"), outcome_of),
    (Column("corrected", "after Holm"), lambda one: _decided(one.corrected)),
    (
        Column("on_trained_effect", "effect, trained lengths", "estimate", 2),
        lambda one: effect_of(one.on_trained),
    ),
    (Column("on_trained", "verdict, trained lengths"), lambda one: _decided(one.on_trained)),
    (
        Column("untuned_effect", "effect, untuned", "estimate", 2),
        lambda one: effect_of(one.untuned),
    ),
    (Column("untuned", "verdict, untuned"), lambda one: _decided(one.untuned)),
    (Column("minutes", "training (min)", "number"), _minutes),
    (Column("why", "reason, or what would decide"), _reason),
)
EVERY_COLUMN = [column.key for column, _ in COLUMNS]


def scoreboard(
    results: Sequence[ClaimResult], scale: Scale, shown: Collection[str] = EVERY_COLUMN
) -> Table:
    """Return a row for every claim, also for those without a verdict.

    ``shown`` are the keys of the columns; those of other verdicts on the same claims are left out
    if there are none.
    """
    cells = {column: [cell(one) for one in results] for column, cell in COLUMNS}
    columns = [
        column
        for column, of_claims in cells.items()
        if column.key in shown and not (column.key.startswith(OPTIONAL) and not any(of_claims))
    ]
    return Table(
        NAME,
        TITLE,
        columns,
        [[cells[column][row] for column in columns] for row in range(len(results))],
        {
            "tier": scale.tier,
            **({CHANGES: " ".join(scale.changes)} if scale.changes else {}),
            "claims": len(results),
            "learning rates": TUNED if any(one.tuned for one in results) else "of the files",
        },
        f"Verdicts reach no farther than this: {scale.scope}. Effects, with 95% intervals over "
        "seeds and test sentences, are above 0 in the direction of the claim. "
        f"{NARROWER} Holm's correction is over the claims of this table. “Trained "
        "lengths”: the same on test sentences no longer than those of training, where a claim is "
        "about no lengths.",
    )


def summary(results: Sequence[ClaimResult], scale: Scale) -> str:
    """Return how many claims held, did not hold, and stayed open, in one line."""
    named = _counted(one.verdict for one in results)
    counts = Counter(outcome_of(one) for one in results)
    if lost := counts[NO_VERDICT]:
        named += f", {lost} without a verdict"
    if not_run := counts[NOT_RUN]:
        named += f", {not_run} not run"
    corrected = _counted(one.corrected for one in results)
    return (
        f"{len(results)} claims: {named}; after Holm's correction over all: {corrected}; "
        f"{scale.scope}"
    )


def _counted(verdicts: Iterable[Verdict | None]) -> str:
    counts = Counter(verdict.outcome for verdict in verdicts if verdict is not None)
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome)


def effects_of(results: Sequence[ClaimResult]) -> list[Effect]:
    """Return the rows of the forest plot: one for each claim with a verdict."""
    return [_row_of_forest(one.claim, one.verdict) for one in results if one.verdict is not None]


def _row_of_forest(claim: Claim, verdict: Verdict) -> Effect:
    margin, published = claim.margin.value, claim.published_effect
    low, high = verdict.interval or (None, None)
    return Effect(
        claim=claim.name,
        outcome=str(verdict.outcome),
        effect=verdict.effect / margin,
        low=None if low is None else low / margin,
        high=None if high is None else high / margin,
        published=None if published is None else published / margin,
    )
