"""Hydra at work on ``conf``, as in a command."""

import pytest
from hydra import initialize_config_dir

from lightning_modules.runs.paths import CONF


@pytest.fixture(scope="module")
def hydra_of_conf():
    with initialize_config_dir(str(CONF), version_base="1.3"):
        yield
