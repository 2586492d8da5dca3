"""The page of claims, also in W&B: what was found, and a card for each claim."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from datamodules.files import write_json, write_text
from lightning_modules.figures.charts import Chart
from lightning_modules.figures.forest_chart import forest_chart
from lightning_modules.figures.ladder_chart import DataChart, shared_charts
from lightning_modules.figures.picture_files import FigureWidths, save_figures
from lightning_modules.runs.paths import FIGURES, REPORT, TABLES
from lightning_modules.tracking.names import with_interval
from sweeps.claims.cards import card_of
from sweeps.claims.claim import TierName
from sweeps.claims.corpora import DRAWS, SYNTHETIC
from sweeps.claims.evidence import ClaimResult
from sweeps.claims.findings import FINDINGS, FINDINGS_JSON, FoundClaims, findings
from sweeps.claims.scoreboard import (
    DECIDED,
    NAME,
    ORDER,
    TITLE,
    Scale,
    SoFar,
    alarms_of_claims,
    effect_of,
    in_order,
    last_runs,
    outcome_of,
    parts,
    so_far,
    summary,
    taken_back,
    unsettled,
    wrong_verdicts,
)
from sweeps.claims.scoreboard_tables import ON_PAGE, cost_of, effects_of, scoreboard, seeds_table
from sweeps.claims.verdict import Outcome
from sweeps.comparison.numbers import format_duration, in_words
from sweeps.comparison.record import origin_of
from sweeps.comparison.table_files import as_csv, write_tables
from sweeps.report.costs import hardware
from sweeps.report.html import render_page

FOREST = "forest"
METHOD = {
    "Budgets": "Each system is trained on rising budgets, the rungs of a ladder, with several "
    "seeds, and tested at each budget.",
    "Effect": "What is measured is above 0 where the claim holds, and has a 95% interval over "
    "seeds and test sentences. The smallest effect that counts was written down before the runs.",
    "Gates": "Floor: at the largest budget, each system must reach the BLEU of the nearest copy "
    "(the translation of the training sentence that is most like the source) on the shortest test "
    "sentences, or the claim's own floor; otherwise the test is not fair. Collapse: runs far "
    "below the best of their system are left out, and enough must be left. Plateau: with the last "
    "doubling of the budget, each validation loss fell by less than 2%, and over the last two the "
    "effect moved by less than half of the smallest effect that counts. Without enough runs "
    "or a plateau, a claim is undecided.",
    "Verdict": "Of a claim that passes: supported if the interval lies above the smallest effect "
    "that counts, reversed if it lies beyond it in the other direction, negligible if the 90% "
    "interval lies inside of both, otherwise undecided.",
    "Corrections": "Many claims make a wrong verdict likelier: Holm's correction over the claims "
    "of a paper, then Benjamini and Hochberg's over papers. Extensions, which are tested "
    "differently from their papers, are apart.",
    "In full": "docs/how_to/claims.md",
}
"""How a verdict comes about, in short."""
FIXED, RANDOM = (
    "the built-in corpus with few and frequent words, a sample of its own for each seed: BLEU is "
    "higher than on the corpus that other commands have by default",
    "draws: settings of the built-in corpus at random, one training of each system on each",
)
REAL: dict[TierName, str] = {
    "bench": "Small corpora of real text; all seeds share a test set.",
    "paper": "Those of the papers, as far as the command does not say otherwise.",
}
"""What the corpora of the tiers with real text are."""


def write_scoreboard(
    results: Sequence[ClaimResult], scale: Scale, widths: FigureWidths, out: Path
) -> Path:
    """Write tables, figures, findings and the page into ``out``; return the page.

    Each file is written whole or not at all.
    """
    table, seeds = scoreboard(results, scale), seeds_table(results, scale)
    write_tables([table], out / TABLES)
    files = {each.name: as_csv(each) for each in (table, seeds)}
    write_text(out / TABLES / f"{seeds.name}.csv", files[seeds.name])
    found = FoundClaims.of(results, scale)
    write_json(out / FINDINGS_JSON, found.as_json())
    write_text(out / FINDINGS, findings([found]))
    if effects := effects_of(results):
        save_figures(lambda width: {FOREST: forest_chart(effects, width)}, widths, out / FIGURES)
    write_text(out / REPORT, _page(in_order(results), scale, files, out))
    return out / REPORT


def _page(results: Sequence[ClaimResult], scale: Scale, files: dict[str, str], out: Path) -> str:
    charts: dict[str, Chart | DataChart] = {**shared_charts()}
    if effects := effects_of(results):
        charts[FOREST] = forest_chart(effects, "container")
    cards: dict[str, dict[str, Any]] = {}
    for one in results:
        cards[one.claim.name], drawn = card_of(one, scale)
        charts |= drawn
    claims, extensions = parts(results)
    not_run = [one for one in results if one.not_run is not None]
    of_heading = {"Claims": claims, "Extensions": extensions, "Not run": not_run}
    headings = [heading for heading, of in of_heading.items() if of]
    return render_page(
        "claims.html.j2",
        figures=charts,
        files=files,
        title=TITLE,
        facts=dict(_facts(results, out)),
        undecided=_undecided(results),
        unsettled=unsettled(results, scale),
        method={"Corpora": _about_corpora(results, scale), **METHOD},
        alarms=alarms_of_claims(results),
        drawn={
            "collapsed": any(corpus.collapsed for one in results for corpus in one.corpora),
            "corpora": any(one.pooled for one in results),
            "published": any(each.published is not None for each in effects),
            "hollow": any(map(taken_back, results)),
            "extensions": any(each.extension for each in effects),
        },
        wrong=wrong_verdicts(map(outcome_of, results)),
        scale=scale,
        table=scoreboard(results, scale, ON_PAGE),
        decided=DECIDED,
        forest=bool(effects),
        by_outcome=lambda of: [(key, [*same]) for key, same in groupby(of, itemgetter("outcome"))],
        by_so_far=_by_so_far,
        sections={
            heading: [cards[one.claim.name] for one in of] for heading, of in of_heading.items()
        },
        parts=[
            (f"part-{heading.lower().replace(' ', '-')}", heading)
            for heading in (*(["Effects"] if effects else []), *headings, "Method", "Table")
        ],
    )


def _by_so_far(cards: Iterable[dict[str, Any]]) -> list[tuple[SoFar, list[dict[str, Any]]]]:
    """Return undecided cards by what their budgets show so far, in the order of outcomes."""
    found: dict[SoFar, list[dict[str, Any]]] = {}
    for card in cards:
        found.setdefault(card["so_far"], []).append(card)
    return sorted(found.items(), key=lambda each: (ORDER.index(each[0].outcome), each[0].budgets))


def _about_corpora(results: Sequence[ClaimResult], scale: Scale) -> str:
    """Return what the corpora are on which claims were run."""
    if scale.tier != SYNTHETIC:
        return REAL[scale.tier]
    names = {corpus.corpus for one in results for corpus in one.corpora}
    fixed = FIXED
    if any(change.startswith("data.") for change in scale.changes):
        fixed = "the built-in corpus with the settings of the command"
    said = [*([fixed] if names - {DRAWS} else []), *([RANDOM] if DRAWS in names else [])]
    own = "A claim may set some of its settings itself: they stand with the systems."
    return " ".join([*(f"{each[0].upper()}{each[1:]}." for each in said), own])


def _undecided(results: Sequence[ClaimResult]) -> str | None:
    """Return that no verdict is decided, and what budgets show; None where one is, or none is."""
    outcomes = [outcome_of(one) for one in results if one.verdict is not None]
    if not outcomes or any(outcome in DECIDED for outcome in outcomes):
        return None
    leaning = Counter(so.outcome for one in results if (so := so_far(one)))
    if len(outcomes) == 1:
        return "The verdict is not decided."
    said = f"None of the {len(outcomes)} verdicts is decided."
    if leaning:
        lean = in_words([f"{leaning[of]} {of}" for of in Outcome if leaning[of]])
        rest = outcomes.count(Outcome.UNDECIDED) - leaning.total()
        said += f" At the largest budget so far: {lean}{f', {rest} open' if rest else ''}."
    return said


def _facts(results: Sequence[ClaimResult], out: Path) -> Iterator[tuple[str, str]]:
    """Yield what was run, what it cost, when and how; nothing that is not known."""
    runs = [run.result for _, run in last_runs(results).values()]
    if runs:
        yield "Corpora", ", ".join({each.corpus: None for one in results for each in one.corpora})
        yield "Seeds", ", ".join(map(str, sorted({run.seed for run in runs})))
        spent = cost_of(results)
        yield (
            "Cost",
            f"{format_duration(spent.seconds)} of training{hardware(runs)}: {spent.trainings} "
            f"training runs, tested {spent.tests} times",
        )
    origin = origin_of(out, last_runs(results))
    known = {"Date": origin.date, "Command": origin.command}
    yield from ((name, line) for name, line in known.items() if line)


def publish_scoreboard(
    results: Sequence[ClaimResult], scale: Scale, out: Path, logger: DictConfig
) -> None:
    """Log the scoreboard in ``out`` as a W&B run, and save a W&B report of it.

    Raises ``UserError`` if W&B fails, unless ``logger.mode`` is ``auto``.
    """
    from lightning_modules.tracking.wandb_report import ReportSection, WandbPage, publish_page

    about, table = summary(results, scale), scoreboard(results, scale)
    seeds = seeds_table(results, scale)
    alarms = alarms_of_claims(results)
    picture = out / FIGURES / f"{FOREST}.png"
    pictures = {FOREST: picture} if picture.is_file() else {}
    verdicts = {one.claim.name: outcome_of(one) for one in results}
    page = WandbPage(
        job_type="compare",
        name=f"claims at {scale.tier} scale",
        config={
            "folder": str(out),
            "tier": scale.tier,
            "registration": scale.registration,
            "verdicts": verdicts,
        },
        summary={
            name: value
            for one in results
            if (estimate := effect_of(one.verdict)) is not None
            for name, value in with_interval(f"claim/{one.claim.name}", estimate).items()
        },
        pictures=pictures,
        tables={each.name: (each.fields, each.values) for each in (table, seeds)},
        page=(out / REPORT).read_text(encoding="utf-8"),
        notes=about,
        title=TITLE,
        description=about,
        sections=[
            ReportSection(
                "Summary",
                [*(alarms.text if alarms else []), about, wrong_verdicts(map(outcome_of, results))],
                [],
                [],
            ),
            ReportSection("Effects", [], [*pictures], []),
            ReportSection("Claims", [], [], [NAME]),
            ReportSection("Run by run", [], [], [seeds.name]),
        ],
    )
    publish_page(page, out, logger, again="the same command")
