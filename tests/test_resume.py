"""A training that was interrupted goes on as if nothing had been."""

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from hydra import initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from pytorch_lightning.callbacks import ModelCheckpoint

from lightning_modules.callbacks import LastCheckpoint, TokenBudget
from lightning_modules.run_folder import Training
from lightning_modules.run_records import HistoryPoint, read_history
from lightning_modules.tasks.train import fit, prepared
from lightning_modules.translation import TranslationModule
from sweeps.studies.compose import as_job
from tests.commands import ROOT, TINY, places

SETTINGS = [
    *TINY,
    "model=bahdanau",
    "model.embedding_size=8",
    "model.hidden_size=8",
    "data.train_size=60",
    "batching.max_tokens=300",
    "trainer.val_check_interval=3",
    "trainer.log_every_n_steps=1",
    "budget.target_tokens=3000",
    "logger=none",
]
EVERY_UPDATE = "callbacks.last.minutes=0"
SELDOM = "callbacks.last.minutes=1000"


class Killed(BaseException):
    """As far as a training can tell, the end of the world."""


class Course(NamedTuple):
    """What two trainings share that are one and the same."""

    final: str
    """Hash of weights and of the optimizer's state."""
    best: str
    history: list[HistoryPoint]
    training: dict[str, Any]


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    """Train in a folder, going on where it holds the beginning."""
    HydraConfig.instance().cfg = None
    space = tmp_path_factory.mktemp("resume")

    def trained(name: str, *overrides: str) -> Course:
        folder = space / name
        everything = [*SETTINGS, *places(space), *overrides]
        with as_job(everything, folder) as config, prepared(config, folder) as run:
            training = fit(run.trainer, run.module, run.data, run.checkpoint)
        return course(folder, training)

    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        yield trained


def course(folder: Path, training: Training) -> Course:
    points = [point.model_copy(update={"seconds": 0.0}) for point in read_history(folder)]
    told = training.model_dump(exclude={"seconds", "target_tokens_per_second"})
    final, best = (digest(folder / f"checkpoints/{name}.ckpt") for name in ("last", "best"))
    return Course(final, best, points, told)


def digest(file: Path) -> str:
    """Of the numbers that are trained, and of those that train them."""
    content = torch.load(file, weights_only=True)
    [optimizer] = content["optimizer_states"]
    moments = {
        f"{key} {name}": value
        for key, state in optimizer["state"].items()
        for name, value in state.items()
    }
    tensors = {**content["state_dict"], **moments}
    parts = [f"{name} {tensors[name].numpy().tobytes().hex()}" for name in sorted(tensors)]
    rates = [group["lr"] for group in optimizer["param_groups"]]
    counts = [content["global_step"], content["loops"]["fit_loop"], rates, content["lr_schedulers"]]
    return hashlib.sha256(repr((parts, counts)).encode()).hexdigest()


def cut(monkeypatch, where: type, hook: str, time: int, after: bool = True) -> None:
    """End the world the so manyeth time that a hook is called, before or after what it does."""
    original, calls = getattr(where, hook), 0

    def dying(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == time and not after:
            raise Killed
        result = original(*arguments, **named)
        if calls == time:
            raise Killed
        return result

    monkeypatch.setattr(where, hook, dying)


@pytest.fixture(scope="module")
def whole(train):
    """A training that nothing cut off: 15 updates, 4 an epoch, validated after every third."""
    return train("whole", SELDOM)


def test_the_updates_are_those_the_cuts_speak_of(whole):
    assert whole.training["updates"] == 15
    assert whole.training["epochs"] == 15 / 4
    assert len(whole.history) == 5


@pytest.mark.parametrize(
    ("minutes", "where", "hook", "time", "after"),
    [
        (EVERY_UPDATE, TranslationModule, "training_step", 1, False),
        (EVERY_UPDATE, TranslationModule, "training_step", 8, True),
        (EVERY_UPDATE, TranslationModule, "validation_step", 4, True),
        (EVERY_UPDATE, Path, "write_bytes", 10, True),  # half of saving a checkpoint
        (SELDOM, TokenBudget, "on_train_batch_end", 9, True),  # before a validation
        (SELDOM, TranslationModule, "training_step", 4, False),  # after one
        (SELDOM, TranslationModule, "training_step", 13, False),  # after one and an epoch
        (SELDOM, ModelCheckpoint, "on_validation_end", 2, True),  # between best and last
        (SELDOM, LastCheckpoint, "on_train_end", 1, False),
        (SELDOM, LastCheckpoint, "on_train_end", 1, True),
    ],
)
def test_a_killed_training_ends_the_same(
    train, whole, monkeypatch, minutes, where, hook, time, after
):
    name = f"{hook}-{time}-{after}"
    with monkeypatch.context() as patched, pytest.raises(Killed):
        cut(patched, where, hook, time, after)
        train(name, minutes)
    assert train(name, minutes) == whole
