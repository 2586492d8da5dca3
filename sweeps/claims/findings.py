"""What was found, as JSON and as Markdown.

A scoreboard writes ``findings.json`` and, from that, ``claims.md``. ``docs/findings/claims.md`` is
made from the ``findings.json`` of several scoreboards, corrected over the papers of all of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from sweeps.claims.evidence import ClaimResult
from sweeps.claims.families import corrected_ps
from sweeps.claims.measures import Kept, Level
from sweeps.claims.scoreboard import (
    DECIDED,
    NOT_RUN,
    ORDER,
    TAKEN_BACK,
    TITLE,
    Scale,
    budget_of,
    count_in_words,
    effect_in_words,
    format_effect,
    in_margins,
    longest_rung,
    margin_of,
    outcome_of,
    over_ladder,
    unit_of,
    verdict_sentence,
    wrong_verdicts,
)
from sweeps.claims.verdict import LEVEL, Outcome
from sweeps.comparison.numbers import NOTHING, format_number

FINDINGS, FINDINGS_JSON = "claims.md", "findings.json"
HEADER = ("claim", "effect [95%]", "published", "least effect", "in", "verdict", "corrected")


@dataclass(frozen=True)
class FoundClaim:
    """What was found about a claim, in words for readers, before corrections for many claims."""

    claim: str  # PAPER.NAME
    statement: str
    outcome: str
    said: str  # the verdict as a sentence, or why the claim was not run
    extension: str | None = None  # why the test is not the paper's
    p: float | None = None  # None without a verdict
    effect: str = NOTHING
    multiple: float = 0.0  # the effect, of the smallest that counts
    published: str = NOTHING
    margin: str = NOTHING  # the smallest effect that counts
    unit: str = NOTHING
    budgets: str = ""  # how the effect moved over the ladder

    @classmethod
    def of(cls, one: ClaimResult) -> Self:
        """Return what was found about one claim."""
        verdict, theirs = one.verdict, one.claim.published_effect
        fair = verdict is not None and verdict.outcome is not Outcome.NOT_FAIR
        effect = NOTHING
        if verdict is not None and fair:
            of_level = isinstance(one.claim.measure, Level | Kept)
            effect = (
                effect_in_words(one.claim, verdict)
                if of_level
                else format_effect(verdict.effect, verdict.interval)
            )
        return cls(
            claim=one.claim.name,
            statement=one.claim.statement,
            outcome=outcome_of(one),
            said=one.not_run or verdict_sentence(one),
            extension=one.extension,
            p=None if verdict is None else verdict.p,
            effect=effect,
            multiple=in_margins(one) or 0.0,
            published=NOTHING if theirs is None else format_number(theirs, 2),
            margin=format_number(margin_of(one.corpora[0], one).size, 2) if fair else NOTHING,
            unit=NOTHING if one.not_run is not None else unit_of(one.claim),
            budgets=over_ladder(one) if fair else "",
        )


@dataclass(frozen=True)
class FoundClaims:
    """What was found about the claims of a scoreboard."""

    scope: str
    budget: float  # the largest, as a number and in words; 0 and none without a verdict
    until: str | None
    registration: str | None  # its hash
    deviations: Sequence[str]
    claims: Sequence[FoundClaim]

    @classmethod
    def of(cls, results: Sequence[ClaimResult], scale: Scale) -> Self:
        """Return what was found about all claims of a scoreboard."""
        last = longest_rung(results)
        return cls(
            scope=scale.scope,
            budget=0.0 if last is None else last.amount,
            until=None if last is None else budget_of(last),
            registration=scale.registration,
            deviations=scale.deviations,
            claims=[FoundClaim.of(one) for one in results],
        )

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Self:
        """Return the content of a ``findings.json``."""
        return cls(**{**content, "claims": [FoundClaim(**one) for one in content["claims"]]})

    def as_json(self) -> dict[str, Any]:
        """Return the content of a ``findings.json``."""
        return asdict(self)


def findings(boards: Sequence[FoundClaims]) -> str:
    """Return counts, then the claims by outcome in words, and a table; extensions are apart.

    The boards are of one scope.
    """
    return "\n".join(_lines(boards)) + "\n"


def _lines(boards: Sequence[FoundClaims]) -> Iterator[str]:
    every = [one for board in boards for one in board.claims]
    every.sort(key=lambda one: (ORDER.index(one.outcome), -one.multiple))
    corrected = _corrected(every)
    run = [one for one in every if one.outcome != NOT_RUN]
    claims = [one for one in run if one.extension is None]
    extensions = [one for one in run if one.extension is not None]
    counted = count_in_words(
        [(one.outcome, corrected[one.claim]) for one in claims],
        [(one.outcome, corrected[one.claim]) for one in extensions],
        len(every) - len(run),
    )
    longest = max(boards, key=lambda board: board.budget)
    until = f", up to {longest.until}" if longest.until else ""
    yield from (f"# {TITLE}", "", f"**{_whole(f'{counted}; {longest.scope}{until}')}**", "")
    yield from (wrong_verdicts(one.outcome for one in every), "")
    for board in boards:
        yield from _registered(board, of_several=len(boards) > 1)
    for heading, of in (("Claims", claims), ("Extensions", extensions)):
        if of:
            yield from (f"## {heading}", "", *_table(of, corrected), "")
            for outcome in ORDER:
                chosen = [one for one in of if one.outcome == outcome]
                if chosen:
                    yield from (f"### {heading}: {outcome}", "")
                    yield from (_item(one, corrected[one.claim]) for one in chosen)
                    yield ""
    if len(run) < len(every):
        yield from ("## Not run", "")
        yield from (f"- `{one.claim}`: {one.said}" for one in every if one.outcome == NOT_RUN)


def _corrected(every: Sequence[FoundClaim]) -> dict[str, str]:
    """Return the outcome of each claim after the corrections over all claims."""
    ps = {one.claim: one.p for one in every if one.p is not None}
    found = corrected_ps(ps, {one.claim for one in every if one.extension is not None})
    return {
        one.claim: NOTHING
        if one.p is None
        else str(Outcome.UNDECIDED)
        if one.outcome in DECIDED and found[one.claim] > LEVEL
        else one.outcome
        for one in every
    }


def _registered(board: FoundClaims, of_several: bool) -> Iterator[str]:
    papers = {one.claim.partition(".")[0]: None for one in board.claims}
    of = f"{', '.join(papers)}: " if of_several else ""
    if board.registration is None:
        yield from (f"{of}The claims were not registered before the runs.", "")
        return
    nothing = "" if board.deviations else ", and nothing deviates"
    yield from (f"{of}Registered before the first run{nothing}: `{board.registration}`.", "")
    if board.deviations:
        yield from (*(f"- deviates: {line}" for line in board.deviations), "")


def _whole(summary: str) -> str:
    return f"{summary[0].upper()}{summary[1:]}."


def _table(claims: Sequence[FoundClaim], corrected: Mapping[str, str]) -> Iterator[str]:
    yield f"| {' | '.join(HEADER)} |"
    yield f"|{'---|' * len(HEADER)}"
    for one in claims:
        cells = (f"`{one.claim}`", one.effect, one.published, one.margin, one.unit, one.outcome)
        row = (cell.replace("|", "\\|") for cell in (*cells, corrected[one.claim]))
        yield f"| {' | '.join(row)} |"


def _item(one: FoundClaim, corrected: str) -> str:
    said = [f"- `{one.claim}`: {one.statement}", one.said]
    if one.outcome in DECIDED and corrected != one.outcome:
        said.append(TAKEN_BACK)
    said.append(one.budgets)
    if one.extension:
        said.append(f"An extension: {one.extension}")
    return " ".join(part for part in said if part).replace("\n", " ")
