"""The log of the program, as lines of a W&B run."""

import logging
from collections.abc import Callable

from lightning_modules.runs.redaction import Redacting


class ConsoleLog(logging.Handler):
    """Gives every line that the program logs to ``write``, without passwords.

    Only the log is taken, not all that is printed: a progress bar redraws its line many times.
    """

    def __init__(self, write: Callable[[str], object]) -> None:
        super().__init__()
        self.write = write
        self.setFormatter(Redacting("%(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        self.write(self.format(record))

    def start(self) -> None:
        """Take the lines of all loggers from now on."""
        logging.getLogger().addHandler(self)

    def stop(self) -> None:
        """Take no more lines."""
        logging.getLogger().removeHandler(self)
