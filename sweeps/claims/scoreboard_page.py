"""The page of claims, also in W&B: effects, verdicts, and published values next to ours."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import altair as alt
import numpy as np
from omegaconf import DictConfig

from datamodules.files import write_text
from lightning_modules.figures.charts import PAPER, Chart, Width, save_chart
from lightning_modules.figures.forest_chart import forest_chart
from lightning_modules.figures.lines import Lines, draw_lines, point, reference_line, with_margins
from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.metric import Metric
from lightning_modules.runs.files import read_predictions
from lightning_modules.runs.paths import FIGURES, REPORT, TABLES
from lightning_modules.tracking.names import with_interval
from sweeps.claims.claim import Claim
from sweeps.claims.evidence import ClaimResult, Evidence
from sweeps.claims.intervals import Rows, Spread, above, effect_interval, score_on
from sweeps.claims.published_bleu import FLAVOURS, Flavour, TableAgreement, agreement
from sweeps.claims.scoreboard import (
    NAME,
    NARROWER,
    ON_PAGE,
    TITLE,
    Scale,
    effect_of,
    effects_of,
    outcome_of,
    scoreboard,
    summary,
)
from sweeps.claims.verdict import WIDE
from sweeps.comparison.outputs import RunOutput
from sweeps.comparison.table_files import as_csv, write_tables
from sweeps.report.html import render_page

FOREST = "forest"
LEAST_VALUES = 3  # fewest values of a table whose agreement says anything


class PublishedComparison(NamedTuple):
    """Our values of the published systems, in the paper's flavour of BLEU."""

    ours: Mapping[str, float]  # means over seeds by system
    agreement: TableAgreement | None
    """For tables of at least three values; the data of both sides are unlike."""


def compare_with_published(claim: Claim, evidence: Evidence) -> PublishedComparison | None:
    """Return our BLEU next to the published BLEU of a claim.

    None without published BLEU, and where no sentence counts in its flavour.
    """
    published = claim.published
    if published is None or published.flavour is None:
        return None
    flavour = FLAVOURS[published.flavour]
    rows = _rows(flavour, evidence)
    systems = [system for system in published.values if system in evidence.runs]
    if not systems or not rows:
        return None
    ours = {
        system: float(np.mean([_score(flavour, run, rows) for run in evidence.runs[system]]))
        for system in systems
    }
    theirs = [published.values[system] for system in systems]
    many = len(systems) >= LEAST_VALUES
    return PublishedComparison(ours, agreement(theirs, [*ours.values()]) if many else None)


def _rows(flavour: Flavour, evidence: Evidence) -> tuple[int, ...]:
    """Return the numbers of the sentences that count.

    An unknown word is one that the vocabularies of a system of the claim lack.
    """
    every = [run for of_system in evidence.runs.values() for run in of_system]
    unknown = set[int]().union(*map(_unknown, every)) if flavour.no_unknown else set[int]()
    return tuple(row for row in range(len(every[0].test.references)) if row not in unknown)


@cache
def _unknown(run: RunOutput) -> set[int]:
    # The test set itself has the sentences that any run of the command does not know.
    return {row for row, each in enumerate(read_predictions(run.folder)) if each.unknown}


@cache
def _score(flavour: Flavour, run: RunOutput, rows: tuple[int, ...]) -> float:
    hypotheses = [run.output.hypotheses[row] for row in rows]
    references = [run.test.references[row] for row in rows]
    return flavour.score(hypotheses, references, run.result.data.target)


def claim_lines(evidence: Evidence, claim: Claim, width: Width) -> Lines:
    """Return the score of each system against length; the bands are over seeds and sentences.

    Published curves, of the paper's data, are thin dashed lines.
    """
    metric = claim.measure.metric
    published = list(_published(claim))
    systems, buckets = list(evidence.runs), evidence.lengths.buckets
    points = [
        {"place": round(bucket.mean_length or 0.0, 2)}
        | point(system, bucket.bounds.label, estimate)
        for system in systems
        for bucket in buckets
        if (estimate := estimate_of(evidence, metric, system, bucket.index)) is not None
    ]
    places = [each["place"] for each in (*points, *(p for _, drawn in published for p in drawn))]
    return Lines(
        labels={system: system for system in systems},
        points=points,
        x=alt.X(
            "place:Q",
            title=evidence.axis[0].upper() + evidence.axis[1:],
            scale=alt.Scale(domain=with_margins(places or [0.0]), nice=False),
        ),
        y_title=metric.label,
        from_zero=metric.from_zero,
        others=[
            layer
            for name, drawn in published
            for layer in reference_line(name, drawn, metric.label, width)
        ],
        reached=[each["score"] for _, drawn in published for each in drawn],
    )


def _published(claim: Claim) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the names and the points of published curves."""
    if claim.published is None:
        return
    how = "published, read off" if claim.published.read_off else "published"
    for system, curve in claim.published.curves.items():
        points = [
            {"place": length, "score": value, "group": f"{length:g} words"}
            for length, value in sorted(curve)
        ]
        yield f"{system}, {how}", points


def estimate_of(
    evidence: Evidence, metric: Metric, system: str, rows: Rows | None = None
) -> Estimate | None:
    """Return a score on some rows, with its interval over seeds and sentences.

    None where the score is not defined; no interval for one seed.
    """
    try:
        values = evidence.values(score_on(metric, rows), system)
    except ValueError:  # such as a length ratio without references
        return None
    seeds = tuple(map(float, values.observed))
    if len(seeds) == 1:
        return Estimate(seeds[0], seeds=seeds)
    low, high = effect_interval(Spread.of([values]), above(0.0), WIDE)
    return Estimate(float(np.mean(seeds)), float(low), float(high), seeds=seeds)


def write_scoreboard(results: Sequence[ClaimResult], scale: Scale, out: Path) -> Path:
    """Write tables, figures and the page into ``out``; return the page.

    Each file is written whole or not at all.
    """
    table = scoreboard(results, scale)
    write_tables([table], out / TABLES)
    charts: dict[str, Chart] = {}
    if effects := effects_of(results):
        charts[FOREST] = forest_chart(effects, "container")
        for end, width in PAPER.items():
            save_chart(forest_chart(effects, width), out / FIGURES / f"{FOREST}{end}")
    shown = [_shown(one, scale, charts) for one in results]
    page = render_page(
        "claims.html.j2",
        figures=charts,
        files={table.name: as_csv(table)},
        title=TITLE,
        summary=summary(results, scale),
        scope=scale.scope,
        narrower=NARROWER,
        table=scoreboard(results, scale, ON_PAGE),
        claims=shown,
    )
    write_text(out / REPORT, page)
    return out / REPORT


def _shown(one: ClaimResult, scale: Scale, charts: dict[str, Chart]) -> dict[str, Any]:
    """Return a claim as the template shows it; its curves are added to ``charts``."""
    claim, evidence = one.claim, one.evidence
    shown: dict[str, Any] = {"claim": claim, "result": one, "outcome": outcome_of(one)}
    if one.not_run is None:
        shown["overrides"] = {
            system: [*claim.overrides(system, scale.tier), *scale.changes]
            for system in claim.systems
        }
    if evidence is None or one.means is None:
        return shown
    lines = claim_lines(evidence, claim, "container")
    if len({each["place"] for each in lines.points}) > 1:
        shown["curve"] = claim.name.replace(".", "_")
        charts[shown["curve"]] = draw_lines(lines, "container")
    rates = {
        name: run.result.config["optimizer"]["lr"] for name, (run, *_) in evidence.runs.items()
    }
    means = dict(zip(claim.measure.systems, map(float, one.means), strict=True))
    comparison = compare_with_published(claim, evidence)
    return shown | {"rates": rates, "means": means, "comparison": comparison}


def publish_scoreboard(
    results: Sequence[ClaimResult], scale: Scale, out: Path, logger: DictConfig
) -> None:
    """Log the scoreboard in ``out`` as a W&B run, and save a W&B report of it.

    Raises ``UserError`` if W&B fails, unless ``logger.mode`` is ``auto``.
    """
    from lightning_modules.tracking.wandb_report import ReportSection, WandbPage, publish_page

    about, table = summary(results, scale), scoreboard(results, scale)
    picture = out / FIGURES / f"{FOREST}.png"
    pictures = {FOREST: picture} if picture.is_file() else {}
    verdicts = {one.claim.name: outcome_of(one) for one in results}
    page = WandbPage(
        job_type="compare",
        name=f"claims at {scale.tier} scale",
        config={"folder": str(out), "tier": scale.tier, "verdicts": verdicts},
        summary={
            name: value
            for one in results
            if (estimate := effect_of(one.verdict)) is not None
            for name, value in with_interval(f"claim/{one.claim.name}", estimate).items()
        },
        pictures=pictures,
        tables={NAME: (table.fields, table.values)},
        page=(out / REPORT).read_text(encoding="utf-8"),
        notes=about,
        title=f"{TITLE}: {scale.tier}",
        description=about,
        sections=[
            ReportSection("Summary", [about], [], []),
            ReportSection("Effects", [], [*pictures], []),
            ReportSection("Claims", [], [], [NAME]),
        ],
    )
    publish_page(page, out, logger, again="the same command")
