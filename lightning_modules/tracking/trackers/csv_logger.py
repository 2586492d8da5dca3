"""Lightning's CSV logger, which goes on in the same file when a training is resumed."""

import csv
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers import CSVLogger
from pytorch_lightning.loggers.csv_logs import ExperimentWriter


class ContinuedCSVLogger(CSVLogger):
    """Writes ``metrics.csv`` and ``hparams.yaml`` into ``save_dir``/``version``.

    Lightning's logger removes the file that it finds; this logger keeps the rows.

    Args:
        save_dir: parent folder.
        version: name of the folder.
        options: further arguments of Lightning's logger.
    """

    def __init__(self, save_dir: str, version: str, **options: Any) -> None:
        super().__init__(save_dir, name=None, version=version, **options)
        file = Path(self.log_dir, ExperimentWriter.NAME_METRICS_FILE)
        if not file.is_file():
            return
        with file.open(newline="", encoding="utf-8") as text:
            earlier = list(csv.DictReader(text))
        self.experiment.metrics += earlier
        self.save()
