"""Hydra's settings of one job, read once by its task and passed down."""

from pathlib import Path
from typing import Any, NamedTuple

from hydra.types import RunMode

from lightning_modules.runs.redaction import redacted

QUIET = "ATTENTION_BENCH_QUIET"
"""Environment variable, set while a table shows the jobs: log lines would break the table."""


class Job(NamedTuple):
    """One job of Hydra."""

    folder: Path
    """The output folder."""
    overrides: list[str]
    """The overrides of the command line, without passwords."""
    model_name: str
    """The file of ``conf/model``."""
    in_multirun: bool
    """Whether other jobs of the same command run before, beside or after this one."""

    @classmethod
    def of(cls, hydra: Any) -> "Job":
        """Read the ``hydra`` node of a configuration, a ``HydraConf``."""
        return cls(
            folder=Path(hydra.runtime.output_dir),
            overrides=redacted(list(hydra.overrides.task)),
            model_name=hydra.runtime.choices["model"],
            in_multirun=hydra.mode == RunMode.MULTIRUN,
        )
