"""Commands on pages: their overrides compose, and leave no setting without a value."""

import re
import shlex
from collections.abc import Iterator

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import open_dict

from datamodules.errors import UserError
from lightning_modules.runs.paths import CONF
from lightning_modules.runs.setting_checks import check_settings
from run import config_name
from sweeps.launch.compose import training_config, use_hydra_config
from sweeps.launch.errors import as_user_error
from sweeps.launch.jobs import check_missing
from tests.helpers.commands import BLOCK, ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("[hrte]*/*.md"))]
OWN = re.compile(r"\bmy_|\+experiment=| --\w|report\.sections|tests\.tools")
"""Files and classes of the reader, and flags of Hydra, which other tests try."""


def commands(text: str) -> Iterator[str]:
    """Yield the arguments of each command of ``run.py`` in the blocks of a page."""
    for language, block in BLOCK.findall(text):
        for line in block.replace("\\\n", " ").splitlines() if language == "sh" else ():
            if given := re.search(r"run\.py ([^|]*)", line):
                yield given[1]


def first(override: Override) -> str:
    """Return an override with the first of its values."""
    if not override.is_sweep_override():
        return str(override.input_line)
    return f"{override.key_or_group}={next(override.sweep_string_iterator())}"


def faults(arguments: str) -> Iterator[str]:
    """Yield why a command would end before it reads a file."""
    kept = [each for each in shlex.split(arguments, comments=True) if each != "-m"]
    overrides = [first(each) for each in OverridesParser.create().parse_overrides(kept)]
    try:
        with initialize_config_dir(str(CONF), version_base="1.3"):
            config = compose(config_name(overrides), overrides, return_hydra_config=True)
        with open_dict(config):
            config.hydra.runtime.output_dir = str(ROOT)
        with use_hydra_config(config):
            check_settings(config, overrides)
            check_missing(training_config(config))
    except (HydraException, UserError) as error:
        yield f"{arguments}: {as_user_error(error)}"


@pytest.mark.long
def test_the_commands_of_pages_compose():
    given = [line for page in PAGES for line in commands(page.read_text(encoding="utf-8"))]
    chosen = dict.fromkeys(line for line in given if not OWN.search(line))
    assert len(chosen) > 50
    assert [fault for line in chosen for fault in faults(line)] == []
