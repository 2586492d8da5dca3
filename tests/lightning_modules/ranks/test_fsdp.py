"""Parameters that are shared out among the ranks train as if every rank had all parameters."""

import json
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig
from pytorch_lightning.utilities.exceptions import SIGTERMException
from torch import distributed

from datamodules.errors import TerminatedError, UserError
from lightning_modules.ranks.fsdp import share_parameters
from lightning_modules.tasks.test import test as score
from lightning_modules.tasks.train import train
from lightning_modules.training.checkpoints import load_trained
from lightning_modules.training.module import TranslationModule
from tests.helpers.commands import TINY, mistake, places
from tests.helpers.ranks import Job, on_ranks, run_jobs
from tests.helpers.variants import small_model
from tests.lightning_modules.ranks.test_ranks import SHORT

SHARED, COPIED = "trainer=fsdp_cpu", "trainer=ddp_cpu"
TRANSFORMER = ["model=transformer", "model.tied=all", "tokenizer.shared=true"]
RECURRENT = ["model=bahdanau", "teacher_forcing=scheduled"]
STEADY = ["optimizer.eps=1e-2", "optimizer.lr=1e-2"]
"""With its usual ``eps``, Adam makes full steps from rounding errors."""
TRAINED = {
    "transformer-copied": [*TRANSFORMER, *STEADY, COPIED],
    "transformer-shared": [*TRANSFORMER, *STEADY, SHARED, "activation_checkpointing=true"],
    "recurrent-copied": [*RECURRENT, *STEADY, COPIED],
    "recurrent-shared": [*RECURRENT, *STEADY, SHARED],
    "bfloat16-copied": [*TRANSFORMER, *STEADY, COPIED, "trainer.precision=bf16-mixed"],
    "bfloat16-shared": [*TRANSFORMER, *STEADY, SHARED, "trainer.precision=bf16-mixed"],
}

CUTS = {"at the start": ("training_step", 1), "in a validation": ("on_validation_epoch_end", 2)}


def cut_off(hook: str, time: int, config: DictConfig) -> None:
    """Raise SIGTERM at call number ``time`` of a hook."""
    original, calls = getattr(TranslationModule, hook), count(1)

    def ends(*arguments: Any) -> Any:
        if next(calls) == time:
            raise SIGTERMException
        return original(*arguments)

    terminated = pytest.raises((TerminatedError, SIGTERMException))
    with patch.object(TranslationModule, hook, ends), terminated:
        train(config)


def retested(config: DictConfig) -> None:
    """Repeat the test alone, after a finished training."""
    result = Path(HydraConfig.get().runtime.output_dir) / "result.json"
    before = read(result)["scores"]
    distributed.barrier()
    result.unlink(missing_ok=True)
    train(config)
    distributed.barrier()
    assert read(result)["scores"] == before


@pytest.fixture(scope="module")
def space(tmp_path_factory) -> Path:
    """Train on two ranks, with copies and with parts of the parameters."""
    space = tmp_path_factory.mktemp("fsdp")
    common = [*SHORT, *places(space), "batching.pieces=4", "trainer.gradient_clip_val=0.1"]
    common += ["budget.target_tokens=300", "trainer.val_check_interval=4"]
    losses = [
        "+callbacks.losses._target_=tests.helpers.ranks.Losses",
        "trainer.log_every_n_steps=1",
    ]
    losses += ["+callbacks.losses.folder=${hydra:runtime.output_dir}"]
    jobs = [Job(train, space / name, [*common, *losses, *given]) for name, given in TRAINED.items()]
    again = [*common, *TRAINED["transformer-shared"]]
    for name, cut in CUTS.items():
        jobs += [Job(task, space / name, again) for task in (partial(cut_off, *cut), train)]
    jobs.append(Job(retested, space / name, again))
    on_ranks(2, run_jobs, jobs)
    return space


def read(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


def weights(folder: Path, name: str) -> dict[str, torch.Tensor]:
    """Read the weights in one process, after the ranks have ended."""
    return torch.load(folder / f"checkpoints/{name}.ckpt", weights_only=True)["state_dict"]


@pytest.mark.exhaustive
@pytest.mark.long
@pytest.mark.parametrize("name", ["transformer", "recurrent", "bfloat16"])
def test_parts_make_the_updates_of_copies(space, name):
    copied, shared = (space / f"{name}-{kind}" for kind in ("copied", "shared"))
    losses = [read(folder / "losses.json") for folder in (copied, shared)]
    assert len(losses[0]) >= 10
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)
    results = [read(folder / "result.json") for folder in (copied, shared)]
    assert results[0]["parameters"] == results[1]["parameters"]
    for key in ("target_tokens", "updates", "flops", "data_order"):
        assert results[0]["training"][key] == results[1]["training"][key]
    for file in ("best", "last"):
        torch.testing.assert_close(
            weights(shared, file), weights(copied, file), rtol=1e-4, atol=1e-6
        )


@pytest.mark.exhaustive
@pytest.mark.long
def test_bfloat16_is_another_training_of_about_the_same_losses(space):
    exact, rounded = (read(space / f"{n}-copied/losses.json") for n in ("transformer", "bfloat16"))
    assert exact != rounded
    assert rounded == pytest.approx(exact, rel=2e-2)


@pytest.mark.exhaustive
@pytest.mark.long
def test_one_process_translates_alike_with_what_several_trained(space):
    folder = space / "transformer-shared"
    load_trained(folder)
    given = [*SHORT, *places(space), *TRANSFORMER, "task=test", f"checkpoint={folder}"]
    [scores] = on_ranks(
        1, run_jobs, [Job(score, space / "tested", [*given, "trainer.accelerator=cpu"])]
    )
    assert scores == [read(folder / "result.json")["scores"]["bleu"]]
    kept = "predictions.jsonl"
    assert (space / "tested" / kept).read_bytes() == (folder / kept).read_bytes()


@pytest.mark.exhaustive
@pytest.mark.long
@pytest.mark.parametrize("cut", CUTS)
def test_parts_go_on_from_where_they_were_cut_off(space, cut):
    whole, resumed = space / "transformer-shared", space / cut
    for file in ("best", "last"):
        tensors, expected = weights(resumed, file), weights(whole, file)
        assert all(tensors[name].equal(expected[name]) for name in expected)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("name", "override", "message"),
    [
        ("luong_cosine", "model.dropout=0", "log_temperature, one number; use trainer=ddp"),
        ("transformer", "model.placement.decoder=cpu", "set model.placement.PART=null"),
    ],
)
def test_a_model_that_cannot_be_shared_out_is_told_in_a_line(name, override, message):
    nobody: Any = None
    with pytest.raises(UserError) as caught:
        share_parameters(nobody, small_model(name, override), nobody, by_layers=True)
    assert message in str(caught.value)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["trainer.precision=16-mixed"], "trainer.precision=16-mixed: needs a GPU"),
        ([SHARED, "trainer.precision=64-true"], "trainer.precision=64-true: trainer=fsdp takes"),
        (["activation_checkpointing=deep"], "activation_checkpointing"),
    ],
)
def test_what_cannot_be_is_told_in_a_line(tmp_path, given, message):
    common = [*TINY, *places(tmp_path), "logger=none", "scale=0.1"]
    assert message in mistake(*common, "trainer.accelerator=cpu", *given)
