"""The scoreboard as files: one page, tables and figures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from datamodules.files import write_text
from lightning_modules.figures.charts import Chart, save_chart
from lightning_modules.figures.forest_chart import forest_chart
from lightning_modules.figures.lines import draw_lines
from lightning_modules.figures.sizes import PAPER
from sweeps.claims.evidence import Run
from sweeps.claims.judging import Judged
from sweeps.claims.scale import Scale
from sweeps.claims.scoreboard.beside import Beside, beside
from sweeps.claims.scoreboard.curves import claim_lines
from sweeps.claims.scoreboard.rows import (
    NARROWER,
    ON_PAGE,
    TITLE,
    effects_of,
    outcome_of,
    scoreboard,
    summary,
)
from sweeps.evaluation.tables import as_csv
from sweeps.evaluation.writing.table_files import write_tables
from sweeps.report.html import render_page

PAGE, FIGURES, FOREST = "report.html", "figures", "forest"


class Shown(NamedTuple):
    """A claim as the page shows it."""

    judged: Judged
    outcome: str
    overrides: Mapping[str, Sequence[str]]
    """Overrides of each system, with those of the tier and of the command."""
    rates: Mapping[str, float]
    """Learning rates of the systems that were trained."""
    means: Mapping[str, float]
    """What was measured, by system: means over seeds."""
    beside: Beside | None
    curve: str | None
    """Name of the figure of its curves."""


def write_scoreboard(judged: Sequence[Judged], scale: Scale, out: Path) -> Path:
    """Write tables, figures and the page into ``out``; return the page.

    Each file is written whole or not at all.
    """
    table = scoreboard(judged, scale)
    write_tables([table], out / "tables")
    charts: dict[str, Chart] = {}
    effects = effects_of(judged)
    if effects:
        charts[FOREST] = forest_chart(effects, "container")
        for end, width in PAPER.items():
            save_chart(forest_chart(effects, width), out / FIGURES / f"{FOREST}{end}")
    shown = [_shown(one, scale, charts) for one in judged]
    page = render_page(
        "claims.html.j2",
        figures=charts,
        files={table.name: as_csv(table)},
        title=TITLE,
        summary=summary(judged, scale),
        scope=scale.scope,
        narrower=NARROWER,
        table=scoreboard(judged, scale, ON_PAGE),
        claims=shown,
    )
    write_text(out / PAGE, page)
    return out / PAGE


def _shown(one: Judged, scale: Scale, charts: dict[str, Chart]) -> Shown:
    """Return a claim as the page shows it; its curves are added to ``charts``."""
    claim, outcome = one.claim, outcome_of(one)
    systems = claim.systems if one.not_run is None else ()
    overrides = {
        system: [*claim.overrides(system, scale.tier), *scale.changes] for system in systems
    }
    if one.evidence is None or one.means is None:
        return Shown(one, outcome, overrides, {}, {}, None, None)
    lines, name = claim_lines(one.evidence, claim, "container"), claim.name.replace(".", "_")
    curve = name if len({each["place"] for each in lines.points}) > 1 else None
    if curve:
        charts[name] = draw_lines(lines, "container")
    return Shown(
        judged=one,
        outcome=outcome,
        overrides=overrides,
        rates={system: _rate(first) for system, (first, *_) in one.evidence.runs.items()},
        means=dict(zip(claim.measure.systems, map(float, one.means), strict=True)),
        beside=beside(claim, one.evidence),
        curve=curve,
    )


def _rate(run: Run) -> float:
    return float(run.result.config["optimizer"]["lr"])
