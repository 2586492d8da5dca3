"""Replacing passwords in addresses, ``scheme://user:password@host`` or ``?password=``."""

import logging
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from datamodules.files import write_text
from lightning_modules.runs.paths import MULTIRUN

PASSWORD = re.compile(
    r"(?P<user>://[^\s:/@\\]*\\?:)[^\s'\"]+(?=@)"  # Hydra puts backslashes before colons
    r"|(?P<query>[?&](?:password|passwd|pwd)=)[^\s'\"&,\]}]+",
    re.IGNORECASE,
)


def redacted(value: Any) -> Any:
    """Return a text, or nested lists and dictionaries of texts, with ``***`` for each password."""
    if isinstance(value, str):
        return PASSWORD.sub(lambda match: f"{match['user'] or match['query']}***", value)
    if isinstance(value, dict):
        return {redacted(key): redacted(part) for key, part in value.items()}
    return [redacted(part) for part in value] if isinstance(value, list) else value


def redact_files(files: Iterable[Path]) -> None:
    """Replace the passwords in files that Hydra wrote."""
    for file in files:
        text = file.read_text(encoding="utf-8")
        if PASSWORD.search(text):
            write_text(file, redacted(text))


def redact_multirun(folder: Path) -> None:
    """Replace the passwords in what Hydra wrote about a finished multirun.

    submitit pickles the whole configuration for each job; after the multirun no process reads it.
    """
    redact_files(folder.glob(MULTIRUN))
    for pickle in folder.glob(".submitit/*/*.pkl"):
        pickle.unlink(missing_ok=True)


class Redacting(logging.Formatter):
    """Format log records, tracebacks included, without passwords."""

    def format(self, record: logging.LogRecord) -> str:
        """Redact the whole record."""
        return str(redacted(super().format(record)))
