"""How a training ends when it is told to."""

from collections.abc import Iterator
from contextlib import contextmanager

from pytorch_lightning.utilities.exceptions import SIGTERMException

from datamodules.errors import TerminatedError


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Turn what Lightning raises on SIGTERM and Ctrl-C into what the program ends with."""
    try:
        yield
    except SIGTERMException:
        raise TerminatedError from None
    except SystemExit:  # how Lightning answers Ctrl-C
        raise KeyboardInterrupt from None
