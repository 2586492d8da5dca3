"""What was found, as Markdown: the file that ``docs/findings/claims.md`` is a copy of."""

from collections.abc import Iterator, Sequence

from sweeps.claims.evidence import ClaimResult
from sweeps.claims.measures import Kept, Level
from sweeps.claims.scoreboard import (
    ORDER,
    TITLE,
    Scale,
    effect_in_words,
    format_effect,
    in_order,
    margin_of,
    outcome_of,
    over_ladder,
    parts,
    summary,
    unit_of,
    verdict_words,
    wrong_verdicts,
)
from sweeps.claims.verdict import Outcome
from sweeps.comparison.numbers import NOTHING, format_number

FINDINGS = "claims.md"
HEADER = ("claim", "effect [95%]", "published", "least effect", "in", "verdict", "corrected")


def findings(results: Sequence[ClaimResult], scale: Scale) -> str:
    """Return counts, then the claims by outcome in words, and a table; extensions are apart."""
    return "\n".join(_lines(in_order(results), scale)) + "\n"


def _lines(results: Sequence[ClaimResult], scale: Scale) -> Iterator[str]:
    yield from (f"# {TITLE}", "", f"**{_whole(summary(results, scale))}**", "")
    yield from (wrong_verdicts(results), "")
    if scale.registration is not None:
        yield from (f"Registered before the first run: `{scale.registration}`.", "")
        for line in scale.deviations:
            yield f"- deviates: {line}"
        yield ""
    else:
        yield from ("The claims were not registered before the runs.", "")
    claims, extensions = parts(results)
    for heading, of in (("Claims", claims), ("Extensions", extensions)):
        if of:
            yield from (f"## {heading}", "", *_table(of), "")
            for outcome in ORDER:
                chosen = [one for one in of if outcome_of(one) == outcome]
                if chosen:
                    yield from (f"### {heading}: {outcome}", "")
                    yield from map(_item, chosen)
                    yield ""
    if not_run := [one for one in results if one.not_run is not None]:
        yield from ("## Not run", "")
        yield from (f"- `{one.claim.name}`: {one.not_run}" for one in not_run)


def _whole(summary: str) -> str:
    return f"{summary[0].upper()}{summary[1:]}."


def _table(results: Sequence[ClaimResult]) -> Iterator[str]:
    yield f"| {' | '.join(HEADER)} |"
    yield f"|{'---|' * len(HEADER)}"
    for one in results:
        verdict, effect, margin = one.verdict, NOTHING, NOTHING
        if verdict is not None and verdict.outcome is not Outcome.NOT_FAIR:
            of_level = isinstance(one.claim.measure, Level | Kept)
            effect = (
                effect_in_words(one.claim, verdict)
                if of_level
                else format_effect(verdict.effect, verdict.interval)
            )
            margin = format_number(margin_of(one.corpora[0], one).size, 2)
        corrected = one.corrected.outcome if one.corrected else NOTHING
        theirs = one.claim.published_effect
        published = NOTHING if theirs is None else format_number(theirs, 2)
        cells = (f"`{one.claim.name}`", effect, published, margin, unit_of(one.claim))
        row = (cell.replace("|", "\\|") for cell in (*cells, outcome_of(one), corrected))
        yield f"| {' | '.join(row)} |"


def _item(one: ClaimResult) -> str:
    said = [f"- `{one.claim.name}`: {one.claim.statement}", verdict_words(one)]
    if one.verdict is not None and one.verdict.outcome is not Outcome.NOT_FAIR:
        said.append(over_ladder(one))
    if one.extension:
        said.append(f"An extension: {one.extension}")
    return " ".join(part for part in said if part).replace("\n", " ")
