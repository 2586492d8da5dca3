"""Any Lightning logger (TensorBoard, CSV, your own), and what describes a run to it.

The logger of the configuration is made here and closed with the training.
"""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hydra.utils
import numpy as np
from omegaconf import DictConfig
from pytorch_lightning.loggers import CSVLogger, Logger
from pytorch_lightning.loggers.csv_logs import ExperimentWriter

from datamodules.errors import UserError, one_line
from datamodules.plugs import find_plug
from lightning_modules.ranks.devices import is_rank_zero
from lightning_modules.runs.job import Job, command
from lightning_modules.runs.paths import MULTIRUN
from lightning_modules.runs.provenance import environment, git_commit
from lightning_modules.runs.schema import Data, SentenceAttention
from lightning_modules.tracking.names import LENGTH, tag_of, tracked_system
from lightning_modules.tracking.run_page import RunPage
from lightning_modules.training.module import TranslationModule
from lightning_modules.variants import count_parameters


class Tracker:
    """Gives a Lightning logger the results of one run, as far as the logger can take them.

    Pictures go to a logger whose ``experiment`` has ``add_image``, as TensorBoard's has. The logger
    of W&B is a tracker itself, and takes everything.
    """

    def __init__(self, logger: Logger | None = None) -> None:
        self.logger: Any = self if logger is None else logger

    @property
    def takes_pictures(self) -> bool:
        """Whether ``log_attention`` keeps a picture."""
        return hasattr(getattr(self.logger, "experiment", None), "add_image")

    def label(self, tags: Sequence[str], notes: str | None) -> None:
        """Add tags and a note to a run of W&B; others have neither."""

    def log_scores(self, scores: Mapping[str, float | str], step: int) -> None:
        """Log the numbers and words that sum up the run; ``step`` is its number of updates."""
        numbers = {name: value for name, value in scores.items() if not isinstance(value, str)}
        self.logger.log_metrics(numbers, step)

    def log_curve(self, rows: Sequence[Mapping[str, float]]) -> None:
        """Log BLEU against sentence length: a row for each bucket, whose step is the length."""
        for row in rows:
            self.logger.log_metrics(dict(row), int(row[LENGTH]))

    def log_attention(self, key: str, sentence: SentenceAttention, step: int | None = None) -> None:
        """Log the heat map of a sentence as a picture."""
        if self.takes_pictures:
            from lightning_modules.figures.heat_map import attention_picture  # slow to import

            pixels = np.asarray(attention_picture(sentence))
            self.logger.experiment.add_image(key, pixels, step, dataformats="HWC")

    def log_rows(self, key: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Log a table; an array in a cell holds attention weights. W&B's logger alone takes one."""

    def log_files(self, folder: Path, data: Data) -> None:
        """Keep the best checkpoint, the tokenizers and the predictions in ``folder``, if wanted.

        ``data`` is the corpus that the model was trained on. W&B's logger alone takes files.
        """

    def log_page(self, page: RunPage) -> None:
        """Log the page of the run, and its figures. W&B's logger alone takes them."""

    def close(self, error: BaseException | None = None) -> None:
        """Write what is left, and end the run, as failed after an ``error``."""
        self.logger.finalize("success" if error is None else "failed")


class ContinuedCSVLogger(CSVLogger):
    """Writes ``metrics.csv`` and ``hparams.yaml`` into ``save_dir``/``version``.

    Lightning's logger removes the file that it finds; this logger keeps the rows, so that a resumed
    training continues its file. ``options`` are further arguments of Lightning's logger.
    """

    def __init__(self, save_dir: str, version: str, **options: Any) -> None:
        super().__init__(save_dir, name=None, version=version, **options)
        file = Path(self.log_dir, ExperimentWriter.NAME_METRICS_FILE)
        if file.is_file():
            with file.open(newline="", encoding="utf-8") as text:
                self.experiment.metrics += list(csv.DictReader(text))
            self.save()


@contextmanager
def track_training(
    config: DictConfig, job: Job, describe: Callable[[], dict[str, Any]]
) -> Iterator[tuple[Logger | None, Tracker | None]]:
    """Make the logger of a training, and close it with the context, as failed after an error.

    Yields the logger for the trainer, and the tracker that takes all else; None and None with
    ``logger=none`` and on ranks other than the first. ``describe`` returns entries for the
    configuration of the run; the run of a ``job`` in a comparison gets the comparison's tag. Raises
    ``UserError`` for a logger that cannot be made.
    """
    if not config.logger or not is_rank_zero():
        yield None, None
        return
    logger = make_logger(config.logger)
    tracker = logger if isinstance(logger, Tracker) else Tracker(logger)
    try:
        logger.log_hyperparams(describe())
        comparison = comparison_of(job.folder)
        tracker.label([tag_of(comparison)] if comparison else [], command_of(job))
        yield logger, tracker
    except BaseException as error:
        tracker.close(error)
        raise
    tracker.close()


def make_logger(node: DictConfig) -> Logger:
    """Make the logger that the group ``logger`` of the configuration names.

    Raises ``UserError`` for a class that is not a Lightning logger, and for whatever its
    constructor raises, such as a missing package.
    """
    name = str(node._target_)
    kind = find_plug("logger._target_", name, {}, Logger)
    given = {key: value for key, value in node.items() if key != "_target_"}
    try:
        return kind(**hydra.utils.instantiate(given, _convert_="all"))
    except UserError:
        raise
    except Exception as error:  # a user's class and a server may raise anything
        fix = "correct logger.KEY=VALUE, or begin with logger=lightning, which gives no arguments"
        if isinstance(error, ModuleNotFoundError):
            fix = "install the package, or give logger=none"
        raise UserError(f"logger._target_={name}: {one_line(error)}; {fix}") from error


def tracker_config(module: TranslationModule, job: Job, config: DictConfig) -> dict[str, Any]:
    """Return the configuration of a training with entries for the tracker's tables."""
    return {
        **module.hparams_initial,
        "model_name": job.model_name,
        "system": tracked_system(config.variant, job.overrides, {"label": config.label}),
        "parameters": count_parameters(module.model),
        "comparison": comparison_of(job.folder),
        "command": command_of(job),
        "folder": str(job.folder),
        "git_commit": git_commit(),
        "environment": environment(),
    }


def comparison_of(folder: Path) -> str | None:
    """Return the name of the comparison that a training belongs to, with its id; None if alone."""
    inside = (parent for parent in folder.absolute().parents if (parent / MULTIRUN).is_file())
    comparison = next(inside, None)
    return None if comparison is None else comparison.name


def command_of(job: Job) -> str:
    """Return the command that repeats one training."""
    return command(*job.overrides)
