"""A look at a corpus as a W&B run: numbers, tables and figures."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from lightning_modules.runs.schema import Data
from lightning_modules.tracking.comparison_run import (
    PATIENCE_SECONDS,
    PlainTable,
    log_pictures,
    log_tables,
    start_tracker,
)
from lightning_modules.tracking.names import data_values

JOB_TYPE = "data"


def track_data(
    data: Data,
    config: Mapping[str, Any],
    pictures: Mapping[str, Path],
    tables: Mapping[str, PlainTable],
    out: Path,
    logger: DictConfig,
) -> None:
    """Log a corpus into a run of its own.

    Args:
        data: the corpus.
        config: configuration of the run.
        pictures: files of figures, by name.
        tables: tables, by name.
        out: the output folder, which keeps the id of the run.
        logger: the group ``logger`` of the configuration.
    """
    name = f"{data.name}-{data.fingerprint}"
    tracker = start_tracker(JOB_TYPE, name, out, logger, tags=[JOB_TYPE])
    tracker.describe(config)
    tracker.send(lambda run: run.summary.update(data_values(data)))
    tracker.send(partial(log_pictures, pictures=pictures, of=name))
    tracker.send(partial(log_tables, tables=tables), PATIENCE_SECONDS)
    tracker.close()
