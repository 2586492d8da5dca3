"""Files written whole or not at all, places of files, cells of a spreadsheet."""

import errno
import math
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from datamodules.errors import UserError
from datamodules.files import (
    as_cell,
    check_outputs,
    is_locked,
    locked,
    remove_half_written,
    what_is,
    whole_file,
    write_json,
    write_text,
)
from lightning_modules.training.checkpoints import WholeCheckpoints
from sweeps.launch.errors import as_user_error


def full_disk(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/some/disk/file")


def test_an_interruption_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "deep" / "result.json"
    write_json(path, {"old": 1})

    def interrupted():
        with whole_file(path) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == '{\n  "old": 1\n}\n'
    assert list(path.parent.iterdir()) == [path]


def test_what_a_killed_process_left_half_written_is_removed(tmp_path):
    def killed(path):
        """Write half of ``path`` in a process that is killed, and return the temporary name."""
        process = os.fork()
        if process == 0:
            with whole_file(path) as temporary:
                temporary.write_text("half")
                os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(process, 0)
        return path.with_name(f".{path.stem}.{process}.part{path.suffix}")

    left = [killed(tmp_path / name) for name in ("a.json", "b", "sub/c.ckpt")]
    assert all(file.is_file() for file in left)
    kept = [tmp_path / name for name in (".b.part.json", "a.json.part", ".hidden", "c.4.part.d")]
    for file in kept:
        file.touch()
    remove_half_written(tmp_path)
    assert set(tmp_path.iterdir()) == {*kept, tmp_path / "sub"}
    assert left[2].is_file()
    remove_half_written(tmp_path / "nowhere")


def test_a_failed_write_names_its_file(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left") as stopped:
        write_text(tmp_path / "x.json", "text")
    assert stopped.value.filename == str(tmp_path / "x.json")


def test_nan_is_no_json(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "x.json", float("nan"))
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_followed(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    write_text(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "through")
    reader.join(timeout=10)
    assert read == ["through"]
    assert pipe.is_fifo()


def test_a_disk_that_fills_up_leaves_the_last_checkpoint_whole(tmp_path, monkeypatch):
    path = tmp_path / "checkpoints" / "best.ckpt"
    WholeCheckpoints().save_checkpoint({"state_dict": {"weight": torch.ones(3)}}, path)
    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(OSError, match="No space left") as stopped:
        WholeCheckpoints().save_checkpoint({"state_dict": {"weight": torch.zeros(3)}}, path)
    kept = torch.load(path, weights_only=True)["state_dict"]["weight"]
    assert kept.tolist() == [1, 1, 1]
    assert list(path.parent.iterdir()) == [path]
    message = str(as_user_error(stopped.value))
    assert message.startswith("/some/disk/file: No space left on device; make room")
    assert "\n" not in message


def test_other_errors_of_the_system_are_defects():
    assert as_user_error(OSError(errno.EBADF, "bad descriptor")) is None
    assert as_user_error(RuntimeError("wrong")) is None


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


@given(st.text() | st.sampled_from("=+-@\t\r'").flatmap(lambda c: st.text().map(c.__add__)))
@example("-0")
@example("\t1")
@example("+1_0")
@example("-inf")
def test_texts_read_back_and_begin_no_formula(text):
    cell = as_cell(text)
    if cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        assert cell[0] in "+-"
        assert math.isfinite(float(cell))
        assert set(cell[1:]) <= set("0123456789.")
    assert cell.removeprefix("'") == text


def test_numbers_stay_numbers():
    assert [as_cell(value) for value in (-1, -0.5, None)] == [-1, -0.5, None]


def test_a_lock_is_seen_while_it_is_held(tmp_path):
    path = tmp_path / "lock"
    assert not is_locked(path)
    with locked(path):
        assert is_locked(path)
    assert not is_locked(path)


def test_those_that_ask_at_once_do_not_take_one_another_for_the_holder(tmp_path):
    path = tmp_path / "lock"
    path.touch()
    with ThreadPoolExecutor(8) as askers:
        assert not any(askers.map(lambda _: is_locked(path), range(4000)))
