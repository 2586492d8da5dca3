"""The scoreboard in Weights & Biases: a run with effects and verdicts, and a report."""

from collections.abc import Sequence
from pathlib import Path

from omegaconf import DictConfig

from lightning_modules.runs.files import read_tracker_id
from lightning_modules.runs.paths import FIGURES, REPORT
from lightning_modules.tracking.comparison_run import ComparisonData
from lightning_modules.tracking.names import with_interval
from lightning_modules.tracking.report_blocks import Lines, Pictures, Tables
from sweeps.claims.judging import ClaimResult
from sweeps.claims.scoreboard import NAME, TITLE, Scale, effect_of, outcome_of, scoreboard, summary
from sweeps.claims.scoreboard_page import FOREST
from sweeps.report.wandb_form import as_plain, save_online


def publish_claims(
    judged: Sequence[ClaimResult], scale: Scale, out: Path, logger: DictConfig
) -> None:
    """Log the scoreboard in ``out`` as a W&B run, and save a W&B report of it.

    Raises ``UserError`` if W&B fails, unless ``logger.mode`` is ``auto``.
    """
    picture = out / FIGURES / f"{FOREST}.png"
    pictures = {FOREST: picture} if picture.is_file() else {}
    data = ComparisonData(
        name=f"claims at {scale.tier} scale",
        config={
            "folder": str(out),
            "tier": scale.tier,
            "verdicts": {one.claim.name: outcome_of(one) for one in judged},
        },
        notes=summary(judged, scale),
        summary={
            name: value
            for one in judged
            if (estimate := effect_of(one.verdict)) is not None
            for name, value in with_interval(f"claim/{one.claim.name}", estimate).items()
        },
        axis="",
        lines=[],
        pictures=pictures,
        tables={NAME: as_plain(scoreboard(judged, scale))},
        page=(out / REPORT).read_text(encoding="utf-8"),
    )
    save_online(
        title=f"{TITLE}: {scale.tier}",
        description=summary(judged, scale),
        data=data,
        sections=[
            ("Summary", [Lines([summary(judged, scale)])]),
            ("Effects", [Pictures([*pictures])]),
            ("Claims", [Tables([NAME])]),
        ],
        runs=_run_ids(judged),
        again="the same command",
        out=out,
        logger=logger,
    )


def _run_ids(judged: Sequence[ClaimResult]) -> list[str]:
    """Return the W&B ids of all runs behind the verdicts, each once."""
    folders = [
        run.output.folder
        for one in judged
        if one.evidence is not None
        for of_system in one.evidence.runs.values()
        for run in of_system
    ]
    ids = [read_tracker_id(folder) for folder in dict.fromkeys(folders) if folder is not None]
    return [each for each in ids if each is not None]
