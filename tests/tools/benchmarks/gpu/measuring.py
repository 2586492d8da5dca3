"""The measurements of training and search, on sentences of random words.

A training is set up by the task itself, with its settings, callbacks and kernels, so that what is
measured is what a user gets.
"""

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

import pytorch_lightning as pl
import torch
from hydra import initialize_config_dir
from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig
from torch import nn

from datamodules.batching import Batch
from datamodules.tokenization import EOS
from datamodules.translation_data import TranslationData
from lightning_modules.kernels.choice import PLAIN, describe_kernels, kernels_in_use, use_kernels
from lightning_modules.runs.job import Job
from lightning_modules.runs.provenance import ROOT
from lightning_modules.tasks.train import sized_for_data, tracked_training
from lightning_modules.training import factories
from lightning_modules.training.process import prepare_process
from lightning_modules.training.setup import TrainingSetup
from lightning_modules.variants import EmbeddedEncoderDecoder
from sweeps.launch.compose import hydra_job
from sweeps.launch.resolvers import register
from tests.helpers.searches import beam_search, greedy_search
from tests.tools.benchmarks.gpu import random_text
from tests.tools.benchmarks.rivals.bare import BareLoop
from tests.tools.benchmarks.worker import Windows, batches_on, search_rate, train
from tests.tools.benchmarks.workloads import WORKLOADS, overrides_at

CACHE = ROOT / "outputs" / "benchmarks" / "gpu" / "cache"
LIGHTNING_PRECISION = {"bf16": "bf16-mixed", "float32": "32-true"}
Size = Literal["laptop", "published"]
SIZES: tuple[Size, ...] = ("published", "laptop")
PRECISIONS = ("bf16", "float32")
FILES: dict[str, dict[Size, str]] = {
    "Transformer": {"laptop": "transformer", "published": "transformer_base"},
    "RNNsearch": {"laptop": "bahdanau", "published": "rnnsearch"},
    "Luong, global": {"laptop": "luong_global", "published": "luong_global_dot"},
    "Luong, local": {"laptop": "luong_local", "published": "luong_local_m"},
    "no attention": {"laptop": "seq2seq", "published": "rnnencdec"},
    "Transformer big": {"published": "transformer_big"},
}
"""Headline variants: the file of ``conf/model`` for each size."""
LOOPS = {
    "one layer, additive": "additive, previous state",
    "one layer, general": "general, input feeding",
}
"""RNNsearch and Luong's model with one layer of LSTM units: ``BareRnn`` is the same model. Each is
a workload of ``make benchmark``."""
SPECIAL_TOKENS = 4


class Load(NamedTuple):
    """How much is computed: the sizes of published systems, of laptops, or of a try on a CPU."""

    vocabulary: int
    width: int  # of the systems in `LOOPS`
    tokens: int  # most padded tokens of a side in a training batch
    pairs: int = 60_000  # number of training pairs
    sentences: int = 2_000  # number of sentences that are translated
    warm_up: int = 10  # windows of updates in which kernels are compiled and graphs captured
    windows: int = 5  # windows of updates that are timed
    further: tuple[str, ...] = ()  # overrides


LOADS: dict[Size, Load] = {
    "laptop": Load(vocabulary=10_000, width=256, tokens=4_096),
    "published": Load(vocabulary=32_000, width=1000, tokens=25_000),
}
MINIATURE = Load(
    vocabulary=40,
    width=16,
    tokens=150,
    pairs=60,
    sentences=8,
    warm_up=1,
    windows=1,
    further=("scale=0.02", "model.dropout=0", "threads=1"),
)
"""For a try on a CPU."""


class System(NamedTuple):
    """A model at one size and precision."""

    variant: str  # key of `FILES` or of `LOOPS`
    size: Size
    precision: str

    def __str__(self) -> str:
        return f"{self.variant}, {self.size}, {self.precision}"

    def model(self, width: int) -> list[str]:
        """Return the overrides of the model; a system of ``LOOPS`` has this width."""
        if self.variant in LOOPS:
            return overrides_at(LOOPS[self.variant], width)
        return [f"model={FILES[self.variant][self.size]}"]

    def bare_model(self, vocabulary: int, width: int) -> nn.Module:
        """Build the same model in plain PyTorch, for a system of ``LOOPS``."""
        return WORKLOADS[LOOPS[self.variant]].bare(vocabulary, width=width)


Kind = Literal["auto", "plain", "loop", "search"]
"""What is measured of a system: its training with the kernels that the policy chooses, and with
PyTorch's own; the training of ``BareRnn``; greedy and beam search."""
PLAIN_TRAINING = ("kernels=plain", "compile=null")


def measure(system: System, kind: Kind, load: Load, device: str) -> dict[str, Any]:
    """Return the figures of a system."""
    gc.collect()
    torch.manual_seed(1)
    torch._dynamo.reset()
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    try:
        if kind == "loop":
            return in_plain_loop(system, load, device)
        if kind == "search":
            return searched(system, load, device)
        return trained(system, kind, load, device)
    finally:
        use_kernels(PLAIN)


def training_overrides(system: System, load: Load, device: str) -> list[str]:
    """Return the overrides of a training on random words that does nothing but updates."""
    return [
        *system.model(load.width),
        f"trainer.precision={LIGHTNING_PRECISION[system.precision]}",
        "data=random_words",
        f"data.words={load.vocabulary - SPECIAL_TOKENS}",
        f"data.train_size={load.pairs}",
        f"data.test_size={load.sentences}",
        "tokenizer.min_frequency=1",
        "tokenizer.shared=true",
        f"tokenizer.vocabulary_size={load.vocabulary}",
        f"batching.max_tokens={load.tokens}",
        "budget=updates",
        "budget.updates=1000000",  # the watch ends the training
        "trainer.val_check_interval=1000000",
        f"trainer.accelerator={'gpu' if device == 'cuda' else 'cpu'}",
        "devices.gpus_per_job=0",
        "~callbacks.learning_curve",
        "~callbacks.resume_checkpoint",  # which saves at the end
        "logger=none",
        f"cache_dir={CACHE}",
        *load.further,
    ]


@contextmanager
def job_of(overrides: Sequence[str]) -> Iterator[tuple[Job, DictConfig]]:
    """Yield a job with these overrides, whose folder is removed with the context."""
    register()
    node = {
        "_target_": f"{random_text.__name__}.{random_text.RandomWords.__name__}",
        **{"words": 32_000, "train_size": 60_000, "val_size": 8, "test_size": 8},
    }
    ConfigStore.instance().store(name="random_words", group="data", node=node)
    with (
        TemporaryDirectory() as folder,
        initialize_config_dir(str(ROOT / "conf"), version_base="1.3"),
        hydra_job([*overrides, f"outputs={folder}"], Path(folder, "run")) as (job, config),
    ):
        yield job, config


class Watch(pl.Callback):
    """Time updates, and end the training when the windows are full."""

    def __init__(self, load: Load) -> None:
        self.windows = Windows(load.windows, load.warm_up)

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: Any, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        """Count the update."""
        if self.windows.add(batch):
            trainer.should_stop = True


@contextmanager
def training(
    overrides: Sequence[str], *callbacks: pl.Callback
) -> Iterator[tuple[pl.Trainer, TrainingSetup]]:
    """Set a training up as ``task=train`` does."""
    with (
        job_of(overrides) as (job, config),
        tracked_training(config, sized_for_data(config), job, *callbacks) as (trainer, setup, _),
    ):
        yield trainer, setup


def trained(system: System, kind: Kind, load: Load, device: str) -> dict[str, Any]:
    """Train as ``task=train`` does; return the rate, the FLOPs of a target token, the kernels."""
    given = [
        *training_overrides(system, load, device),
        *(PLAIN_TRAINING if kind == "plain" else ()),
    ]
    watch = Watch(load)
    with training(given, watch) as (trainer, setup):
        kernels = describe_kernels(kernels_in_use())
        trainer.fit(setup.module, datamodule=setup.data)
        return watch.windows.result() | {
            "kernels": kernels,
            "flops_per_token": setup.flops.per_target_token(setup.data.training_pairs),
        }


@contextmanager
def data_of(overrides: Sequence[str]) -> Iterator[tuple[DictConfig, TranslationData]]:
    """Yield the configuration of a training and its data, with the process made ready."""
    with job_of(overrides) as (_, config):
        prepare_process(config)
        yield config, sized_for_data(config)


def in_plain_loop(system: System, load: Load, device: str) -> dict[str, Any]:
    """Train the same model in a plain PyTorch loop on the same batches."""
    with data_of(training_overrides(system, load, device)) as (_, data):
        model = system.bare_model(len(data.tokenizers.target), load.width).to(device)
        loop = BareLoop(model, torch.bfloat16 if system.precision == "bf16" else None)
        batches = batches_on(data.train_dataloader(), device)
        return train(loop.step, batches, load.windows)


def searched(system: System, load: Load, device: str) -> dict[str, Any]:
    """Translate with hypotheses as long as their sources; return sentences per second."""
    with data_of(training_overrides(system, load, device)) as (config, data):
        use_kernels(factories.search_kernels(config))
        model = factories.build_model(config, *data.vocabulary_sizes).to(device).eval()
        assert isinstance(model, EmbeddedEncoderDecoder)
        with torch.no_grad():
            model.output.bias[EOS] = -1e4
        # The trainer knows the device, by whose memory batches are as large as they may be.
        quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar"), False)
        data.trainer = factories.build(config, "trainer", **quiet)
        batches = list(data.test_dataloader())
        limits: Any = {"max_ratio": 1.0, "max_extra": 0, "bf16": system.precision == "bf16"}
        searches = {"greedy": greedy_search(**limits), "beam": beam_search(5, **limits)}
        return {
            **{name: search_rate(one, model, batches, device) for name, one in searches.items()},
            "kernels": describe_kernels(kernels_in_use()),
        }
