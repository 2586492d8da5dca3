"""Where a comparison or an evaluation comes from: its command, question and date."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from lightning_modules.runs.reader import read_report_url
from lightning_modules.runs.redaction import redacted
from lightning_modules.runs.schema import MULTIRUN, RESULT

OVERRIDES = (MULTIRUN, ".hydra/hydra.yaml")
"""Files of Hydra with the overrides of a command, of a multirun first."""
SETTINGS = (MULTIRUN, ".hydra/config.yaml")
"""Files of Hydra with the configuration of the command."""


@dataclass(frozen=True)
class Origin:
    """What is known of the making of a comparison beside its runs."""

    title: str | None = None
    """``about.title`` of the configuration."""
    question: str | None = None
    papers: Sequence[str] = ()
    """Addresses of the papers that the question comes from."""
    command: str | None = None
    date: str | None = None
    """Day on which the last run ended, or the evaluation was made: ``2026-01-31``."""
    folder: Path | None = None

    @property
    def wandb(self) -> str | None:
        """Address of the report in W&B; None where no server has it, or not yet."""
        return read_report_url(self.folder) if self.folder is not None else None


def origin_of(out: Path, runs: Iterable[Path] = ()) -> Origin:
    """Return what the folder ``out`` of a comparison and the folders of its runs know."""
    settings = _kept(out, SETTINGS) or {}
    about = settings.get("about") or {}
    return Origin(
        title=about.get("title"),
        question=about.get("question"),
        papers=tuple(about.get("papers") or ()),
        command=command_of(out),
        date=_date([folder / RESULT for folder in runs] or [out]),
        folder=out,
    )


def command_of(out: Path) -> str | None:
    """Return the command behind the folder ``out``, without passwords; None if Hydra kept none."""
    content = _kept(out, OVERRIDES) or {}
    overrides = (content.get("hydra") or {}).get("overrides")
    if overrides is None:
        return None
    multirun = ["-m"] if "hydra.mode=MULTIRUN" in overrides["hydra"] else []
    return f"python run.py {shlex.join([*multirun, *redacted(overrides['task'])])}"


def _kept(out: Path, names: Iterable[str]) -> dict[str, Any] | None:
    """Return the content of the first of Hydra's files that is there."""
    kept = next((out / name for name in names if (out / name).is_file()), None)
    if kept is None:
        return None
    content: Any = OmegaConf.to_container(OmegaConf.load(kept))
    return dict(content)


def _date(files: Iterable[Path]) -> str | None:
    times = [file.stat().st_mtime for file in files if file.exists()]
    return datetime.fromtimestamp(max(times), UTC).date().isoformat() if times else None
