"""Build a comparison from run folders, into a folder of its own."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig
from rich.console import Console

from datamodules.errors import UserError
from datamodules.files import write_json, write_text
from lightning_modules.metrics.lengths import format_csv
from lightning_modules.run_folder import COMPARISON, SCORES, find_runs
from sweeps.comparison import Comparison, Variant, collect
from sweeps.figures import length_curve, save_figure
from sweeps.report import render_report
from sweeps.summary import print_comparison

REPORT = "report.html"
FIGURE = "bleu_by_length"


def compare(cfg: DictConfig) -> None:
    """Task: compare ``cfg.runs``, each a run folder or a folder of runs, into the output folder.

    Raises ``UserError`` when there is nothing to compare.
    """
    named = [cfg.runs] if isinstance(cfg.runs, str) else list(cfg.runs or [])
    if not named:
        raise UserError("nothing to compare: name run folders, like runs=[DIR,DIR]")
    runs: list[Path] = []
    for folder in map(Path, named):
        found = find_runs(folder)
        if not found:
            raise UserError(f"{folder} is no run and holds none: name the folder of a run or sweep")
        runs += found
    out = Path(HydraConfig.get().runtime.output_dir)
    print_comparison(build_comparison(runs, out, out.name), out / REPORT, Console())


def build_comparison(run_dirs: Sequence[Path], out: Path, name: str) -> Comparison:
    """Compare runs and write the comparison's files into ``out``, each whole or not at all.

    The files: ``comparison.json``, ``bleu_by_length.csv`` (every run, ``variant`` is its label),
    the curve as ``bleu_by_length.svg``, ``.png`` and ``.pdf``, and ``report.html``.

    Raises ``UserError`` that names the failures when no run finished.
    """
    comparison = collect(run_dirs, name)
    if not comparison.runs:
        jobs: dict[str, list[str]] = {}
        for job in comparison.failed:
            jobs.setdefault(job.error, []).append(job.label)
        causes = "; ".join(f"{error} ({', '.join(labels)})" for error, labels in jobs.items())
        raise UserError(f"no run finished, so there is nothing to compare: {causes}")
    rows = [(run.label, run.result.seed, score) for run in comparison.runs for score in run.buckets]
    write_text(out / SCORES, format_csv(rows))
    save_figure(length_curve(comparison), out / FIGURE)
    write_text(out / REPORT, render_report(comparison))
    write_json(out / COMPARISON, _as_json(comparison, out))
    return comparison


def _as_json(comparison: Comparison, out: Path) -> dict[str, Any]:
    return {
        "name": comparison.name,
        "variants": [_variant_as_json(variant, out) for variant in comparison.variants],
        "conditions": [asdict(condition) for condition in comparison.conditions],
        "failed": [
            {"label": job.label, "folder": _relative(job.folder, out), "error": job.error}
            for job in comparison.failed
        ],
    }


def _variant_as_json(variant: Variant, out: Path) -> dict[str, Any]:
    return {
        "label": variant.label,
        "bleu": asdict(variant.bleu),
        "aer_percent": asdict(variant.aer) if variant.aer else None,
        "bleu_by_length": [
            {
                "length_low": mean.bucket.length_low,
                "length_high": mean.bucket.length_high,
                "sentences": mean.bucket.sentences,
                "bleu": asdict(mean.bleu) if mean.bleu else None,
            }
            for mean in variant.buckets
        ],
        "runs": [
            {"folder": _relative(run.folder, out)} | run.result.model_dump() for run in variant.runs
        ],
    }


def _relative(folder: Path, out: Path) -> str:
    """Relative, so that a sweep's folder can be moved with its runs."""
    return os.path.relpath(folder, out)
