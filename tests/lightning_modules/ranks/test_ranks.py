"""Ranks make the same results as one, and end together."""

import json
import math
import os
import signal
from collections.abc import Callable
from functools import partial
from itertools import chain, count, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from hydra import initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig
from torch import distributed
from torch.nn.utils import parameters_to_vector
from torch.utils.data import DataLoader

from datamodules.batching import (
    LengthBatchSampler,
    Pieces,
    PieceSampler,
    Place,
    WholeBatches,
    as_built,
)
from datamodules.errors import TerminatedError
from lightning_modules.ranks import updates as exchange
from lightning_modules.ranks.updates import RankFlags
from lightning_modules.runs.files import read_history, read_learning_curve
from lightning_modules.runs.paths import LAST
from lightning_modules.tasks.score import score
from lightning_modules.tasks.train import sized_for_data, tracked_training, train
from lightning_modules.training.losses import DivergedError
from lightning_modules.training.module import TranslationModule
from lightning_modules.training.setup import fit
from sweeps.launch.compose import hydra_job
from tests.datamodules.samples import random_pairs
from tests.helpers.commands import ROOT, TINY, places
from tests.helpers.ranks import Job, Losses, on_ranks, run_jobs
from tests.helpers.variants import small_model
from tests.lightning_modules.training.test_training import module

RANKS = (1, 2, 4)
SEVERAL = [pytest.param(2, marks=pytest.mark.long), pytest.param(4, marks=pytest.mark.exhaustive)]
SHORT = [
    *TINY,
    *["data=grammar_easy", "data.train_max_words=8", "data.test_size=12", "batching.max_tokens=30"],
    *["batching.decode_max_tokens=150", "budget.target_tokens=1800", "scale=0.2"],
    *["trainer.val_check_interval=25", "callbacks.examples.count=0", "model.dropout=0.2"],
    *["scoring.resamples=100", "logger=none"],
]
"""About sixty-five updates, some with fewer sentences than pieces."""
TRAINED = [("bahdanau", "32-true"), ("transformer", "64-true")]
TOLERANCE = {"32-true": 1e-5, "64-true": 1e-9}
DROPOUT = {"32-true": 0.0, "64-true": 0.2}
"""With dropout in float32, some gradients are rounding errors, and Adam makes full steps."""


def devices(ranks: int) -> list[str]:
    if ranks == 1:
        return ["trainer.accelerator=cpu"]
    return ["trainer=ddp_cpu", f"trainer.devices={ranks}"]


def trained_as(precision: str, pieces: int) -> list[str]:
    """Return the overrides of a training that writes its losses."""
    return [
        f"trainer.precision={precision}",
        f"batching.pieces={pieces}",
        f"model.dropout={DROPOUT[precision]}",
        "+callbacks.losses._target_=tests.helpers.ranks.Losses",
        "trainer.log_every_n_steps=1",
        "+callbacks.losses.folder=${hydra:runtime.output_dir}",
    ]


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Callable[[int], Path]:
    """Train on one rank and on ``ranks``, and test what one rank has trained; return the folder."""
    space = tmp_path_factory.mktemp("ranks")
    done: set[int] = set()

    def on(ranks: int) -> Path:
        for number in sorted({1, ranks} - done):
            train_and_score(space, number)
            done.add(number)
        return space

    return on


def train_and_score(space: Path, ranks: int) -> None:
    """Train ``TRAINED`` on so many ranks, and test the checkpoints of one rank."""
    jobs = []
    for model, precision in TRAINED:
        settings = [*SHORT, *places(space), *devices(ranks), f"model={model}"]
        training = [*settings, *trained_as(precision, pieces=4)]
        jobs.append(Job(train, space / f"{model}-{ranks}", training))
    for model, _ in TRAINED:
        settings = [*SHORT, *places(space), *devices(ranks)]
        again = ["task=test", f"checkpoint={space / model}-1"]
        jobs.append(Job(score, space / f"{model}-tested-{ranks}", [*settings, *again]))
    scores, *others = on_ranks(ranks, run_jobs, jobs)
    assert None not in scores
    assert others == [[None] * len(jobs)] * (ranks - 1)


def read(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.exhaustive
@pytest.mark.parametrize(("model", "precision"), TRAINED)
@pytest.mark.parametrize("ranks", SEVERAL)
def test_the_same_pieces_make_the_same_updates(trained, ranks, model, precision):
    space = trained(ranks)
    alone, shared = (read(space / f"{model}-{count}" / "losses.json") for count in (1, ranks))
    assert len(alone) >= 50
    assert shared == pytest.approx(alone, rel=TOLERANCE[precision])
    assert alone[-1] < 0.9 * alone[0]


@pytest.mark.parametrize("ranks", SEVERAL)
def test_the_account_of_a_training_is_the_same(trained, ranks):
    space = trained(ranks)
    counted = ("target_tokens", "updates", "epochs", "data_order")
    for model, _ in TRAINED:
        alone, shared = (space / f"{model}-{count}" for count in (1, ranks))
        accounts = [read(folder / "result.json")["training"] for folder in (alone, shared)]
        assert [accounts[0][key] for key in counted] == [accounts[1][key] for key in counted]
        for one, other in zip(read_history(alone), read_history(shared), strict=True):
            assert one.target_tokens == other.target_tokens
            for name in ("train_loss", "val_loss", "val_bleu", "attention_spread"):
                assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-5)
        spreads = [one["start_spread"] for one in accounts]
        assert spreads[0] == pytest.approx(spreads[1], rel=1e-6)
        curves = [read_learning_curve(folder) for folder in (alone, shared)]
        assert curves[0]
        for one, other in zip(*curves, strict=True):
            assert (one.updates, one.target_tokens) == (other.updates, other.target_tokens)
            assert one.val_loss == pytest.approx(other.val_loss, rel=1e-5)


@pytest.mark.parametrize("model", [model for model, _ in TRAINED])
@pytest.mark.parametrize("ranks", SEVERAL)
def test_a_checkpoint_scores_the_same_to_the_last_digit(trained, ranks, model):
    """Some ranks translate a batch that another rank has too; no sentence counts twice."""
    alone, shared = (trained(ranks) / f"{model}-tested-{count}" for count in (1, ranks))
    for name in ("predictions.jsonl", "bleu_by_length.csv"):
        assert (shared / name).read_bytes() == (alone / name).read_bytes()
    assert read(shared / "result.json")["scores"] == read(alone / "result.json")["scores"]


def sigterm_of_the_second(hook: str, time: int, config: DictConfig) -> None:
    """Send SIGTERM to the second rank alone, at call number ``time`` of a hook."""
    original, calls = getattr(TranslationModule, hook), count(1)

    def patched(*arguments: Any) -> Any:
        if next(calls) == time and os.environ["RANK"] == "1":
            signal.raise_signal(signal.SIGTERM)
        return original(*arguments)

    with patch.object(TranslationModule, hook, patched), pytest.raises(TerminatedError):
        train(config)


@pytest.mark.long
@pytest.mark.parametrize(
    ("hook", "time", "updates"), [("training_step", 7, 4), ("validation_step", 1, 25)]
)
def test_sigterm_of_any_rank_ends_all_with_a_checkpoint(tmp_path, hook, time, updates):
    often = ["trainer.log_every_n_steps=1", "batching.pieces=4", "val_sentences=12"]
    overrides = [*SHORT, *places(tmp_path), *devices(2), *often]
    task = partial(sigterm_of_the_second, hook, time)
    on_ranks(2, run_jobs, [Job(task, tmp_path, overrides)])
    last = torch.load(tmp_path / "checkpoints" / "last.ckpt", weights_only=True)
    assert last["global_step"] == updates


def updates_of(place: Place) -> list[list]:
    """Return the pieces of a rank in one epoch, by update."""
    data = random_pairs(60)
    sampler = PieceSampler(LengthBatchSampler(data, 100, shuffle=True), place)
    pieces = [Pieces(data)[piece] for piece in sampler]
    assert len(pieces) == len(sampler)
    turns = place.pieces // place.ranks
    return [pieces[first : first + turns] for first in range(0, len(pieces), turns)]


@pytest.mark.parametrize("ranks", RANKS)
def test_ranks_share_out_the_pieces_of_every_update(ranks):
    whole = [update for [update] in updates_of(Place())]
    shares = [updates_of(Place(rank, ranks, pieces=4)) for rank in range(ranks)]
    assert min(len(update.ids) for update in whole) < 4 < max(len(u.ids) for u in whole)
    for update, *parts in zip(whole, *shares, strict=True):
        pieces = sorted(chain.from_iterable(parts), key=lambda one: one.piece)
        assert [piece.piece for piece in pieces] == [0, 1, 2, 3]
        seen = [piece.ids.tolist() for piece in pieces if piece.weight]
        assert sorted(chain.from_iterable(seen)) == sorted(update.ids.tolist())
        assert max(map(len, seen)) - min(map(len, seen)) <= 1
        for piece in pieces:
            assert np.array_equal(piece.update_ids, update.ids)
            assert piece.update_tokens == update.update_tokens == update.tgt_mask.sum()
            tokens = int(piece.tgt_mask.sum()) if piece.weight else 0
            assert piece.weight == pytest.approx(tokens / update.update_tokens)
            assert len(piece.ids) > 0


@pytest.mark.parametrize("ranks", [1, 2, 3, 50])
def test_ranks_share_out_whole_batches(ranks):
    data = random_pairs(60)
    batches = [rows.tolist() for rows in LengthBatchSampler(data, 100)]
    shares = [
        WholeBatches(LengthBatchSampler(data, 100), Place(rank, ranks)) for rank in range(ranks)
    ]
    given = [[rows.tolist() for rows in share] for share in shares]
    assert {len(rows) for rows in given} == {len(share) for share in shares}
    turns = list(chain.from_iterable(zip(*given, strict=True)))
    assert turns[: len(batches)] == batches
    assert len(turns) - len(batches) < ranks
    assert all(rows in batches for rows in turns)


@pytest.mark.long
@pytest.mark.parametrize("name", ["bahdanau", "transformer"])
def test_pieces_make_the_update_of_the_whole_batch(name):
    """Some updates have fewer sentences than pieces; losses are means over all tokens."""
    losses, weights = {}, {}
    data = random_pairs(30, longest=9)
    for pieces in (1, 4):
        trained = module(optimizer=partial(torch.optim.SGD, lr=0.5))
        trained.model = small_model(name, "model.dropout=0", vocabulary=99)
        losses[pieces] = Losses()
        sampler = PieceSampler(LengthBatchSampler(data, 40, shuffle=True), Place(pieces=pieces))
        trainer = pl.Trainer(
            max_epochs=1,
            precision="64-true",
            accelerator="cpu",
            log_every_n_steps=1,
            accumulate_grad_batches=pieces,
            callbacks=[losses[pieces]],
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.fit(
            trained, DataLoader(Pieces(data), sampler=sampler, batch_size=None, collate_fn=as_built)
        )
        weights[pieces] = parameters_to_vector(trained.model.parameters())
    assert losses[1].values == pytest.approx(losses[4].values, rel=1e-9)
    torch.testing.assert_close(weights[1], weights[4], rtol=1e-6, atol=1e-8)


def exchanges(monkeypatch: Any, pace: float, updates: int, ranks: int = 2) -> list[int]:
    """Return before which updates two ranks exchange, at a pace in seconds for each update."""
    flags, found, clock = RankFlags(), [], [0.0]
    trainer: Any = SimpleNamespace(
        world_size=ranks, global_step=0, accumulate_grad_batches=1, log_every_n_steps=20
    )
    monkeypatch.setattr(exchange.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(distributed, "all_reduce", lambda *_: found.append(trainer.global_step))
    flags.add("save", lambda: True)
    flags.on_train_start(trainer, None)  # type: ignore[arg-type]
    raised = []
    for update in range(updates):
        trainer.global_step = update
        flags.on_train_batch_start(trainer, None, None, update)  # type: ignore[arg-type]
        raised += [update] if flags["save"] else []
        clock[0] += pace
    assert raised == (found if ranks > 1 else list(range(updates)))
    return found


@pytest.mark.parametrize(
    ("pace", "between"), [(0.001, 20), (0.01, 20), (0.1, 10), (0.3, 3), (0.9, 1), (5.0, 1)]
)
def test_ranks_exchange_at_the_pace_of_their_updates(monkeypatch, pace, between):
    found = exchanges(monkeypatch, pace, 100)
    assert found[:2] == [0, 1]  # the pace is known after the first update
    assert {after - before for before, after in pairwise(found[1:])} == {between}
    assert between * pace <= 2 or between == 1


def test_a_single_rank_asks_before_every_update_and_sends_nothing(monkeypatch):
    assert exchanges(monkeypatch, 0.001, 50, ranks=1) == []


UPDATE = 5  # the update whose loss is NaN on the second rank


def error_of_a_rank(folder: str) -> str:
    original = TranslationModule.loss

    def broken(self, *arguments, **named):
        wrong = self.global_rank == 1 and self.global_step == UPDATE - 1
        return original(self, *arguments, **named) * (math.nan if wrong else 1)

    HydraConfig.instance().cfg = None
    given = [*TINY, *places(Path(folder)), "logger=none", "trainer=ddp_cpu", "batching.pieces=2"]
    with (
        pytest.MonkeyPatch.context() as patch,
        initialize_config_dir(str(ROOT / "conf"), version_base="1.3"),
        hydra_job([*given, "model=transformer"], Path(folder) / "run") as (job, config),
        tracked_training(config, sized_for_data(config), job) as (trainer, setup, _),
    ):
        patch.setattr(TranslationModule, "loss", broken)
        with pytest.raises(DivergedError) as ended:
            fit(trainer, setup)
    return str(ended.value)


@pytest.mark.long
def test_a_nan_on_one_rank_ends_all_ranks_and_no_checkpoint_has_it(tmp_path):
    first, second = on_ranks(2, error_of_a_rank, str(tmp_path))
    assert first == second
    assert f"the training loss is nan at update {UPDATE}, " in first
    checkpoints = tmp_path / "run" / "checkpoints"
    last = torch.load(checkpoints / LAST, weights_only=True)
    assert last["global_step"] < UPDATE
    assert all(value.isfinite().all() for value in last["state_dict"].values())
    assert (checkpoints / "not_finite.ckpt").is_file()
