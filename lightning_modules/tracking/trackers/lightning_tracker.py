"""Any Lightning logger as a tracker: TensorBoard's, the CSV file's, a user's own."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from pytorch_lightning.loggers import Logger
from typing_extensions import override

from lightning_modules.runs.schema import Data, SentenceAttention
from lightning_modules.tracking.trackers.tracker import LengthPoint, Tracker


class LightningTracker(Tracker):
    """Gives a Lightning logger what the interface of Lightning's loggers can take.

    Pictures go to a logger whose ``experiment`` has ``add_image``, as TensorBoard's has.

    Args:
        logger: the logger, which the trainer uses too.
    """

    def __init__(self, logger: Logger) -> None:
        self.logger = logger

    @property
    @override
    def takes_pictures(self) -> bool:
        return hasattr(getattr(self.logger, "experiment", None), "add_image")

    @override
    def describe(self, entries: Mapping[str, Any]) -> None:
        self.logger.log_hyperparams(dict(entries))

    @override
    def label(self, tags: Sequence[str], notes: str) -> None:
        """Leave the labels out: the configuration has the comparison and the command too."""

    @override
    def log_scores(self, scores: Mapping[str, float | str], step: int) -> None:
        numbers = {name: value for name, value in scores.items() if not isinstance(value, str)}
        self.logger.log_metrics(numbers, step)

    @override
    def log_curve(self, curve: Sequence[LengthPoint]) -> None:
        """Log a row for each point, whose step is the length."""
        for point in curve:
            self.logger.log_metrics(point.row, point.length)

    @override
    def log_attention(self, key: str, sentence: SentenceAttention, step: int | None = None) -> None:
        if self.takes_pictures:
            from lightning_modules.figures.heat_map import attention_picture  # slow to import

            with attention_picture(sentence) as file, Image.open(file) as picture:
                pixels = np.asarray(picture.convert("RGB"))
            experiment: Any = self.logger.experiment  # type: ignore[attr-defined]
            experiment.add_image(key, pixels, step, dataformats="HWC")

    @override
    def log_table(self, key: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Leave the table out: Lightning's loggers have no common call for one."""

    @override
    def log_files(self, folder: Path, data: Data) -> None:
        """Leave the files where they are."""

    @override
    def close(self, error: BaseException | None = None) -> None:
        self.logger.finalize("success" if error is None else "failed")
