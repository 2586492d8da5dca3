"""The page of claims, also in W&B: what was found, and a card for each claim."""

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from datamodules.files import write_text
from lightning_modules.figures.charts import Chart
from lightning_modules.figures.forest_chart import forest_chart
from lightning_modules.figures.ladder_chart import DataChart, shared_charts
from lightning_modules.figures.picture_files import FigureWidths, save_figures
from lightning_modules.runs.paths import FIGURES, REPORT, TABLES
from lightning_modules.tracking.names import with_interval
from sweeps.claims.cards import card_of
from sweeps.claims.evidence import ClaimResult
from sweeps.claims.findings import FINDINGS, findings
from sweeps.claims.scoreboard import (
    NAME,
    TITLE,
    Scale,
    alarms_of_claims,
    effect_of,
    in_order,
    outcome_of,
    parts,
    summary,
    wrong_verdicts,
)
from sweeps.claims.scoreboard_tables import ON_PAGE, effects_of, scoreboard, seeds_table
from sweeps.claims.verdict import Outcome
from sweeps.comparison.table_files import as_csv, write_tables
from sweeps.report.html import render_page

FOREST = "forest"
NAMED = [str(outcome) for outcome in Outcome if outcome.decided]
"""Outcomes whose claims the page names before anything else."""


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
    write_text(out / FINDINGS, findings(results, scale))
    if effects := effects_of(results):
        save_figures(lambda width: {FOREST: forest_chart(effects, width)}, widths, out / FIGURES)
    write_text(out / REPORT, _page(in_order(results), scale, files))
    return out / REPORT


def _page(results: Sequence[ClaimResult], scale: Scale, files: dict[str, str]) -> str:
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
        summary=summary(results, scale),
        alarms=alarms_of_claims(results),
        wrong=wrong_verdicts(results),
        scale=scale,
        table=scoreboard(results, scale, ON_PAGE),
        named=NAMED,
        forest=bool(effects),
        by_outcome=lambda of: [(key, [*same]) for key, same in groupby(of, itemgetter("outcome"))],
        sections={
            heading: [cards[one.claim.name] for one in of] for heading, of in of_heading.items()
        },
        parts=[
            (f"part-{heading.lower().replace(' ', '-')}", heading)
            for heading in (*(["Effects"] if effects else []), *headings, "Table")
        ],
    )


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
                [*(alarms.text if alarms else []), about, wrong_verdicts(results)],
                [],
                [],
            ),
            ReportSection("Effects", [], [*pictures], []),
            ReportSection("Claims", [], [], [NAME]),
            ReportSection("Training by training", [], [], [seeds.name]),
        ],
    )
    publish_page(page, out, logger, again="the same command")
