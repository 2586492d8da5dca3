"""Files that a command names: refused before any work, in words."""

import os

import pytest

from datamodules.errors import UserError
from datamodules.files import check_outputs, what_is


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "text").write_text("a\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("text")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "nowhere").symlink_to("missing")
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("folder", "is a folder"),
        ("missing", "does not exist"),
        ("nowhere", "is a link to nothing"),
        ("loop", "cannot be opened (Too many levels of symbolic links)"),
        ("pipe", "is a pipe"),
        ("/dev/null", "is a device"),
    ],
)
def test_what_is_no_file_is_named(here, name, words):
    assert what_is(here / name) == words


@pytest.mark.parametrize("name", ["text", "./text", "folder/../text", "link", "{here}/text"])
def test_an_input_is_never_replaced(here, name):
    output = name.format(here=here)
    with pytest.raises(UserError, match=r"output=.*: is also input=text; give two different files"):
        check_outputs({"output": output}, {"input": "text"})
    with pytest.raises(UserError, match=r"alignments=.*: is also output=text"):
        check_outputs({"output": "text", "alignments": output}, {"input": "-"})


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ({"output": "-", "alignments": "-"}, "alignments=-: is also output=-"),
        ({"output": "folder"}, "output=folder: is a folder; give a file"),
        ({"output": "missing/x/out"}, "missing/x does not exist; make it, or correct the path"),
        ({"output": "text/out"}, "text is a file; make it"),
    ],
)
def test_outputs_that_cannot_be_written_are_refused(here, outputs, message):
    with pytest.raises(UserError) as caught:
        check_outputs(outputs, {"input": "-"})
    assert message in str(caught.value)
    assert not (here / "missing").exists()


def test_what_can_be_written_passes(here):
    check_outputs({"output": "new", "alignments": None, "soft": "-"}, {"input": "text"})
    check_outputs({"output": "-"}, {"input": "-"})
