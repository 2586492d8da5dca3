"""A training that ends before its budget is spent says so, with the setting; others say nothing."""

import pytest
import pytorch_lightning as pl
from hydra import initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from pytorch_lightning.callbacks import EarlyStopping

from lightning_modules.ranks.updates import RankFlags
from lightning_modules.runs.schema import Training
from lightning_modules.tasks.train import sized_for_data, tracked_training
from lightning_modules.training.setup import fit
from sweeps.launch.compose import hydra_job
from tests.helpers.commands import ROOT, TINY, mistake, places

SETTINGS = [
    *(each for each in TINY if not each.startswith("budget")),
    *["scale=0.1", "data=grammar_easy", "data.train_size=60", "batching.max_tokens=320"],
    *["batching.decode_max_tokens=130", "logger=none"],
]
TOKENS = "budget.target_tokens=3000"


class OwnStopping(EarlyStopping):
    """A class derived from Lightning's, which watches its numbers too."""


class Watcher(pl.Callback):
    """Watches a number of its own."""

    def __init__(self, monitor: str) -> None:
        self.monitor = monitor


@pytest.fixture
def train(space):
    """Train, without a test, in a folder of the space."""

    def trained(*overrides: str) -> Training:
        HydraConfig.instance().cfg = None
        folder = space / "-".join(each.strip("+") for each in overrides)
        given = [*SETTINGS, *places(space), *overrides]
        with (
            initialize_config_dir(str(ROOT / "conf"), version_base="1.3"),
            hydra_job(given, folder) as (job, config),
        ):
            data = sized_for_data(config)
            with tracked_training(config, data, job) as (trainer, setup, _):
                return fit(trainer, setup)

    return trained


@pytest.mark.parametrize(
    ("overrides", "cause"),
    [
        (["+trainer.fast_dev_run=true"], "trainer.fast_dev_run=true"),
        (["+trainer.max_steps=3"], "trainer.max_steps=3"),
        (["trainer.max_epochs=1"], "trainer.max_epochs=1"),
        (
            [
                "+callbacks.clock._target_=pytorch_lightning.callbacks.Timer",
                "+callbacks.clock.duration={seconds: 0}",
            ],
            "callbacks.clock",
        ),
        (["+trainer.max_time=00:00:00:00"], "trainer.max_time=00:00:00:00"),
        (
            [
                "optimizer.lr=1e-12",
                "callbacks=early_stopping",
                "callbacks.early_stopping.patience=1",
            ],
            "callbacks.early_stopping",
        ),
    ],
)
def test_a_budget_that_is_left_unspent_is_told_with_the_setting(train, overrides, cause):
    training = train(TOKENS, *overrides)
    assert training.target_tokens < 3000
    assert training.ended_by == cause
    [line] = [each for each in training.suspicions if "ended the training" in each]
    share = training.target_tokens / 3000
    assert line.startswith(f"{cause} ended the training after {share:.1%} of its budget of 3,000 ")


@pytest.mark.parametrize("overrides", [[TOKENS], ["budget=updates", "budget.updates=4"]])
def test_a_budget_that_is_spent_is_not_told(train, overrides):
    training = train(*overrides, "+trainer.max_steps=4000")
    assert training.ended_by is None
    assert not any("ended the training" in each for each in training.suspicions)


def test_a_budget_that_another_rank_has_spent_is_not_told(train, monkeypatch):
    monkeypatch.setattr(RankFlags, "__getitem__", lambda flags, name: name == "spent")
    training = train(TOKENS)
    assert training.target_tokens < 3000
    assert training.ended_by is None
    assert not any("ended the training" in each for each in training.suspicions)


def test_a_callback_of_another_class_may_watch_any_number(train):
    name = "callbacks.watcher"
    given = [f"+{name}._target_={__name__}.Watcher", f"+{name}.monitor=own/number"]
    assert train(TOKENS, *given).ended_by is None


def test_a_training_without_validation_says_so(train):
    training = train(TOKENS, "+trainer.limit_val_batches=0")
    assert (training.val_loss, training.val_bleu, training.ended_by) == (None, None, None)
    assert any("no validation took place" in each for each in training.suspicions)


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (
            ["callbacks.checkpoint.monitor=val_loss"],
            "callbacks.checkpoint.monitor=val_loss: give one of val/loss, val/bleu, val/impr",
        ),
        (
            ["callbacks.checkpoint.monitor=val/loss"],
            "callbacks.checkpoint.monitor=val/loss: its best is its minimum; set "
            "callbacks.checkpoint.mode=min",
        ),
        (
            ["callbacks=early_stopping", "+callbacks.early_stopping.min_delta=0.1"],
            "callbacks.early_stopping.min_delta=0.1: val/improvements counts in ones",
        ),
        (["scheduler=plateau", "+scheduler.mode=max"], "scheduler.mode"),
        (["+callbacks.checkpoint.save_top_k=3"], "checkpoint.save_top_k: a run keeps one checkp"),
        (["callbacks.checkpoint.filename=model"], "checkpoint.filename: a run keeps one checkp"),
        (["+callbacks.x.foo=1"], "callbacks.x: give its class, +callbacks.x._target_=CLASS"),
        (["+callbacks.x=1"], "callbacks.x: give its class, +callbacks.x._target_=CLASS"),
        (
            [f"+callbacks.x._target_={__name__}.OwnStopping", "+callbacks.x.monitor=val_loss"],
            "callbacks.x.monitor=val_loss: give one of val/loss",
        ),
        (
            ["+callbacks.x._target_=nowhere.Watcher", "+callbacks.x.monitor=val_loss"],
            "callbacks.x._target_=nowhere.Watcher: ",
        ),
        (["trainer.precision=banana"], "trainer: Precision 'banana' is invalid"),
        (["trainer.precision=banana"], "correct trainer.KEY=VALUE"),
        (["+trainer.barebones=true"], "trainer: `Trainer(barebones=True"),
        (["+trainer.enable_progress_bar=true"], "trainer.enable_progress_bar=True: the terminal"),
        (["+trainer.logger=true"], "trainer.logger=True: choose logger=NAME"),
        (
            [
                "+callbacks.pieces._target_="
                "pytorch_lightning.callbacks.GradientAccumulationScheduler",
                "+callbacks.pieces.scheduling={0: 2}",
            ],
            "callbacks.pieces: set batching.pieces=N instead",
        ),
        (["trainer.accelerator=tpu"], "trainer: Requirement 'torch_xla"),
        (["+trainer.min_steps=9"], "trainer.min_steps=9: a training ends when its budget is spent"),
        (
            ["+callbacks.bar._target_=pytorch_lightning.callbacks.TQDMProgressBar"],
            "trainer: Trainer was configured with `enable_progress_bar=False` but found",
        ),
        (
            ["+callbacks.rates._target_=pytorch_lightning.callbacks.LearningRateMonitor"],
            "Cannot use `LearningRateMonitor` callback with `Trainer` that has no logger",
        ),
        (["+trainer.limit_train_batches=2"], "trainer.limit_train_batches=2: a resumed training"),
        (["+trainer.overfit_batches=1"], "trainer.overfit_batches=1: validation has a text of"),
        (["trainer.num_sanity_val_steps=1"], "trainer.num_sanity_val_steps=1: the first valid"),
    ],
)
def test_what_does_not_fit_this_training_is_refused(space, overrides, told):
    assert told in mistake(*SETTINGS, *places(space), *overrides)


def test_a_budget_of_seconds_needs_no_other_setting(train):
    training = train("budget=seconds", "budget.seconds=0.2")
    assert training.seconds >= 0.2


def test_a_profiler_shows_its_table(train, caplog):
    caplog.set_level("INFO")
    train(TOKENS, "+trainer.profiler=simple")
    assert "FIT Profiler Report" in caplog.text
