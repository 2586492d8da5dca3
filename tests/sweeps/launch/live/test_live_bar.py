"""The bar of a run: its content, lines printed meanwhile, and a terminal once the run is over."""

import io
import logging
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from unittest.mock import patch

import pytest
from rich.console import Console
from rich.text import Text

from lightning_modules.runs.schema import JobState
from lightning_modules.runs.writer import write_state
from sweeps.launch.live.live_bar import clock, live_bar, run_bar
from sweeps.launch.live.live_view import LiveView
from tests.helpers.commands import ROOT, TINY, places
from tests.sweeps.launch.live.screen import Screen, watch

HALF = JobState(
    doing="training",
    updates=10,
    share=0.5,
    tokens_per_second=1234.5,
    val_bleu=3.456,
    seconds_left=3605.2,
)


LABEL = "Bahdanau, additive seed 1"


def drawn(state, width=120):
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(run_bar(LABEL, state, width))
    return console.export_text().splitlines()


def test_a_training_shows_its_share_of_the_budget_and_the_time_left():
    [line] = drawn(HALF)
    assert line.startswith(f"{LABEL}  training  ━")
    assert line.rstrip().endswith(" 50%  1:00:05 left  1,234 tokens/s  BLEU 3.46")


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_bar_is_one_line_of_any_terminal(width):
    [line] = drawn(HALF.model_copy(update={"doing": "translating the test set, 40%"}), width)
    assert len(line) <= width
    assert "translating the test" in line


def test_a_phase_of_the_test_is_named_without_time_and_speed_of_the_training():
    [line] = drawn(HALF.model_copy(update={"doing": "scoring", "share": 1.0}))
    assert "scoring" in line
    assert "100%" in line
    assert "left" not in line
    assert "tokens/s" not in line


def test_a_test_without_a_training_has_no_bar():
    [line] = drawn(JobState(doing="scoring"))
    assert line.split() == [*LABEL.split(), "scoring"]


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0, "0:00"), (59.6, "1:00"), (75.4, "1:15"), (7384, "2:03:04")]
)
def test_a_clock_counts_minutes_then_hours(seconds, expected):
    assert clock(seconds) == expected


@contextmanager
def terminal() -> Iterator[io.StringIO]:
    """Give a stream that is the terminal of a view and of the log.

    A fixture would give it too early: pytest takes standard output again before each test.
    """

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream, handler = Terminal(), logging.StreamHandler()
    handler.setStream(stream)
    logging.getLogger().addHandler(handler)
    with patch.dict(os.environ, {"TERM": "xterm"}), redirect_stdout(stream):
        yield stream
    logging.getLogger().removeHandler(handler)


def wait_for(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_lines_stand_above_the_view_in_one_piece_and_the_view_is_taken_away():
    path = "/".join(["a_long_folder"] * 20)
    with terminal() as stream:
        view = LiveView(lambda: Text("THE BAR"), Console(width=40))
        view.start()
        wait_for(lambda: "THE BAR" in stream.getvalue())
        logging.getLogger("any").warning("logged %s", path)
        print("printed", path)
        seen = Screen()
        seen.feed(stream.getvalue())
        view.stop()
        view.stop()  # at the end of the program, for example
        assert sys.stdout is stream
        logging.getLogger("any").warning("after")
    left = Screen()
    left.feed(stream.getvalue())
    assert seen.shown == [f"logged {path}", f"printed {path}", "THE BAR"]
    assert left.shown == [f"logged {path}", f"printed {path}", "after"]
    assert (seen.shows_cursor, left.shows_cursor) == (False, True)


def test_the_file_of_an_interrupted_training_is_not_shown(tmp_path):
    write_state(tmp_path, HALF)
    old = time.time() - 100
    os.utime(tmp_path / "progress.json", (old, old))
    with terminal() as stream, live_bar(tmp_path, "bahdanau seed 1"):
        time.sleep(1.2)
        assert stream.getvalue() == ""
        write_state(tmp_path, HALF)
        wait_for(lambda: "50%" in stream.getvalue())


@pytest.mark.long
@pytest.mark.exhaustive
def test_a_terminal_sees_one_bar_its_phases_and_at_the_end_lines_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    command = [
        sys.executable, "run.py", "model=seq2seq", *TINY, *places(tmp_path), "logger=none",
        "budget.target_tokens=20000", "data.test_size=1500",  # a test that lasts some seconds
    ]  # fmt: skip
    status, screen, screens = watch(command)
    bars = [line for lines in screens for line in lines if "━" in line]
    assert status == 0, screen.shown
    assert all(sum("━" in line for line in lines) <= 1 for lines in screens)
    assert any(re.match(r"No att.*  (training|validation)  ━", bar) for bar in bars)
    assert any("100%" in bar for bar in bars)
    assert not any("━" in line for line in screen.shown)
    assert screen.shows_cursor
    assert any("  100%  " in line for line in screen.shown)
    assert "python run.py task=translate checkpoint=" in screen.shown[-1]
