"""The measurements on a GPU, which tests make on the CPU. Sentences are random, long as in news."""

import gc
import logging
from functools import cache
from itertools import product
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import pytorch_lightning as pl
import torch
from torch import nn
from torch.optim.lr_scheduler import ConstantLR

from datamodules.batching import (
    Batch,
    EncodedPairs,
    Feed,
    LengthBatchSampler,
    Pieces,
    PieceSampler,
    Place,
    Sequences,
)
from datamodules.tokenization import EOS
from lightning_modules.kernels.precision import keep_attention_off_cudnn, use_matmul_precision
from lightning_modules.training.factories import build_model, build_optimizer, compile_blocks
from lightning_modules.training.module import TranslationModule
from lightning_modules.variants import EmbeddedEncoderDecoder
from tests.helpers.searches import beam_search, greedy_search
from tests.helpers.variants import configuration, flops_of
from tests.tools.benchmarks.rivals.bare import BareLoop
from tests.tools.benchmarks.worker import Windows, batches_on, search_rate, train
from tests.tools.benchmarks.workloads import WORKLOADS, overrides_at

MEDIAN, SPREAD = 24, 0.55
"""Parameters of the log-normal lengths of source sentences: 28 subwords on average, as in WMT's
news."""
RATIO_SPREAD = 0.15  # spread of the logarithm of target over source length
SHORTEST, LONGEST = 3, 100


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
}
"""Headline variants: the file of ``conf/model`` for each size."""
LOOPS = {
    "one layer, additive": "additive, previous state",
    "one layer, general": "general, input feeding",
}
"""RNNsearch and Luong's model with one layer of LSTM units: ``BareRnn`` is the same model. Each is
a workload of ``make benchmark``."""
WIDTHS: dict[Size, int] = {"laptop": 256, "published": 1000}


class Load(NamedTuple):
    vocabulary: int
    tokens: int  # most padded tokens of a side in a training batch
    decode_tokens: int = 25_000
    pairs: int = 60_000  # number of training pairs; the time ends before the first epoch
    sentences: int = 2_000  # number of sentences that are translated
    windows: int = 3


LOADS: dict[Size, Load] = {
    "laptop": Load(vocabulary=10_000, tokens=4_096),
    "published": Load(vocabulary=32_000, tokens=25_000),
}


class Case(NamedTuple):
    """A case: one model at one size and precision, and what is measured of it."""

    variant: str  # key of `FILES` or of `LOOPS`
    size: Size
    work: Literal["train", "plain", "decode"]  # `plain` is the training of `BareRnn`
    precision: str
    compiled: bool = False

    def __str__(self) -> str:
        compiled = ", compiled" * self.compiled
        return f"{self.work}: {self.variant}, {self.size}, {self.precision}{compiled}"

    @property
    def overrides(self) -> list[str]:
        """The overrides of the model; one vocabulary, as ``model.tied=all`` needs."""
        if self.variant in LOOPS:
            model = overrides_at(LOOPS[self.variant], WIDTHS[self.size])
        else:
            model = [f"model={FILES[self.variant][self.size]}"]
        return [*model, "tokenizer.shared=true"]

    def plain_model(self, vocabulary: int) -> nn.Module:
        """Build the same model in plain PyTorch, for a case of ``LOOPS``."""
        return WORKLOADS[LOOPS[self.variant]].bare(vocabulary, width=WIDTHS[self.size])


def all_cases() -> list[Case]:
    """Return all measurements: published sizes in bf16 first, and what is compiled last."""
    found = []
    for precision, size in product(PRECISIONS, SIZES):
        for name in LOOPS:
            found += [Case(name, size, "plain", precision), Case(name, size, "train", precision)]
        for name in FILES:
            found += [Case(name, size, "train", precision), Case(name, size, "decode", precision)]
        found += [Case(name, size, "train", precision, True) for name in (*LOOPS, *FILES)]
    return found


def measure(case: Case, load: Load, device: str) -> dict[str, Any]:
    gc.collect()
    torch.manual_seed(1)
    use_matmul_precision("highest")  # as task=train does, also in the RNNs of cuDNN
    keep_attention_off_cudnn()
    torch._dynamo.reset()
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    if case.work == "decode":
        return decoded(case, load, device)
    if case.work == "plain":
        return plainly_trained(case, load, device)
    return trained(case, load, device) | {
        "flops_per_token": flops_per_token(case.variant, case.size, load)
    }


@cache
def flops_per_token(variant: str, size: Any, load: Load) -> float:
    """Return the FLOPs of an update for each target token, as ``budget=flops`` counts them."""
    config = configuration(*Case(variant, size, "train", "float32").overrides)
    flops = flops_of(config, load.vocabulary, load.vocabulary)
    return flops.per_target_token(pairs(load.pairs, load.vocabulary))


class Watch(pl.Callback):
    """Time updates, end the training when the windows are full, and read losses as it should."""

    def __init__(self, windows: int) -> None:
        self.windows = Windows(windows)

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: Any, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        if trainer.global_step % trainer.log_every_n_steps == 0:  # type: ignore[attr-defined]
            pl_module.losses.read()
        trainer.should_stop = self.windows.add(batch)


def trained(case: Case, load: Load, device: str) -> dict[str, Any]:
    """Train with Lightning as ``task=train`` does."""
    logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)
    config = configuration(*case.overrides)
    model = build_model(config, load.vocabulary, load.vocabulary)
    make_optimizer = build_optimizer(config)
    no_text = cast(Any, None)
    module = TranslationModule(model, no_text, make_optimizer, ConstantLR, greedy_search(), 0.1, {})
    watch = Watch(load.windows)
    trainer = pl.Trainer(
        accelerator="gpu" if device == "cuda" else "cpu",
        devices=1,
        precision=cast(Any, LIGHTNING_PRECISION[case.precision]),
        callbacks=[watch],
        max_epochs=-1,
        gradient_clip_val=config.trainer.gradient_clip_val,
        log_every_n_steps=config.trainer.log_every_n_steps,
        limit_val_batches=0,
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    compile_blocks(model, "default" if case.compiled else None)
    data = pairs(load.pairs, load.vocabulary)
    trainer.fit(module, training_batches(data, load.tokens, trainer.strategy.root_device))
    return watch.windows.result()


def plainly_trained(case: Case, load: Load, device: str) -> dict[str, Any]:
    """Train the same model in a plain PyTorch loop on the same batches."""
    model = case.plain_model(load.vocabulary).to(device)
    loop = BareLoop(model, torch.bfloat16 if case.precision == "bf16" else None)
    feed = training_batches(pairs(load.pairs, load.vocabulary), load.tokens, torch.device(device))
    return train(loop.step, batches_on(feed, device), load.windows)


def decoded(case: Case, load: Load, device: str) -> dict[str, Any]:
    """Translate with hypotheses as long as their sources; return sentences per second."""
    config = configuration(*case.overrides)
    model = build_model(config, load.vocabulary, load.vocabulary).to(device).eval()
    assert isinstance(model, EmbeddedEncoderDecoder)
    with torch.no_grad():
        model.output.bias[EOS] = -1e4
    data = pairs(load.sentences, load.vocabulary, seed=1)
    rows = LengthBatchSampler(data, load.decode_tokens)
    batches = [data[np.asarray(row)] for row in rows]
    limits: Any = {"max_ratio": 1.0, "max_extra": 0, "bf16": case.precision == "bf16"}
    searches = {"greedy": greedy_search(**limits), "beam": beam_search(5, **limits)}
    return {name: search_rate(search, model, batches, device) for name, search in searches.items()}


def pairs(count: int, vocabulary: int, seed: int = 0) -> EncodedPairs:
    random = np.random.default_rng(seed)
    src = np.exp(random.normal(np.log(MEDIAN), SPREAD, count))
    tgt = src * np.exp(random.normal(0, RATIO_SPREAD, count))
    sides = []
    for exact in (src, tgt):
        lengths = exact.round().clip(SHORTEST, LONGEST).astype(np.int64)
        tokens = random.integers(4, vocabulary, lengths.sum(), dtype=np.int32)
        sides.append(Sequences.joined(tokens, lengths))
    return EncodedPairs(np.arange(count), *sides)


def training_batches(data: EncodedPairs, tokens: int, device: torch.device) -> Feed:
    whole = LengthBatchSampler(data, tokens, shuffle=True)
    sampler = PieceSampler(whole, Place(rank=0, ranks=1, pieces=1))
    return Feed(Pieces(data), sampler, workers=1, device=device)
