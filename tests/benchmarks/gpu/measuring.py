"""Measures one case on a GPU; tests measure on the CPU."""

import gc
import logging
import os
from functools import cache
from typing import Any, cast

import numpy as np
import pytorch_lightning as pl
import torch
from torch.optim.lr_scheduler import ConstantLR

from datamodules.batching import Batch, LengthBatchSampler
from datamodules.tokenization import EOS
from lightning_modules.decoding import BeamSearch, GreedySearch
from lightning_modules.kernels.device import keep_attention_off_cudnn
from lightning_modules.kernels.precision import use_matmul_precision
from lightning_modules.ranks.launcher import run_on_ranks
from lightning_modules.ranks.updates import share_out
from lightning_modules.training.factories import build_model, build_optimizer, compile_blocks
from lightning_modules.training.flops import count_flops
from lightning_modules.training.module import TranslationModule
from lightning_modules.training.word_vectors import VectorFiles
from lightning_modules.variants import EmbeddedEncoderDecoder
from tests.benchmarks.gpu.cases import Case, Load
from tests.benchmarks.gpu.synthetic import pairs, training_batches
from tests.benchmarks.rivals.bare import BareLoop
from tests.benchmarks.stopwatch import Windows
from tests.benchmarks.worker import batches_on, search_rate, train
from tests.helpers.variants import configuration

LIGHTNING_PRECISION = {"bf16": "bf16-mixed", "float32": "32-true"}


def measure(case: Case, load: Load, device: str) -> dict[str, Any]:
    """Return the figures of a case; ``device`` is ``cuda`` or ``cpu``."""
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
    if case.gpus > 1:
        figures = run_on_ranks(case.gpus, trained, case, load, device)
    else:
        figures = trained(case, load, device)
    return figures | {"flops_per_token": flops_per_token(case.variant, case.size, load)}


@cache
def flops_per_token(variant: str, size: Any, load: Load) -> float:
    """Return the FLOPs of an update for each target token, as ``budget=flops`` counts them."""
    config = configuration(*Case(variant, size, "train", "float32").overrides)
    flops = count_flops(config, VectorFiles(), (load.vocabulary, load.vocabulary))
    return flops.per_target_token(pairs(load.pairs, load.vocabulary))


class Watch(pl.Callback):
    """Time updates, end the training when the windows are full, and read losses as it should."""

    def __init__(self, windows: int) -> None:
        self.windows = Windows(windows)

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: Any, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        """Count an update."""
        if trainer.global_step % trainer.log_every_n_steps == 0:  # type: ignore[attr-defined]
            pl_module.losses.read(trainer.global_step)
        trainer.should_stop = self.windows.add(batch)


def trained(case: Case, load: Load, device: str) -> dict[str, Any]:
    """Train with Lightning as ``task=train`` does; on several GPUs each rank calls this."""
    logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)
    config = configuration(*case.overrides)
    model = build_model(config, load.vocabulary, load.vocabulary)
    make_optimizer = build_optimizer(config)
    no_text = cast(Any, None)
    module = TranslationModule(model, no_text, make_optimizer, ConstantLR, GreedySearch(), 0.1, {})
    watch = Watch(load.windows)
    trainer = pl.Trainer(
        accelerator="gpu" if device == "cuda" else "cpu",
        devices=case.gpus,
        strategy="ddp" if case.gpus > 1 else "auto",
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
    share_out(trainer, None)
    compile_blocks(model, "default" if case.compiled else None)
    rank = int(os.environ["RANK"]) if case.gpus > 1 else 0
    root = trainer.strategy.root_device
    data = pairs(load.pairs * case.gpus, load.vocabulary)
    trainer.fit(module, training_batches(data, load.tokens * case.gpus, root, rank, case.gpus))
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
    searches = {"greedy": GreedySearch(**limits), "beam": BeamSearch(5, **limits)}
    return {name: search_rate(search, model, batches, device) for name, search in searches.items()}
