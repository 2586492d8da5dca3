"""The tables of the scoreboard: a row for each claim, and a row for each training."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from lightning_modules.figures.forest_chart import Effect
from sweeps.claims.claim import Claim
from sweeps.claims.evidence import ClaimResult, ClaimRun, CorpusResult, RungResult
from sweeps.claims.scoreboard import (
    CHANGES,
    DECIMALS,
    NAME,
    TITLE,
    TUNED,
    Scale,
    effect_of,
    in_margins,
    in_order,
    margin_of,
    outcome_of,
    unit_of,
)
from sweeps.claims.verdict import Outcome, Verdict
from sweeps.comparison.tables import Cell, Column, Table
from sweeps.report.costs import training_seconds

SEEDS_NAME, SEEDS_TITLE = "claims_seeds", "Claims, run by run"
PRINTED = ("claim", "ours", "verdict", "corrected")
"""Columns that a terminal has room for."""
ON_PAGE = (
    *("claim", "statement", "measured", "published", "ours", "margin", "verdict", "corrected"),
)
"""Columns of the table on the page, whose cards tell all else."""


def _decided(verdict: Verdict | None) -> str | None:
    return None if verdict is None else str(verdict.outcome)


def _place(claim: Claim) -> str:
    return f"{claim.paper.authors} ({claim.paper.year}), {claim.place}"


def _reason(one: ClaimResult) -> str | None:
    return one.failure or one.not_run or (one.verdict.reason if one.verdict else None)


def _of_corpus(cell: Callable[[CorpusResult, ClaimResult], Cell]) -> Callable[[ClaimResult], Cell]:
    """Return a cell of the first corpus of a claim, whose verdict is the claim's."""
    return lambda one: cell(one.corpora[0], one) if one.verdict else None


def collapsed_count(corpus: CorpusResult) -> int:
    """Return how many trainings on a corpus never began."""
    return sum(map(len, corpus.collapsed.values()))


def minutes_of(one: ClaimResult) -> float | None:
    """Return the minutes of training of a claim on all its corpora: rungs are one training."""
    spent = [corpus.rungs[-1].evidence.seconds for corpus in one.corpora if corpus.rungs]
    return sum(spent) / 60 if spent else None


class Cost(NamedTuple):
    """What claims took together: they share trainings, and rungs are one training."""

    trainings: int
    tests: int  # of trainings, one at each rung
    seconds: float  # of training


def cost_of(results: Sequence[ClaimResult]) -> Cost:
    """Return what claims took together."""
    rungs = [rung for one in results for corpus in one.corpora for rung in corpus.rungs]
    lists = [of for rung in rungs for of in (*rung.evidence.runs.values(), *rung.lost.values())]
    runs = {run.folder: run.result for of_system in lists for run in of_system}
    seconds = training_seconds(runs.values())
    return Cost(len(seconds), len(runs), sum(seconds.values()))


COLUMNS: Sequence[tuple[Column, Callable[[ClaimResult], Cell]]] = (
    (Column("claim", "claim"), lambda one: one.claim.name),
    (Column("statement", "statement"), lambda one: one.claim.statement),
    (Column("place", "paper"), lambda one: _place(one.claim)),
    (Column("extension", "extension, because"), lambda one: one.extension),
    (Column("measured", "measured"), lambda one: unit_of(one.claim)),
    (Column("corpus", "corpus"), _of_corpus(lambda corpus, _: corpus.corpus)),
    (Column("budget", "budget", "size"), _of_corpus(lambda corpus, _: corpus.rungs[-1].amount)),
    (
        Column("published", "published effect", "number", DECIMALS),
        lambda one: one.claim.published_effect,
    ),
    (Column("ours", "our effect", "estimate", DECIMALS), lambda one: effect_of(one.verdict)),
    (
        Column("margin", "least effect", "number", DECIMALS),
        _of_corpus(lambda corpus, one: margin_of(corpus, one).size),
    ),
    (Column("seeds", "seeds", "count"), lambda one: one.verdict.seeds if one.verdict else None),
    (Column("collapsed", "collapsed", "count"), _of_corpus(lambda c, _: collapsed_count(c))),
    (Column("verdict", "verdict"), outcome_of),
    (Column("corrected", "after corrections"), lambda one: _decided(one.corrected)),
    (Column("minutes", "training (min)", "number"), minutes_of),
    (Column("why", "reason"), _reason),
)
EVERY_COLUMN = [column.key for column, _ in COLUMNS]


def scoreboard(
    results: Sequence[ClaimResult], scale: Scale, shown: Collection[str] = EVERY_COLUMN
) -> Table:
    """Return a row for every claim, also for those without a verdict; ``shown`` are columns."""
    columns = [(column, cell) for column, cell in COLUMNS if column.key in shown]
    return Table(
        NAME,
        TITLE,
        [column for column, _ in columns],
        [[cell(one) for _, cell in columns] for one in in_order(results)],
        _origin(results, scale),
        f"Verdicts reach no farther than this: {scale.scope}. Effects, with 95% intervals, are "
        "above 0 in the direction of the claim. The corrections are for the claims of a paper and "
        "for papers; extensions are apart.",
    )


def _origin(results: Sequence[ClaimResult], scale: Scale) -> dict[str, str | int]:
    return {
        "tier": scale.tier,
        **({CHANGES: " ".join(scale.changes)} if scale.changes else {}),
        **({"registration": scale.registration} if scale.registration else {}),
        "claims": len(results),
        "learning rates": TUNED if any(one.tuned for one in results) else "of the files",
    }


SEED_COLUMNS = (
    *(Column("claim", "claim"), Column("corpus", "corpus"), Column("rung", "rung", "size")),
    *(Column("system", "system"), Column("seed", "seed", "count")),
    *(Column("score", "score", "number", 4), Column("bleu", "BLEU", "number", 4)),
    *(Column("loss", "validation loss", "number", 4), Column("collapsed", "collapsed")),
)


def seeds_table(results: Sequence[ClaimResult], scale: Scale) -> Table:
    """Return a row for each training of each claim at each rung on each corpus.

    The score is the quantity of the claim. A training that collapsed has none: it is left out.
    """
    rows = [
        [one.claim.name, corpus.corpus, *row]
        for one in results
        for corpus in one.corpora
        for rung in corpus.rungs
        for row in _trainings(rung)
    ]
    return Table(SEEDS_NAME, SEEDS_TITLE, SEED_COLUMNS, rows, _origin(results, scale))


def _trainings(rung: RungResult) -> Iterator[list[Cell]]:
    for system, values in rung.values.items():
        for run, value in zip(rung.evidence.runs[system], values, strict=True):
            yield _training(rung, system, run, float(value))
        for run in rung.lost.get(system, ()):
            yield _training(rung, system, run, None)


def _training(rung: RungResult, system: str, run: ClaimRun, value: float | None) -> list[Cell]:
    scores, loss = run.result.scores, run.result.training.val_loss
    collapsed = "yes" if value is None else "no"
    return [rung.amount, system, run.seed, value, scores.get("bleu"), loss, collapsed]


def effects_of(results: Sequence[ClaimResult]) -> list[Effect]:
    """Return the rows of the forest plot: one for each claim whose effect says something."""
    return [
        _row_of_forest(one, one.verdict)
        for one in in_order(results)
        if one.verdict is not None and one.verdict.outcome is not Outcome.NOT_FAIR
    ]


def _row_of_forest(one: ClaimResult, verdict: Verdict) -> Effect:
    margin, published = margin_of(one.corpora[0], one).size, one.claim.published_effect
    low, high = verdict.interval or (None, None)
    return Effect(
        claim=one.claim.name,
        statement=one.claim.statement,
        outcome=str(verdict.outcome),
        effect=in_margins(one) or 0.0,
        low=None if low is None else low / margin,
        high=None if high is None else high / margin,
        published=None if published is None else published / margin,
        extension=one.extension is not None,
        directed=one.claim.says == "larger",
    )
