"""What a terminal shows while jobs run, as a person sees it: lines are drawn and cleared."""

import io
import logging
import os
import pty
import re
import struct
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from fcntl import ioctl
from unittest.mock import patch

import pytest
from hydra import compose, initialize_config_dir
from rich.console import Console
from rich.text import Text

from lightning_modules.figures.palette import LOOKS
from lightning_modules.runs.checksums import verify_files
from lightning_modules.runs.files import read_state, write_record
from lightning_modules.runs.paths import CONF, PROGRESS
from lightning_modules.runs.schema import JobState
from sweeps.launch.jobs import combinations
from sweeps.launch.live import (
    MOST_CURVES,
    JobRow,
    JobView,
    Phase,
    clock,
    job_table,
    labels_of,
    live_bar,
    live_view,
    marked_labels,
    run_bar,
    shown_phases,
)
from tests.helpers.commands import ROOT, TINY, places

PART = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")


class Screen:
    """Text, returns, new lines, and the sequences with which Rich moves up and clears a line."""

    def __init__(self) -> None:
        self.lines = [""]
        self.shows_cursor = True
        self._row = self._column = 0

    def feed(self, text: str) -> None:
        """Show ``text``, which breaks no sequence."""
        for number, code, newline, plain in PART.findall(text):
            if code == "A":
                self._row = max(0, self._row - int(number or 1))
            elif code == "K":
                self.lines[self._row] = ""
            elif code in "hl" and number == "?25":
                self.shows_cursor = code == "h"
            elif newline == "\r":
                self._column = 0
            elif newline == "\n":
                self._row, self._column = self._row + 1, 0
                self.lines += [""] * (self._row + 1 - len(self.lines))
            elif plain:
                line = self.lines[self._row].ljust(self._column)
                after = self._column + len(plain)
                self.lines[self._row] = line[: self._column] + plain + line[after:]
                self._column = after

    @property
    def shown(self) -> list[str]:
        """The lines that are not empty, without spaces at the end."""
        return [line.rstrip() for line in self.lines if line.strip()]


def watch(command: Sequence[str], columns: int = 120) -> tuple[int, Screen, list[list[str]]]:
    """Run a command in a terminal; return its status, the last screen, and every screen before."""
    process, descriptor = pty.fork()
    if process == 0:
        os.execvp(command[0], list(command))
    ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    screen, screens, rest = Screen(), [], b""
    while True:
        try:
            rest += os.read(descriptor, 1 << 16)
        except OSError:  # the command has ended
            break
        whole, clear, begun = rest.rpartition(b"\r")  # each redrawing begins with a return
        rest = clear + begun
        screen.feed(whole.decode())
        screens.append(screen.shown)
    screen.feed(rest.decode())
    os.close(descriptor)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), screen, screens


HALF = JobState(
    doing="training", updates=10, share=0.5, tokens_per_second=1234.5, val_bleu=3.456,
    seconds_left=3605.2,
)  # fmt: skip
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
        with live_view(lambda: Text("THE BAR")):
            wait_for(lambda: "THE BAR" in stream.getvalue())
            logging.getLogger("any").warning("logged %s", path)
            print("printed", path)
            seen = Screen()
            seen.feed(stream.getvalue())
        assert sys.stdout is stream
        logging.getLogger("any").warning("after")
    left = Screen()
    left.feed(stream.getvalue())
    assert seen.shown == [f"logged {path}", f"printed {path}", "THE BAR"]
    assert left.shown == [f"logged {path}", f"printed {path}", "after"]
    assert (seen.shows_cursor, left.shows_cursor) == (False, True)


def test_the_file_of_an_interrupted_training_is_not_shown(tmp_path):
    write_record(tmp_path / PROGRESS, HALF)
    old = time.time() - 100
    os.utime(tmp_path / "progress.json", (old, old))
    with terminal() as stream, live_bar(tmp_path, "bahdanau seed 1"):
        time.sleep(1.2)
        assert "50%" not in stream.getvalue()
        write_record(tmp_path / PROGRESS, HALF)
        wait_for(lambda: "50%" in stream.getvalue())


def shown(folder, labels):
    console = Console(width=100, file=io.StringIO(), record=True)
    console.print(job_table([JobRow.of(folder / str(n), each) for n, each in enumerate(labels)]))
    return [line.split() for line in console.export_text().splitlines()]


def test_each_job_stands_where_its_folder_says(tmp_path):
    jobs = ["a", "b, seed=2", "c", "d", "e", "f"]
    for number in range(5):
        (tmp_path / str(number)).mkdir()
    training = JobState(
        doing="training", updates=1200, share=0.25, tokens_per_second=2345.6, seconds_left=75.4
    )
    testing = JobState(
        doing="testing", updates=90, share=1.0, tokens_per_second=12.0, val_bleu=31.456,
        seconds_left=0.0,
    )  # fmt: skip
    for number, state in enumerate((training, testing, testing)):
        write_record(tmp_path / str(number) / PROGRESS, state)
    (tmp_path / "2" / "result.json").touch()
    (tmp_path / "3" / "failure.json").touch()
    (tmp_path / "3" / "result.json").touch()  # of an earlier command
    with verify_files(False):  # the result of this job is empty
        head, *rows = shown(tmp_path, jobs)
    assert head == ["job", "state", "updates", "done", "tokens/s", "val", "BLEU", "left"]
    assert rows == [
        ["a", "training", "1,200", "25%", "2,346", "–", "1:15"],
        ["b,", "seed=2", "testing", "90", "100%", "12", "31.46", "–"],
        ["c", "done", "90", "100%", "12", "31.46", "–"],
        ["d", "failed", "–", "–", "–", "–", "–"],
        ["e", "starting", "–", "–", "–", "–", "–"],
        ["f", "waiting", "–", "–", "–", "–", "–"],
    ]


ROWS = "length_low,length_high,bleu\n1,10,{}\n11,20,12.4\n21,,\n"
"""A curve whose last lengths have no sentences."""


def finish(folder, content):
    folder.mkdir()
    (folder / "bleu_by_length.csv").write_text(content)
    (folder / "result.json").touch()


def viewed(folder, labels, height=50):
    console = Console(width=100, file=io.StringIO(), record=True)
    with verify_files(False):  # the results are empty
        console.print(JobView({folder / str(n): each for n, each in enumerate(labels)}, height)())
    return console.export_text()


def test_running_jobs_stand_first_and_those_without_room_are_counted(tmp_path):
    for number in range(12):
        (tmp_path / str(number)).mkdir()
        if number < 8:
            (tmp_path / str(number) / "result.json").touch()
    (tmp_path / "11" / "failure.json").touch()
    lines = viewed(tmp_path, [f"job {number}" for number in range(30)], height=14).splitlines()
    assert lines[0] == "30 jobs: 8 done, 3 running, 1 failed; 30%"
    assert [line.split()[1] for line in lines[2:-1]] == ["8", "9", "10", "11", *"0123"]
    assert lines[-1] == "and 4 done and 18 waiting"
    assert len(lines) <= 14


def test_the_end_of_all_jobs_follows_from_what_they_have_done_since_the_start(
    tmp_path, monkeypatch
):
    now = [time.mktime((2026, 3, 4, 14, 0, 0, 0, 0, -1))]
    monkeypatch.setattr("sweeps.launch.live.time.time", lambda: now[0])
    for number, share in ((0, 0.5), (1, 0.0)):
        (tmp_path / str(number)).mkdir()
        write_record(tmp_path / str(number) / PROGRESS, HALF.model_copy(update={"share": share}))
    view = JobView({tmp_path / str(number): "a job" for number in range(2)}, 50)

    def overall():
        console = Console(width=100, file=io.StringIO(), record=True)
        console.print(view())
        return console.export_text().splitlines()[0]

    assert overall() == "2 jobs: 2 running; 25%"
    now[0] += 600
    write_record(tmp_path / "1" / PROGRESS, HALF)
    assert overall() == "2 jobs: 2 running; 50%, ends about 14:30"


def test_a_phase_goes_on_while_its_words_before_the_colon_stay(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("sweeps.launch.live.time.monotonic", lambda: now[0])
    phase = Phase()
    phase.enter("drawing: 1 of 9")
    now[0] = 7.0
    phase.enter("drawing: 2 of 9")
    assert phase.line.plain == "drawing: 2 of 9  7 s"
    phase.enter("writing")
    assert phase.line.plain == "writing  0 s"


def test_the_table_of_jobs_stays_above_the_phases_of_the_report(tmp_path):
    (tmp_path / "0").mkdir()
    (tmp_path / "0" / "failure.json").touch()
    with terminal() as stream, shown_phases({tmp_path / "0": "a job"}) as enter:
        enter("writing the page")
        wait_for(lambda: "writing the page" in stream.getvalue())
        screen = Screen()
        screen.feed(stream.getvalue())
    assert screen.shown[0].startswith("1 job: 1 failed")
    assert screen.shown[2].split()[:3] == ["a", "job", "failed"]
    assert screen.shown[-1].startswith("writing the page")


def test_without_a_terminal_phases_are_silent(capsys):
    with shown_phases() as enter:
        enter("writing the page")
    assert capsys.readouterr().out == ""


def test_bleu_by_length_is_drawn_from_the_second_finished_job_on(tmp_path):
    labels = ["no attention", "Bahdanau", "Luong", "Transformer"]
    finish(tmp_path / "0", ROWS.format(32.8))
    finish(tmp_path / "2", "a damaged file")
    (tmp_path / "3").mkdir()
    assert "BLEU by" not in viewed(tmp_path, labels)
    finish(tmp_path / "1", ROWS.format(100.0))
    _, drawn = viewed(tmp_path, labels).split("BLEU by sentence length")
    rows = [line.split() for line in drawn.splitlines() if line.strip()]
    assert rows == [
        ["job", "1–10", "11–20"],
        ["no", "attention", "▃▁", "32.8", "12.4"],
        ["Bahdanau", "█▁", "100.0", "12.4"],
    ]
    (tmp_path / "1" / "failure.json").touch()
    assert "BLEU by" not in viewed(tmp_path, labels)


def test_a_large_comparison_draws_its_first_curves(tmp_path):
    labels = [f"system{number}" for number in range(MOST_CURVES + 2)]
    for number in range(len(labels)):
        finish(tmp_path / str(number), ROWS.format(number))
    text = viewed(tmp_path, labels)
    assert text.count("12.4") == MOST_CURVES


@pytest.mark.parametrize("content", ["", "{", "[]", '{"doing": "x", "other": 1}'])
def test_a_file_that_cannot_be_read_is_no_state(tmp_path, content):
    assert read_state(tmp_path) is None
    (tmp_path / "progress.json").write_text(content)
    assert read_state(tmp_path) is None


@pytest.mark.parametrize(
    ("arguments", "jobs", "labels"),
    [
        (
            ["model=seq2seq,transformer", "seed=1,2", "scale=0.5"],
            ["seq2seq 1", "seq2seq 2", "transformer 1", "transformer 2"],
            ["No attention (Cho et al.), seed=1", "No attention (Cho et al.), seed=2"],
        ),
        (["model=seq2seq", "seed=range(3,5)"], ["seq2seq 3", "seq2seq 4"], []),
        (["model=nosuch", "seed=1", "seed=7"], ["nosuch 7"], ["nosuch, seed=7"]),
        (
            ["model=luong_global,bahdanau", "model.attention.score=concat", "seed=1"],
            ["luong_global 1", "bahdanau 1"],
            ["Luong global, concat", "Bahdanau, concat"],
        ),
    ],
)
def test_every_combination_is_a_job_named_by_what_differs(arguments, jobs, labels):
    with initialize_config_dir(str(CONF), version_base="1.3"):
        config = compose("config", ["hydra.mode=MULTIRUN"], return_hydra_config=True)
        config.hydra.overrides.task = arguments
        found = combinations(config)
        assert labels_of(found)[: len(labels)] == labels
    values = [dict(each.split("=") for each in job) for job in found]
    assert [f"{each['model']} {each['seed']}" for each in values] == jobs


def test_a_job_has_the_mark_and_the_colour_of_its_system():
    jobs = [[f"model={model}", f"seed={seed}"] for model in ("bahdanau", "mine") for seed in (1, 2)]
    first, second, third, fourth = marked_labels(jobs, ["a", "b", "c", "d"])
    assert (first.plain, second.plain) == ("■ a", "■ b")
    assert first.spans[0].style == second.spans[0].style == LOOKS["bahdanau"].colour
    assert third.spans[0].style == fourth.spans[0].style != first.spans[0].style


def test_lists_of_the_command_replace_those_of_a_comparison():
    with initialize_config_dir(str(CONF), version_base="1.3"):
        given = ["comparison=quickstart", "seed=3", "model=bahdanau,seq2seq"]
        config = compose("config", given[:1], return_hydra_config=True)
        config.hydra.overrides.task = given
        assert labels_of(combinations(config)) == [
            "Bahdanau, additive",
            "No attention (Cho et al.)",
        ]


@pytest.mark.long
@pytest.mark.parametrize("terminal", [True, pytest.param(False, marks=pytest.mark.exhaustive)])
def test_a_terminal_sees_the_table_and_others_the_lines(tmp_path, monkeypatch, terminal):
    written = io.BytesIO()

    def read(descriptor):
        data = os.read(descriptor, 1 << 16)
        written.write(data)
        return data

    command = [
        sys.executable, "run.py", "-m", "model=seq2seq", "seed=1,2", *TINY, *places(tmp_path),
        "logger=none", f"hydra.sweep.dir={tmp_path}/sweep",
        "budget.target_tokens=20_000",  # so long that the table is drawn while they train
    ]  # fmt: skip
    if not terminal:
        command = ["/bin/sh", "-c", '"$@" | cat', "sh", *command]
    monkeypatch.chdir(ROOT)
    status = pty.spawn(command, read, lambda descriptor: b"")
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.getvalue().decode())
    assert status == 0, text
    assert "BLEU [95%] by source length" in text
    assert ("No attention (Cho et al.), seed=2" in text) == terminal
    assert "Launching" not in text
    assert ("parameters; " in text) != terminal
    assert ("  100%  " in text) != terminal
    if terminal:
        assert written.getvalue().count(b"\x1b[?25h") >= 1  # the cursor is back
        assert "training" in text
        assert "val loss" not in text
    assert "val loss" in (tmp_path / "sweep" / "1" / "run.log").read_text()
