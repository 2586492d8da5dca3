"""``make docs``: the site of the pages."""

import pytest

from tests.helpers.commands import ROOT


@pytest.mark.long
def test_the_site_is_built_without_a_warning(tmp_path):
    build = pytest.importorskip("sphinx.cmd.build", reason="pip install '.[docs]' was not done")
    for package in ("myst_parser", "furo", "sphinx_copybutton"):
        pytest.importorskip(package, reason="pip install '.[docs]' was not done")
    options = ["--fail-on-warning", "--keep-going", "--quiet", "-d", str(tmp_path / "trees")]
    assert build.main([*options, str(ROOT / "docs"), str(tmp_path / "site")]) == 0
    front = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    for page in ("how_to/extend/README.html", "findings/quickstart.html", "project/changelog.html"):
        assert f'href="{page}"' in front  # in the contents beside the page
    assert (tmp_path / "site" / "searchindex.js").is_file()
