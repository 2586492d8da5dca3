"""The names of all files and folders that a run, a comparison or a study leaves.

The files, not the tracker, are the source of truth: each is written whole or not at all.
"""

from pathlib import Path

from datamodules.errors import UserError
from datamodules.files import what_is

ROOT = Path(__file__).parents[2]
CONF = ROOT / "conf"

# A run: ``outputs/runs/VARIANT-SEED-DIGITS``, or a numbered folder of a comparison.
HYDRA = ".hydra"  # folder of the files that Hydra writes: configuration and overrides
RESULT = "result.json"
RESULT_DIGEST = f"{RESULT}.sha256"
FAILURE = "failure.json"
CURVE = "bleu_by_length.csv"
STATISTICS = "statistics.npz"
ATTENTION = "attention.npz"
HEAD_ATTENTION = "head_attention.npz"
PREDICTIONS = "predictions.jsonl"
WORD_COUNTS = "word_counts.json"
CONTRAST = "contrast.npz"
HISTORY = "history.csv"
LEARNING_CURVE = "learning_curve.csv"
ATTENTION_HISTORY = "attention_history.npz"
PROGRESS = "progress.json"
LOCK = ".lock"  # empty file that the process at work in the folder holds
CHECKPOINTS = "checkpoints"
"""Folder of the best checkpoint, the last one, and that of a training that diverged."""
BEST = "best.ckpt"
LAST = "last.ckpt"
EARLIER = "earlier_"
"""Beginning of the names of checkpoints as they were before the last validation of a budget."""
AVERAGED = "update-{step:09d}"  # stem of a checkpoint whose weights are averaged, by its update
NOT_FINITE = "not_finite.ckpt"
TOKENIZERS = "tokenizers"  # folder of the vocabularies
TRACKER_ID = "wandb_id"  # file with the id of the W&B run, for a resumed training
LOGS = "logs"  # folder for the files of loggers, to which a resumed training adds
REPRODUCTION = "reproduction.json"
REPORT = "report.html"  # the page of a run, a comparison, a scoreboard or a study

# A comparison: ``outputs/comparisons/NAME-DIGITS``.
COMPARISON = "comparison.json"
MULTIRUN = "multirun.yaml"  # file that Hydra writes before the jobs of a comparison
TABLES = "tables"
FIGURES = "figures"
STUDIES = "studies"
TRACKER_REPORT = "wandb_report.json"
"""File with the id and the address of the W&B report of a comparison that a server has."""

TEST_FILES = (
    RESULT,
    RESULT_DIGEST,
    FAILURE,
    CURVE,
    STATISTICS,
    ATTENTION,
    HEAD_ATTENTION,
    PREDICTIONS,
    WORD_COUNTS,
    CONTRAST,
    REPORT,
)
TRAINING_FILES = (HISTORY, LEARNING_CURVE, ATTENTION_HISTORY, TRACKER_ID, LOGS)
"""Files and folders that a resumed training needs, besides checkpoints."""
RUN_FILES = (*TEST_FILES, *TRAINING_FILES)  # all files of a run, besides checkpoints
READ_LATER = (
    f"{CHECKPOINTS}/{BEST}",
    f"{TOKENIZERS}/*",
    f"{HYDRA}/*.yaml",
    CURVE,
    HISTORY,
    LEARNING_CURVE,
    ATTENTION_HISTORY,
    STATISTICS,
    ATTENTION,
    HEAD_ATTENTION,
    PREDICTIONS,
    WORD_COUNTS,
    CONTRAST,
)
"""Files of a run that tasks read and whose digests its record has, as patterns."""


def checkpoint_file(path: str | Path, setting: str = "checkpoint") -> Path:
    """Return the best checkpoint of a run folder, or the checkpoint file that is named itself.

    Raises ``UserError`` for a missing file, which names the ``setting`` with the path.
    """
    path = Path(path)
    file = path / CHECKPOINTS / BEST if path.is_dir() else path
    if not file.is_file():
        raise UserError(
            f"{setting}={path}: {file} {what_is(file)}; give the folder of a finished run"
        )
    return file


def last_file(run: str | Path) -> Path:
    """Return the checkpoint from which a run continues. Raises ``UserError`` for a missing file."""
    file = Path(run) / CHECKPOINTS / LAST
    if not file.is_file():
        raise UserError(
            f"continue={run}: {file} {what_is(file)}; give the folder of a run with its checkpoints"
        )
    return file


def unfinished(checkpoint: str | Path) -> UserError:
    """Return the error of a test whose run has no result."""
    return UserError(
        f"checkpoint={checkpoint}: its training has not ended; give the training command "
        "again, which ends and tests it"
    )
