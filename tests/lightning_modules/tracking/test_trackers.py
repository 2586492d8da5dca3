"""TensorBoard, a CSV file and a user's own logger get what a run has to tell."""

import csv
import json
from pathlib import Path

import pytest
import yaml
from lightning_fabric.loggers import tensorboard
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from lightning_modules.tracking.trackers import ContinuedCSVLogger
from lightning_modules.training.module import TranslationModule
from tests.helpers.commands import TINY, example, inside, mistake, places, succeed

QUICK = ["model=luong_global", "scale=0.2", "decoding=greedy", "trainer.log_every_n_steps=2"]


def train(space: Path, folder: Path, *arguments: str) -> dict:
    """Train a tiny model in ``folder``; return its result."""
    inside(*QUICK, *TINY, *places(space), f"hydra.run.dir={folder}", *arguments)
    return json.loads((folder / "result.json").read_text())


def curve_in(folder: Path) -> dict[int, float]:
    with (folder / "bleu_by_length.csv").open() as file:
        return {int(row["length_high"]): float(row["bleu"]) for row in csv.DictReader(file)}


def rows_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "logs" / "csv" / "metrics.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.long
def test_tensorboard_gets_scores_curve_pictures_and_configuration(space):
    folder = space / "tensorboard"
    result = train(space, folder, "logger=tensorboard")
    events = EventAccumulator(str(folder / "logs" / "tensorboard")).Reload()
    [bleu] = events.Scalars("test/bleu")
    assert bleu.value == pytest.approx(result["scores"]["bleu"])
    assert bleu.step == result["training"]["updates"]
    curve = {event.step: event.value for event in events.Scalars("bleu_by_length/bleu")}
    assert curve == pytest.approx(curve_in(folder))
    assert {"train/loss", "val/loss", "val/bleu"} <= set(events.Tags()["scalars"])
    validations = [event.step for event in events.Images("attention/validation")]
    assert len(validations) == len(events.Scalars("val/bleu")) > 1
    assert events.Images("attention/test")[0].encoded_image_string.startswith(b"\x89PNG")
    [hparams] = (folder / "logs" / "tensorboard").glob("hparams.yaml")
    kept = yaml.safe_load(hparams.read_text())
    assert kept["model_name"] == "luong_global"
    assert kept["optimizer"]["lr"] == result["config"]["optimizer"]["lr"]
    assert "_hparams_/session_start_info" in events.summary_metadata


@pytest.mark.long
def test_a_resumed_training_goes_on_in_the_same_file_and_a_new_one_anew(space, monkeypatch):
    """A training is killed at its fourth update, behind its second validation."""

    class Killed(BaseException):
        pass

    original = TranslationModule.training_step

    def deadly(self, *arguments):
        if self.global_step == 4:
            raise Killed
        return original(self, *arguments)

    folder = space / "resumed"
    monkeypatch.setattr(TranslationModule, "training_step", deadly)
    with pytest.raises(Killed):
        train(space, folder, "logger=csv", "callbacks.resume_checkpoint.minutes=0")
    monkeypatch.undo()
    before = [row["step"] for row in rows_of(folder) if row["val/bleu"]]
    assert len(before) == 2
    train(space, folder, "logger=csv")
    validations = [row["step"] for row in rows_of(folder) if row["val/bleu"]]
    assert validations[:2] == before
    assert len(validations) == len(set(validations)) == 3
    train(space, folder, "logger=csv", "seed=2", "force=true")
    anew = [row["step"] for row in rows_of(folder) if row["val/bleu"]]
    # The order of another seed may spend the budget of tokens in another number of updates.
    assert (len(anew), anew[:2]) == (3, before)
    assert sum(bool(row["test/bleu"]) for row in rows_of(folder)) == 1


def test_a_csv_file_keeps_its_rows(tmp_path):
    for step in range(3):
        logger = ContinuedCSVLogger(str(tmp_path / "logs"), "csv")
        logger.log_metrics({f"metric/{step}": step / 2}, step)
        logger.finalize("success")
    assert [row["step"] for row in rows_of(tmp_path)] == ["0", "1", "2"]
    assert rows_of(tmp_path)[1]["metric/1"] == "0.5"


@pytest.mark.long
def test_a_logger_of_ones_own_tracks(tmp_path):
    """The example of the page."""
    [command] = example("tracker", tmp_path)
    folder = tmp_path / "run"
    where = [*places(tmp_path), f"hydra.run.dir={folder}"]
    succeed(*command, *QUICK, *TINY, *where, PYTHONPATH=str(tmp_path))
    lines = [json.loads(line) for line in (folder / "logs" / "log.jsonl").open()]
    assert lines[0]["configuration"]["model_name"] == "luong_global"
    result = json.loads((folder / "result.json").read_text())
    [tested] = [line["test/bleu"] for line in lines if "test/bleu" in line]
    assert tested == result["scores"]["bleu"]
    curve = {
        line["step"]: line["bleu_by_length/bleu"] for line in lines if "bleu_by_length/bleu" in line
    }
    assert curve == curve_in(folder)
    assert lines[-1] == {"status": "success"}


LOGGERS = """
from pytorch_lightning.loggers import CSVLogger, Logger

class Unfinished(Logger):
    name, version = "unfinished", 1
    def log_metrics(self, metrics, step=None): ...

class Unreachable(CSVLogger):
    def __init__(self):
        raise RuntimeError("no server\\nanswers")

class Failing(CSVLogger):
    def log_metrics(self, metrics, step=None):
        raise ValueError("a defect")

    def finalize(self, status):
        with open(self.save_dir + "/status", "a") as file:
            file.write(status + " ")
"""


@pytest.fixture
def loggers(tmp_path, monkeypatch):
    (tmp_path / "bad_loggers.py").write_text(LOGGERS, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)


def own(name, *more):
    return ["logger=lightning", f"logger._target_={name}", *more]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["logger=lightning"], "logger._target_ has no value: give logger._target_=..."),
        (own("nowhere.Logger"), "cannot be imported; give the dotted path of a Logger class"),
        (own("pathlib.Path"), "logger._target_=pathlib.Path: is not derived from pytorch_light"),
        (own("bad_loggers.Unfinished"), "Unfinished: Unfinished lacks log_hyperparams"),
        (own("bad_loggers.Unreachable"), "Unreachable: no server answers; correct logger.KEY=V"),
        (["logger=csv", "+logger.folder=x"], "got an unexpected keyword argument 'folder'"),
        (["logger._target_=bad_loggers.Failing"], "or begin with logger=lightning, which"),
        (["logger.mode=somewhere"], "give one of auto, online, offline, disabled"),
    ],
)
def test_a_logger_that_cannot_be_made_is_told_in_a_line(arguments, expected, space, loggers):
    line = mistake(*QUICK, *TINY, *places(space), f"hydra.run.dir={space}/wrong", *arguments)
    assert expected in line


def test_a_missing_package_is_told_in_a_line(space, monkeypatch):
    for package in ("_TENSORBOARD_AVAILABLE", "_TENSORBOARDX_AVAILABLE"):
        monkeypatch.setattr(tensorboard, package, False)
    line = mistake(
        *QUICK, *TINY, *places(space), f"hydra.run.dir={space}/wrong", "logger=tensorboard"
    )
    assert "pip install" in line
    assert "install the package, or give logger=none" in line


def test_an_error_ends_the_tracking_as_failed(space, tmp_path, loggers):
    failing = own("bad_loggers.Failing", f"+logger.save_dir={tmp_path}")
    with pytest.raises(ValueError, match="a defect"):
        train(space, tmp_path / "failed", *failing)
    assert set((tmp_path / "status").read_text().split()) == {"failed"}
