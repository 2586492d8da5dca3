"""The page of a run, written after the run and given to the tracker; a page that fails costs no
run."""

import io
import logging
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from omegaconf import OmegaConf
from PIL import Image

from lightning_modules.tracking.run_page import (
    PagePicture,
    RunPage,
    check_run_page,
    publish_run_page,
)
from tests.helpers.refusals import refused


def picture() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (4, 4)).save(file, "png")
    return file.getvalue()


DRAWN = {"bleu_by_length": PagePicture(picture(), "as drawn")}


def made(config, folder):
    (folder / "report.html").write_text("a page")
    return RunPage("a page", lambda: DRAWN)


def broken(*_):
    raise RuntimeError("no ink\nat all")


def asked_for(page):
    return OmegaConf.create({"report": {"run_page": page}})


class Taker:
    """A tracker that keeps what it gets."""

    def log_page(self, page):
        self.html, self.pictures = page.html, page.draw()


def test_the_tracker_gets_the_page_and_the_terminal_its_path(tmp_path, caplog):
    taker: Any = Taker()
    with caplog.at_level(logging.INFO):
        publish_run_page(asked_for(f"{__name__}.made"), tmp_path, taker)
    assert (taker.html, taker.pictures) == ("a page", DRAWN)
    assert caplog.messages == [f"open {tmp_path}/report.html in a browser"]


def test_a_page_that_fails_costs_a_warning_and_no_run(tmp_path, caplog):
    with caplog.at_level(logging.INFO):
        publish_run_page(asked_for(f"{__name__}.broken"), tmp_path)
    [line] = caplog.messages
    again = f"python run.py task=report runs={tmp_path}"
    assert line == f"no report.html: no ink at all; once that is mended: {again}"


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({}, None),
        ({"run_page": "no.such.page"}, "report.run_page=no.such.page: cannot be imported"),
        ({"run_sections": {"mine": "no.Section"}}, "report.run_sections.mine=no.Section: cannot"),
        ({"run_page": None, "run_sections": {"mine": "no.Section"}}, None),
    ],
)
def test_a_page_that_cannot_be_found_is_refused_before_a_training(changed, word):
    report = {"run_page": f"{__name__}.made", "run_sections": {}} | changed
    config = OmegaConf.create({"report": report})
    with refused(word) if word else nullcontext():
        check_run_page(config, ["+report.run_sections.mine=no.Section"])
    check_run_page(config, ["seed=1"])  # finds nothing wrong, and imports nothing


def test_a_run_without_a_page_was_asked_for_none(tmp_path, caplog):
    publish_run_page(asked_for(None), tmp_path)
    assert caplog.messages == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("disabled", [False, True])
def test_wandb_gets_page_and_pictures_where_it_keeps_anything(
    disabled, tmp_path, monkeypatch, caplog
):
    import wandb

    from lightning_modules.tracking.wandb_logger import FailsafeWandbLogger

    logged: list[dict[str, Any]] = []
    calls = dict.fromkeys(("define_metric", "finish"), lambda *_, **__: None)
    run = SimpleNamespace(id="run-1", disabled=disabled, log=logged.append, **calls)
    monkeypatch.setattr(wandb, "init", lambda **_: run)
    monkeypatch.setattr(wandb, "setup", lambda **_: None)
    labels: Any = {"project": "p", "name": "n", "group": "g", "job_type": "train", "tags": []}
    limits: Any = {"mode": "disabled", "artifacts": False, "finish_seconds": 4}
    logger = FailsafeWandbLogger(save_dir=str(tmp_path), folder=str(tmp_path), **labels, **limits)
    logger.log_page(RunPage("<p>a page</p>", lambda: DRAWN))
    logger.close()
    assert [set(each) for each in logged] == [{"report", "figures/bleu_by_length"}] * (not disabled)
    assert "W&B stopped" not in caplog.text
