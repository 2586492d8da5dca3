"""An interrupted training goes on as if it had never stopped."""

import errno
import hashlib
import math
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from time import sleep
from typing import Any, NamedTuple

import pytest
import torch
from hydra import initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from pytorch_lightning.callbacks import ModelCheckpoint

from datamodules.errors import TerminatedError, UserError
from lightning_modules.kernels import precision
from lightning_modules.runs.files import (
    read_attention_history,
    read_history,
    read_learning_curve,
    read_result,
)
from lightning_modules.runs.paths import LAST
from lightning_modules.runs.schema import HistoryPoint, LossPoint, Training
from lightning_modules.tasks.train import sized_for_data, tracked_training
from lightning_modules.training import losses
from lightning_modules.training.callbacks import TrainingBudget
from lightning_modules.training.checkpoints import load_trained
from lightning_modules.training.losses import DivergedError
from lightning_modules.training.module import TranslationModule
from lightning_modules.training.resume import ResumeCheckpoint
from lightning_modules.training.setup import fit
from sweeps.launch.compose import hydra_job
from sweeps.launch.errors import as_user_error
from tests.helpers.commands import ROOT, TINY, places, succeed

SETTINGS = [
    *(given for given in TINY if not given.startswith("budget")),
    *["scale=0.1", "model.dropout=0.2", "teacher_forcing=scheduled", "data=grammar_easy"],
    *["data.train_size=60", "batching.max_tokens=380", "batching.decode_max_tokens=130"],
    *["trainer.val_check_interval=3", "trainer.log_every_n_steps=1"],
    *["budget=updates", "budget.updates=15", "logger=none"],
]
EVERY_UPDATE = "callbacks.resume_checkpoint.minutes=0"
SELDOM = "callbacks.resume_checkpoint.minutes=1000"
VALIDATION_BATCHES = 3


class Killed(BaseException):
    """Ends a training as a killed process would: nothing catches this exception."""


class Course(NamedTuple):
    """Values that two equal trainings share."""

    final: str  # hash of weights and of the optimizer's state
    best: str
    history: list[HistoryPoint]
    curve: list[LossPoint]
    attention: list[Any]  # on two sentences at each validation
    training: dict[str, Any]


@pytest.fixture(scope="module")
def train(space):
    """Train in a folder of the space; go on if the folder holds a checkpoint."""
    HydraConfig.instance().cfg = None

    def trained(name: str, *overrides: str) -> Course:
        folder = space / name
        everything = [*SETTINGS, *places(space), *overrides]
        with hydra_job(everything, folder) as (job, config):
            data = sized_for_data(config)
            with tracked_training(config, data, job) as (trainer, setup, _):
                training = fit(trainer, setup)
        return course(folder, training)

    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        yield trained


def course(folder: Path, training: Training) -> Course:
    points = [point.model_copy(update={"seconds": 0.0}) for point in read_history(folder)]
    losses = [each.model_copy(update={"seconds": 0.0}) for each in read_learning_curve(folder)]
    account = training.model_dump(exclude={"seconds", "target_tokens_per_second", "waited"})
    final, best = (digest(folder / f"checkpoints/{name}.ckpt") for name in ("last", "best"))
    return Course(final, best, points, losses, attention_in(folder), account)


def attention_in(folder: Path) -> list[Any]:
    history = read_attention_history(folder)
    if history is None:
        return []
    weights = [each._replace(weights=each.weights.tolist()) for each in history.sentences]
    return [history.validations, weights]


def digest(file: Path) -> str:
    """Return a hash of the weights, and of the states of optimizer and schedule.

    A mean of checkpoints has weights alone; with a moving average, the trained weights count too.
    """
    content = torch.load(file, weights_only=True)
    [optimizer] = content.get("optimizer_states", [{"state": {}, "param_groups": []}])
    moments = {
        f"{key} {name}": value
        for key, state in optimizer["state"].items()
        for name, value in state.items()
    }
    own = {f"own {key}": value for key, value in content.get("current_model_state", {}).items()}
    tensors = {**content["state_dict"], **own, **moments}
    parts = [f"{name} {tensors[name].numpy().tobytes().hex()}" for name in sorted(tensors)]
    rates = [group["lr"] for group in optimizer["param_groups"]]
    counts = [content["global_step"], rates, content.get("lr_schedulers")]
    return hashlib.sha256(repr((parts, counts)).encode()).hexdigest()


def at(monkeypatch, where: type, hook: str, time: int, happens: Callable[[], None], after=True):
    """Call ``happens`` at call number ``time`` of a hook, after or before the hook."""
    original, calls = getattr(where, hook), count(1)

    def patched(*arguments: Any, **named: Any) -> Any:
        now = next(calls) == time
        if now and not after:
            happens()
        result = original(*arguments, **named)
        if now and after:
            happens()
        return result

    monkeypatch.setattr(where, hook, patched)


def killed() -> None:
    raise Killed


def count_calls(monkeypatch, where: type, hook: str) -> list[None]:
    calls: list[None] = []
    original = getattr(where, hook)

    def counted(*arguments: Any, **named: Any) -> Any:
        calls.append(None)
        return original(*arguments, **named)

    monkeypatch.setattr(where, hook, counted)
    return calls


@pytest.fixture(autouse=True)
def as_often_as_asked(monkeypatch):
    """Let checkpoints take any share of the time."""
    monkeypatch.setattr("lightning_modules.training.resume.SHARE_OF_SAVING", math.inf)


@pytest.fixture(autouse=True)
def ctrl_c_interrupts():
    """Set Python's handler: a shell ignores Ctrl-C for tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def whole(train):
    """An uninterrupted training: 15 updates, 4 an epoch, validated after every third."""
    return train("whole", SELDOM)


@pytest.mark.long
def test_the_updates_are_those_the_cuts_speak_of(whole):
    assert whole.training["updates"] == 15
    assert whole.training["epochs"] == 15 / 4
    assert len(whole.history) == 5
    assert [point.updates for point in whole.curve] == [10, 11, 13, 15]
    assert whole.attention[0] == [1, 2, 3, 4, 5]


@pytest.mark.long
@pytest.mark.parametrize(
    ("minutes", "where", "hook", "time", "after"),
    [
        (EVERY_UPDATE, TranslationModule, "training_step", 1, False),
        (EVERY_UPDATE, TranslationModule, "validation_step", 4, True),
        (EVERY_UPDATE, Path, "write_bytes", 10, True),  # half of saving a checkpoint
        (SELDOM, TrainingBudget, "on_train_batch_end", 9, True),  # before a validation
        (SELDOM, TranslationModule, "training_step", 4, False),  # after one
        (SELDOM, TranslationModule, "training_step", 13, False),  # after a validation and an epoch
        (SELDOM, ModelCheckpoint, "on_validation_end", 2, True),  # between best and last
        (SELDOM, ResumeCheckpoint, "on_train_end", 1, True),
    ],
)
def test_a_killed_training_ends_the_same(
    train, whole, monkeypatch, minutes, where, hook, time, after
):
    name = f"{hook}-{time}-{after}"
    with monkeypatch.context() as patched:
        at(patched, where, hook, time, killed, after)
        with pytest.raises(Killed):
            train(name, minutes)
    assert train(name, minutes) == whole


@pytest.mark.long
@pytest.mark.parametrize(
    ("sent", "error", "hook", "time", "left"),
    [
        (signal.SIGTERM, TerminatedError, "training_step", 8, 7),  # the last of an epoch
        (signal.SIGTERM, TerminatedError, "training_step", 9, 6),  # before a validation
        (signal.SIGTERM, TerminatedError, "validation_step", 1 + 4 * VALIDATION_BATCHES, 0),
        (signal.SIGINT, KeyboardInterrupt, "validation_step", 1, 12),
    ],
)
def test_a_training_that_is_told_to_end_saves_first(
    train, whole, monkeypatch, sent, error, hook, time, left
):
    steps = count_calls(monkeypatch, TranslationModule, "training_step")
    name = f"{sent.name}-{hook}-{time}"
    with monkeypatch.context() as patched:
        at(patched, TranslationModule, hook, time, partial(signal.raise_signal, sent))
        with pytest.raises(error) as ended:
            train(name, SELDOM)
    assert ended.type is error
    assert len(steps) == 15 - left
    assert train(name, SELDOM) == whole
    assert len(steps) == 15


@pytest.mark.long
def test_a_training_told_to_end_between_two_pieces_ends_the_update(train, monkeypatch):
    pieces = "+batching.pieces=2"
    straight = train("whole-pieces", pieces, SELDOM)
    steps = count_calls(monkeypatch, TranslationModule, "training_step")
    with monkeypatch.context() as patched:
        terminated = partial(signal.raise_signal, signal.SIGTERM)
        at(patched, TranslationModule, "training_step", 11, terminated)  # validated after the 6th
        with pytest.raises(TerminatedError):
            train("pieces", pieces, SELDOM)
    assert train("pieces", pieces, SELDOM) == straight
    assert len(steps) == 30


MORE = [
    "scheduler=plateau scheduler.patience=0 callbacks=early_stopping "
    "callbacks.early_stopping.patience=1",
    "+batching.pieces=2",
    "model=transformer",
    "trainer.precision=64-true",
    "tokenizer=bpe tokenizer.vocabulary_size=200 tokenizer.dropout=0.3 "
    "batching.decode_max_tokens=1000 budget.updates=30",
]


@pytest.mark.exhaustive
@pytest.mark.long
@pytest.mark.parametrize("more", MORE)
def test_other_trainings_end_the_same_too(train, monkeypatch, more):
    name, more = more.replace(" ", "-"), more.split()
    straight = train(f"whole-{name}", *more, SELDOM)
    for hook, time in (("training_step", 6), ("validation_step", 2)):
        with monkeypatch.context() as patched:
            at(patched, TranslationModule, hook, time, killed)
            with pytest.raises(Killed):
                train(name, *more, EVERY_UPDATE)
    assert train(name, *more, EVERY_UPDATE) == straight


@pytest.mark.long
@pytest.mark.exhaustive
def test_a_training_goes_on_with_the_products_it_began_with(train, monkeypatch):
    """Another processor would choose otherwise, and so change the last digits."""
    monkeypatch.setattr(precision, "choose_products", lambda setting: 1)
    through = train("onednn")
    at(monkeypatch, TranslationModule, "training_step", 5, killed)
    with pytest.raises(Killed):
        train("products")
    monkeypatch.setattr(precision, "choose_products", lambda setting: None)
    assert train("products") == through
    assert precision.products_in_use() == 1
    precision.use_products(None)


def test_a_loss_that_is_no_number_ends_the_training_and_says_where(train, monkeypatch, caplog):
    original = TranslationModule.loss

    def broken(self, *arguments, **named):
        return original(self, *arguments, **named) * (math.nan if self.global_step == 6 else 1)

    monkeypatch.setattr(TranslationModule, "loss", broken)
    with pytest.raises(DivergedError) as ended:
        train("nan", SELDOM)
    line = str(ended.value)
    assert "training loss is nan at update 7, batch 3 of epoch 2, sentences " in line
    [file] = re.findall(r"\S+/not_finite\.ckpt", line)
    assert torch.load(file, weights_only=True)["global_step"] == 7
    shown = re.findall(r"sentences (\d+(?:, \d+)*)", line)[0].split(", ")
    [record] = [text for text in caplog.messages if text.startswith("sentences of the batch")]
    assert record.split(": ")[1].split(", ")[: len(shown)] == shown
    last = Path(file).with_name(LAST)
    assert torch.load(last, weights_only=True)["global_step"] == 6
    assert finite(last)


def test_on_a_gpu_a_nan_is_found_with_the_next_logged_update(train, monkeypatch):
    """Losses are read together; the error still names the update, and no checkpoint has a NaN."""
    original = TranslationModule.loss

    def broken(self, *arguments, **named):
        return original(self, *arguments, **named) * (math.nan if self.global_step == 1 else 1)

    monkeypatch.setattr(TranslationModule, "loss", broken)
    monkeypatch.setattr(losses, "runs_ahead", lambda device: True)
    with pytest.raises(
        DivergedError, match="training loss is nan at update 2, batch 2 of"
    ) as ended:
        train("nan_gpu", SELDOM, "trainer.log_every_n_steps=5", "trainer.val_check_interval=50")
    [file] = re.findall(r"\S+/not_finite\.ckpt", str(ended.value))
    assert torch.load(file, weights_only=True)["global_step"] == 5
    assert finite(Path(file).with_name(LAST))


@pytest.mark.parametrize("save", [EVERY_UPDATE, SELDOM])
def test_weights_that_are_no_numbers_are_never_saved(train, monkeypatch, save):
    """The loss of the update before was finite; only the weights tell that a gradient was not."""
    original = TranslationModule.lr_scheduler_step

    def broken(self, *arguments):
        if self.global_step == 2:
            next(self.parameters()).data[0] = math.inf
        original(self, *arguments)

    monkeypatch.setattr(TranslationModule, "lr_scheduler_step", broken)
    monkeypatch.setattr(losses, "runs_ahead", lambda device: True)
    name = f"inf_{save[-4:]}"
    settings = "trainer.log_every_n_steps=2", "trainer.val_check_interval=2"
    with pytest.raises(DivergedError, match="infinite at update 2; "):
        train(name, save, *settings, "model.dropout=0")


def finite(checkpoint):
    weights = torch.load(checkpoint, weights_only=True)["state_dict"].values()
    return all(tensor.isfinite().all() for tensor in weights)


@pytest.mark.long
def test_a_full_disk_leaves_the_checkpoint_before(train, whole, monkeypatch):
    original, writes = Path.write_bytes, count(1)

    def full(self, content):
        if next(writes) < 6:
            return original(self, content)
        original(self, content[: len(content) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        with pytest.raises(OSError, match="No space left") as ended:
            train("full", EVERY_UPDATE)
    assert re.match(
        r"/\S+\.ckpt: No space left on device; make room", str(as_user_error(ended.value))
    )
    folder = Path(ended.value.filename).parent
    assert {file.name for file in folder.iterdir()} == {"best.ckpt", "last.ckpt"}
    assert train("full", EVERY_UPDATE) == whole


@pytest.mark.long
def test_a_checkpoint_of_other_sizes_ends_in_a_line(train, whole, space):
    train("sizes", SELDOM)
    file = space / "sizes" / "checkpoints" / LAST
    content = torch.load(file, weights_only=True)
    name = next(iter(content["state_dict"]))
    content["state_dict"][name] = content["state_dict"][name][:-1]
    torch.save(content, file)
    with pytest.raises(UserError, match=r"last\.ckpt: .* other sizes .* remove it$"):
        train("sizes", SELDOM)
    with pytest.raises(UserError, match=r"^checkpoint=.*: does not fit .*: size mismatch for "):
        load_trained(file)


@pytest.mark.long
@pytest.mark.parametrize("name", ["last", "best"])
def test_a_damaged_checkpoint_ends_in_a_line_that_says_how_to_go_on(train, space, name):
    train(f"damaged-{name}", SELDOM)
    file = space / f"damaged-{name}" / "checkpoints" / f"{name}.ckpt"
    file.write_bytes(file.read_bytes()[:3000])
    with pytest.raises(UserError, match=rf"{name}\.ckpt: .*; force=true trains anew$"):
        train(f"damaged-{name}", SELDOM)


@pytest.mark.long
def test_a_training_that_had_ended_has_its_history_again_and_no_half_written_file(
    train, whole, space
):
    train("history", SELDOM)
    folder = space / "history"
    (folder / "history.csv").unlink()
    left = [folder / name for name in (".history.4711.part.csv", "checkpoints/.last.1.part.ckpt")]
    for file in left:
        file.touch()
    assert train("history", SELDOM) == whole
    assert not any(file.exists() for file in left)


@pytest.mark.long
@pytest.mark.exhaustive
def test_each_seed_moves_its_own_part(train, whole):
    begun = {}
    for name in ("initial_weights", "data_order", "dropout", "decoding"):
        begun[name] = train(f"seed-{name}", SELDOM, f"seeds.{name}=2")
    assert begun["decoding"] == whole
    assert begun["data_order"].training["data_order"] != whole.training["data_order"]
    for name in ("initial_weights", "dropout"):
        assert begun[name].training["data_order"] == whole.training["data_order"]
        assert begun[name].final != whole.final


@pytest.mark.long
def test_a_real_command_that_is_terminated_and_killed_goes_on(train, space):
    """The training is four times as long, so that the signals come before its end."""
    longer = "budget.updates=60"
    straight = train("longer", longer, SELDOM)
    folder = space / "real"
    command = [*SETTINGS, *places(space), longer, EVERY_UPDATE, f"hydra.run.dir={folder}"]
    statuses = [
        sent_when_training(command, folder, sent) for sent in (signal.SIGTERM, signal.SIGKILL)
    ]
    assert statuses == [143, -signal.SIGKILL]
    assert not (folder / "result.json").exists()
    assert "training continues after update" in succeed(*command)
    result = read_result(folder)
    assert result is not None
    assert course(folder, result.training) == straight
    assert result.scores["bleu"] >= 0


def sent_when_training(command: list[str], folder: Path, sent: signal.Signals) -> int:
    """Start the command, send a signal once it has saved a checkpoint, and return the status."""
    file = folder / "checkpoints" / LAST
    before = file.stat().st_ino if file.exists() else None
    with subprocess.Popen([sys.executable, "run.py", *command], cwd=ROOT) as process:
        while process.poll() is None and (not file.exists() or file.stat().st_ino == before):
            sleep(0.01)
        process.send_signal(sent)
        return process.wait()
