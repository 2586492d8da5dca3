"""Files of configuration that an installed package offers."""

import pytest
from hydra import compose, initialize_config_dir
from hydra.errors import MissingConfigException

from sweeps.launch.resolvers import ENTRY_POINTS, register
from tests.helpers.variants import CONF


def composed(*overrides):
    register()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("config", list(overrides))


def test_a_package_offers_its_files_by_an_entry_point(tmp_path, monkeypatch):
    folder = tmp_path / "my_package" / "conf"
    (folder / "model").mkdir(parents=True)
    for package in (folder, folder.parent):
        (package / "__init__.py").touch()
    (folder / "model" / "mine.yaml").write_text("defaults: [bahdanau]\ncell: my_package.Cell\n")
    about = tmp_path / "my_package-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[{ENTRY_POINTS}]\nmine = my_package.conf\n")
    with pytest.raises(MissingConfigException):
        composed("model=mine")
    monkeypatch.syspath_prepend(tmp_path)
    assert composed("model=mine").model.cell == "my_package.Cell"
