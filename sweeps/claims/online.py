"""The scoreboard in Weights & Biases: a run with effects and verdicts, and a report."""

from collections.abc import Sequence
from pathlib import Path

from omegaconf import DictConfig

from lightning_modules.runs.paths import FIGURES, REPORT
from lightning_modules.tracking.names import with_interval
from lightning_modules.tracking.wandb_report import ReportSection, WandbPage, publish_page
from sweeps.claims.judging import ClaimResult
from sweeps.claims.scoreboard import NAME, TITLE, Scale, effect_of, outcome_of, scoreboard, summary
from sweeps.claims.scoreboard_page import FOREST
from sweeps.report.wandb_comparison import table_data


def publish_claims(
    results: Sequence[ClaimResult], scale: Scale, out: Path, logger: DictConfig
) -> None:
    """Log the scoreboard in ``out`` as a W&B run, and save a W&B report of it.

    Raises ``UserError`` if W&B fails, unless ``logger.mode`` is ``auto``.
    """
    about = summary(results, scale)
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
        tables={NAME: table_data(scoreboard(results, scale))},
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
