"""The page of a finished run: written by what ``report.run_page`` names, then tracked."""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hydra.utils import get_method
from omegaconf import DictConfig

from datamodules.errors import one_line
from datamodules.plugs import import_named
from lightning_modules.runs.job import command, quoted
from lightning_modules.runs.paths import REPORT
from lightning_modules.runs.settings import key_of

if TYPE_CHECKING:  # imports Lightning, and a page is also made without a training
    from lightning_modules.tracking.trackers import Tracker

log = logging.getLogger(__name__)


class PagePicture(NamedTuple):
    """A figure of a page."""

    png: bytes
    caption: str


class RunPage(NamedTuple):
    """What a tracker gets of the page of a run."""

    html: str
    draw: Callable[[], Mapping[str, PagePicture]]
    """Draws the figures that the tracker cannot draw itself of what it has been logged."""


def check_run_page(config: DictConfig, overrides: Sequence[str]) -> None:
    """Raise ``UserError``, before a training, for a page or section that cannot be found.

    They are looked for where ``overrides`` change the report: to import them takes a second.
    """
    report = config.report
    if report.run_page is None or not any(key_of(each).startswith("report") for each in overrides):
        return
    sections = {f"run_sections.{name}": path for name, path in report.run_sections.items()}
    for name, path in {"run_page": report.run_page, **sections}.items():
        import_named(f"report.{name}={path}", path, "give a dotted path")


def publish_run_page(config: DictConfig, folder: Path, tracker: "Tracker | None" = None) -> None:
    """Write ``report.html`` into the folder of a finished run, and give it to the tracker.

    The function that ``report.run_page`` names gets ``config`` and ``folder``. It imports what
    draws, so it is found only now. A page that fails costs a warning and no run, whose files are
    all there.
    """
    if config.report.run_page is None:
        return
    try:
        page: RunPage = get_method(config.report.run_page)(config, folder)
        if tracker is not None:
            tracker.log_page(page)
    except Exception as error:  # sections may be a user's
        again = command("task=report", f"runs={quoted(folder)}")
        log.warning("no %s: %s; once that is mended: %s", REPORT, one_line(error), again)
        log.debug("traceback", exc_info=error)
    else:
        log.info("open %s in a browser", folder / REPORT)
