"""Passwords in addresses, ``scheme://user:password@host`` or ``?password=``, are never written."""

import logging
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig

from datamodules.files import write_text

PASSWORD = re.compile(
    r"(?P<user>://[^\s:/@\\]*\\?:)[^\s'\"]+(?=@)"  # Hydra puts backslashes before colons
    r"|(?P<query>[?&](?:password|passwd|pwd)=)[^\s'\"&,\]}]+",
    re.IGNORECASE,
)


def redacted(value: Any) -> Any:
    """The same text, or nested lists and dictionaries of it, with ``***`` for each password."""
    if isinstance(value, str):
        return PASSWORD.sub(lambda found: f"{found['user'] or found['query']}***", value)
    if isinstance(value, dict):
        return {redacted(key): redacted(part) for key, part in value.items()}
    return [redacted(part) for part in value] if isinstance(value, list) else value


def job_overrides() -> list[str]:
    """What the command line says of this job, as it may be written down."""
    told: list[str] = redacted(list(HydraConfig.get().overrides.task))
    return told


def redact_files(files: Iterable[Path]) -> None:
    """Take passwords out of files that Hydra wrote."""
    for file in files:
        text = file.read_text(encoding="utf-8")
        if PASSWORD.search(text):
            write_text(file, redacted(text))


def redact_multirun(folder: Path) -> None:
    """Take passwords out of what Hydra wrote about a multirun that is over.

    submitit pickles the whole configuration for each job; nothing reads it any more.
    """
    redact_files(folder.glob("multirun.yaml"))
    for pickle in folder.glob(".submitit/*/*.pkl"):
        pickle.unlink(missing_ok=True)


class Redacting(logging.Formatter):
    """What is logged, tracebacks included, without passwords."""

    def format(self, record: logging.LogRecord) -> str:
        """Redact the whole."""
        return str(redacted(super().format(record)))
