"""Averages of weights: by hand, in validations and checkpoints, through interruptions, on ranks."""

import random
import shutil
import signal
from functools import partial
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from pytorch_lightning.plugins.precision import MixedPrecision
from torch.nn.utils import parameters_to_vector

from datamodules.errors import TerminatedError
from lightning_modules.runs.files import read_history
from lightning_modules.tasks.train import train as train_task
from lightning_modules.training.averages import MovingAverage, mean_weights
from lightning_modules.training.checkpoints import load_trained
from lightning_modules.training.factories import recompute_layers
from lightning_modules.training.module import TranslationModule
from lightning_modules.training.validations import Validation
from tests.helpers.commands import places
from tests.helpers.ranks import Job, on_ranks, run_jobs
from tests.helpers.refusals import refused
from tests.lightning_modules.training.test_resume import (
    EVERY_UPDATE,
    SELDOM,
    SETTINGS,
    Killed,
    at,
    ctrl_c_interrupts,
    killed,
    train,
)
from tests.lightning_modules.training.test_training import fit, module

EMA = ["callbacks=ema", SELDOM]
MEAN = ["callbacks=average", "callbacks.average.k=3", SELDOM]
fixtures = ctrl_c_interrupts, train


class Weights(pl.Callback):
    """All parameters as one vector: after each update, and as each validation sees them."""

    def __init__(self) -> None:
        self.trained: list[torch.Tensor] = []
        self.validated: dict[int, torch.Tensor] = {}

    def on_train_batch_start(self, trainer: pl.Trainer, pl_module: Any, *_: Any) -> None:
        if len(self.trained) == trainer.global_step > 0:
            assert torch.equal(vector(pl_module), self.trained[-1])  # not the average

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: Any, *_: Any) -> None:
        if trainer.global_step > len(self.trained):
            self.trained.append(vector(pl_module))

    def on_validation_batch_start(self, trainer: pl.Trainer, pl_module: Any, *_: Any) -> None:
        self.validated[trainer.global_step] = vector(pl_module)


def vector(trained: torch.nn.Module) -> torch.Tensor:
    return parameters_to_vector(trained.parameters()).detach().clone()


def by_hand(weights: list[torch.Tensor], decay: float) -> torch.Tensor:
    average, *others = [each.double() for each in weights]
    average = average.clone()
    for number, each in enumerate(others, 1):
        kept = min(decay, (1 + number) / (10 + number))
        average = kept * average + (1 - kept) * each
    return average


def saved(callback: MovingAverage, trained: TranslationModule) -> dict[str, Any]:
    """Return the checkpoint that a callback makes of a training."""
    checkpoint: dict[str, Any] = {"state_dict": trained.state_dict()}
    callback.on_save_checkpoint(trained.trainer, trained, checkpoint)
    return checkpoint


@pytest.mark.parametrize(
    ("decay", "options"),
    [
        (0.999, {}),
        (0.2, {}),
        (0.999, {"precision": "64-true"}),
        (0.2, {"plugins": "scaled"}),
        (0.999, {"accumulate_grad_batches": 2}),
    ],
)
def test_a_moving_average_is_the_one_by_hand(decay, options):
    if "plugins" in options:
        options = {"plugins": [MixedPrecision("16-mixed", "cpu", torch.amp.GradScaler("cpu"))]}
    trained, weights, average = module(), Weights(), MovingAverage(decay)
    frozen = next(trained.parameters()).requires_grad_(False)
    before = frozen.clone()
    fit(trained, 5, callbacks=[average, weights], **options)
    checkpoint = saved(average, trained)
    state, own = checkpoint["state_dict"], checkpoint["current_model_state"]
    names = [name for name, _ in trained.named_parameters()]
    found = torch.cat([state[name].flatten() for name in names])
    assert found.double() == pytest.approx(by_hand(weights.trained, decay), rel=1e-5)
    assert torch.equal(state[names[0]], before.to(state[names[0]].dtype))
    assert all(torch.equal(state[name], own[name]) for name in own.keys() - set(names))  # buffers
    assert torch.equal(torch.cat([own[name].flatten() for name in names]), weights.trained[-1])
    assert state[names[-1]].dtype == own[names[-1]].dtype


def test_a_moving_average_follows_compiled_and_recomputed_layers():
    trained, weights, average = module("transformer"), Weights(), MovingAverage(0.999)
    recompute_layers(trained.model)
    trained.model.compile_blocks(backend="eager")
    fit(trained, 2, callbacks=[average, weights])
    state = saved(average, trained)["state_dict"]
    found = torch.cat([state[name].flatten() for name, _ in trained.named_parameters()])
    assert found.double() == pytest.approx(by_hand(weights.trained, 0.999), rel=1e-5)


@pytest.fixture(scope="module")
def seen():
    """The weights of the training with a moving average."""
    return Weights()


@pytest.fixture(scope="module")
def averaged(train, seen):
    """Uninterrupted trainings of 15 updates, validated after every third."""
    with pytest.MonkeyPatch.context() as patched:
        for hook in ("on_train_batch_start", "on_train_batch_end", "on_validation_batch_start"):
            at_every(patched, MovingAverage, hook, getattr(seen, hook))
        ema = train("whole-ema", *EMA)
    return {"ema": ema, "mean": train("whole-mean", *MEAN)}


def test_validation_and_test_see_the_moving_average(averaged, seen, space):
    course = averaged["ema"]
    content = torch.load(space / "whole-ema/checkpoints/best.ckpt", weights_only=True)
    update = content["global_step"]
    assert sorted(seen.validated) == [3, 6, 9, 12, 15]
    for validated, average in seen.validated.items():
        by_now = by_hand(seen.trained[:validated], 0.999)
        assert average.double() == pytest.approx(by_now, rel=1e-4, abs=1e-7)
    assert torch.equal(vector(load_trained(space / "whole-ema").model), seen.validated[update])
    assert course.training["val_loss"] == min(loss for loss, _ in content["validations"])


def at_every(monkeypatch: pytest.MonkeyPatch, where: type, hook: str, happens: Any) -> None:
    """Call ``happens`` with the arguments of each call of a hook, before the hook."""
    original = getattr(where, hook)

    def patched(self: Any, *arguments: Any) -> Any:
        happens(*arguments)
        return original(self, *arguments)

    monkeypatch.setattr(where, hook, patched)


DRAWN = random.Random(44).sample(range(1, 16), 2)


@pytest.mark.long
@pytest.mark.parametrize("more", [EMA, MEAN], ids=["ema", "mean"])
def test_a_killed_training_ends_with_the_same_average(train, averaged, space, monkeypatch, more):
    """Killed at drawn updates and in a validation; then its folder is moved."""
    name = "ema" if more is EMA else "mean"
    for hook, time in (*[("training_step", update) for update in DRAWN], ("validation_step", 2)):
        with monkeypatch.context() as patched:
            at(patched, TranslationModule, hook, time, killed)
            with pytest.raises(Killed):
                train(f"{name}-{hook}", *more[:-1], EVERY_UPDATE)
    ended = (space / f"{name}-validation_step").rename(space / f"{name}-moved")
    assert train(ended.name, *more) == averaged[name]
    assert train(f"{name}-training_step", *more) == averaged[name]
    assert kept(ended) == kept(space / f"whole-{name}")


def kept(folder: Any) -> dict[str, bytes]:
    """Return the weights in the checkpoints of an average, by their names."""
    files = sorted((folder / "checkpoints").glob("update-*.ckpt"))
    return {file.name: weights_of(file) for file in files}


def weights_of(file: Any) -> bytes:
    state = torch.load(file, weights_only=True)["state_dict"]
    return b"".join(tensor.numpy().tobytes() for tensor in state.values())


@pytest.mark.parametrize("times", [(1, 5), (15,)], ids=["twice", "last"])
def test_a_signal_in_a_validation_saves_the_trained_weights_as_such(
    train, averaged, monkeypatch, times
):
    name = f"signal-{times[-1]}"
    for time in times:
        with monkeypatch.context() as patched:
            terminated = partial(signal.raise_signal, signal.SIGTERM)
            at(patched, TranslationModule, "validation_step", time, terminated)
            with pytest.raises(TerminatedError):
                train(name, *EMA)
    assert train(name, *EMA) == averaged["ema"]


def test_the_mean_of_the_last_checkpoints_is_tested(averaged, space):
    folder, course = space / "whole-mean" / "checkpoints", averaged["mean"]
    files = sorted(folder.glob("update-*.ckpt"))
    assert [int(file.stem.partition("-")[2]) for file in files] == [9, 12, 15]
    states = [torch.load(file, weights_only=True)["state_dict"] for file in files]
    tested = torch.load(folder / "best.ckpt", weights_only=True)
    for name, tensor in tested["state_dict"].items():
        mean = sum(state[name].double() for state in states) / 3
        assert torch.equal(tensor, mean.to(tensor.dtype))
    assert torch.equal(vector(load_trained(space / "whole-mean").model), mean_vector(files))
    *before, last = tested["validations"]
    assert before == validations(space / "whole-mean")
    assert last == (course.training["val_loss"], course.training["val_bleu"])
    assert last not in before
    assert "optimizer_states" not in tested


def mean_vector(files: Any) -> torch.Tensor:
    trained = load_trained(files[0])
    trained.model.load_state_dict(
        {name.removeprefix("model."): tensor for name, tensor in mean_weights(files).items()}
    )
    return vector(trained.model)


def test_the_mean_of_one_checkpoint_is_validated_as_in_the_training(train, averaged, space):
    course = train("one", "callbacks=average", "callbacks.average.k=1", SELDOM)
    last = validations(space / "whole-mean")[-1]
    assert (course.training["val_loss"], course.training["val_bleu"]) == last


def validations(folder: Any) -> list[tuple[float, float]]:
    """Return loss and BLEU of each validation of a training."""
    return torch.load(folder / "checkpoints/last.ckpt", weights_only=True)["validations"]


def test_the_best_checkpoints_are_those_of_the_lowest_loss(train, space, monkeypatch):
    losses = iter([3.0, 1.0, 2.0, 5.0, 4.0, 1.5])
    monkeypatch.setattr(TranslationModule, "validation", lambda _: Validation(next(losses), 7.0))
    best = ["callbacks=average", "callbacks.average.k=2", "callbacks.average.of=best"]
    course = train("best", *best, SELDOM)
    files = kept(space / "best")
    assert [*files] == ["update-000000006.ckpt", "update-000000009.ckpt"]
    assert course.training["val_loss"] == 1.5
    line = "is 1.5000, and 1.0000 in another validation; callbacks=default"
    assert any(line in doubt for doubt in course.training["suspicions"])


def test_a_checkpoint_that_is_gone_ends_in_a_line(train, space, averaged):
    shutil.copytree(space / "whole-mean", space / "gone")
    (space / "gone/checkpoints/update-000000012.ckpt").unlink()
    with refused("update-000000012.ckpt: is gone", "put it back, or give force=true to train anew"):
        train("gone", *MEAN)
    shutil.copy(space / "whole-mean/checkpoints/update-000000012.ckpt", space / "gone/checkpoints")
    assert train("gone", *MEAN) == averaged["mean"]


def test_a_training_with_few_validations_averages_those_and_says_so(train, space):
    course = train("few", "callbacks=average", "trainer.val_check_interval=8", SELDOM)
    assert len(kept(space / "few")) == 2
    line = "the mean of 2 checkpoints is tested, not of 5: there were no more validations"
    assert any(line in doubt for doubt in course.training["suspicions"])


@pytest.mark.long
@pytest.mark.parametrize("more", [EMA, MEAN], ids=["ema", "mean"])
def test_ranks_average_the_same_weights(space, more):
    """Two ranks and one, which computes the same two pieces; in float64 they differ by rounding."""
    settings = [*SETTINGS, *places(space), *more, "trainer.precision=64-true", "batching.pieces=2"]
    settings = [each.replace("batching.pieces", "+batching.pieces") for each in settings]
    files = []
    for ranks in (1, 2):
        devices = ["trainer.accelerator=cpu"] if ranks == 1 else ["trainer=ddp_cpu"]
        job = Job(train_task, space / f"{more[0]}-{ranks}", [*settings, *devices])
        on_ranks(ranks, run_jobs, [job])
        files.append(job.folder / "checkpoints" / "best.ckpt")
        assert read_history(job.folder)
    alone, shared = (torch.load(file, weights_only=True) for file in files)
    assert alone["validations"][-1] == pytest.approx(shared["validations"][-1], rel=1e-9)
    for name, tensor in alone["state_dict"].items():
        assert tensor.dtype == torch.float64
        assert torch.allclose(tensor, shared["state_dict"][name], rtol=1e-9, atol=1e-12)
