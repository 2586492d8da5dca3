"""Hydra at work on ``conf``, as in a command; pages without the figures for papers."""

import pytest
from hydra import initialize_config_dir

from lightning_modules.runs.paths import CONF


@pytest.fixture(scope="module")
def hydra_of_conf():
    with initialize_config_dir(str(CONF), version_base="1.3"):
        yield


@pytest.fixture
def no_pictures(monkeypatch):
    """Leave out the figures for papers: to draw them takes most of the time."""
    monkeypatch.setattr("sweeps.claims.scoreboard_page.save_figures", lambda *_: None)
