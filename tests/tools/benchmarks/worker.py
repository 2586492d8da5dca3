"""One measurement in a process of its own: ``python -m tests.tools.benchmarks.worker JOB`` (JSON).

The job comes from ``speed.py`` as JSON; its result goes to standard output.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import pytorch_lightning as pl
import torch
from lightning_fabric.utilities import move_data_to_device
from omegaconf import DictConfig
from torch import nn
from torch.optim.lr_scheduler import ConstantLR

from datamodules.batching import Batch
from datamodules.files import write_json
from datamodules.tokenization import EOS
from datamodules.translation_data import TranslationData
from lightning_modules.decoding import Search
from lightning_modules.kernels import precision, products
from lightning_modules.runs.provenance import peak_memory_mib
from lightning_modules.training.factories import build_data, build_model, build_optimizer
from lightning_modules.training.module import TranslationModule
from lightning_modules.training.process import keep_freed_memory
from lightning_modules.variants import EmbeddedEncoderDecoder, EncoderDecoder, Transformer
from tests.helpers.searches import beam_search, greedy_search
from tests.helpers.variants import configuration, flops_of
from tests.tools.benchmarks.rivals.bare import BareLoop
from tests.tools.benchmarks.workloads import WORKLOADS, data_overrides

WINDOW = 10  # updates between two readings of the clock


class Windows:
    """Real target tokens per second of all ranks, by windows of updates.

    The first ``warm_up`` windows do not count.
    """

    def __init__(self, count: int, warm_up: int = 1) -> None:
        self.count, self.warm_up = count, warm_up
        self.rates: list[float] = []
        self.updates: list[float] = []
        self._updates = self._tokens = 0
        self._started = time.perf_counter()

    def add(self, batch: Batch) -> bool:
        """Count an update; return whether all windows are full."""
        self._updates += 1
        self._tokens += batch.update_tokens
        if self._updates % WINDOW == 0:
            if torch.cuda.is_initialized():
                torch.cuda.synchronize()
            now = time.perf_counter()
            if self._updates > WINDOW * self.warm_up:
                self.rates.append(self._tokens / (now - self._started))
                self.updates.append((now - self._started) / WINDOW)
            self._started, self._tokens = now, 0
        return len(self.rates) == self.count

    def result(self) -> dict[str, Any]:
        figures = {
            "tokens_per_second": median(self.rates),
            "windows": self.rates,
            "seconds_per_update": median(self.updates),
            "peak_memory_mib": peak_memory_mib(),
        }
        if torch.cuda.is_available():
            figures["peak_memory_mib"] = torch.cuda.max_memory_allocated() / 2**20
        return figures


class Stopwatch(pl.Callback):
    """Write ``file`` when the windows are full, and end the process there."""

    def __init__(self, file: str, windows: int, process_started: float) -> None:
        self.file = Path(file)
        self.windows = Windows(windows)
        self.process_started = process_started
        self.first_step: float | None = None

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        if self.first_step is None:
            self.first_step = time.time() - self.process_started
        if self.windows.add(batch):
            write_json(self.file, self.windows.result() | {"first_step": self.first_step})
            os._exit(0)


OUTPUT_TOKENS = 14  # length of every hypothesis, about that of a caption of Multi30k


def batches_on(loader: Iterable[Batch], device: str) -> Iterator[Batch]:
    while True:
        for batch in loader:
            yield move_data_to_device(batch, device)


def train(step: Callable[[Batch], None], batches: Iterator[Batch], count: int) -> dict[str, Any]:
    windows = Windows(count)
    for batch in batches:
        step(batch)
        if windows.add(batch):
            break
    return windows.result()


def direct_step(config: DictConfig, data: TranslationData) -> Callable[[Batch], None]:
    """Return the update of the harness without the harness around it."""
    keep_freed_memory()
    model = build_model(config, *(len(tokenizer) for tokenizer in data.tokenizers))
    make_optimizer = build_optimizer(config)
    module = TranslationModule(
        model, data.tokenizers.target, make_optimizer, ConstantLR, greedy_search(), 0.1, {}
    ).train()
    optimizer = make_optimizer(list(model.parameters()))

    bf16 = config.trainer.precision.startswith("bf16")

    def step(batch: Batch) -> None:
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            loss = module.loss(batch, 0.1)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def product_rates(trained_in: str) -> dict[str, float]:
    """Return the operations per second of a large product, as torch and as oneDNN multiplies.

    The higher rate is an upper bound for any update.
    """
    kind = torch.bfloat16 if trained_in.startswith("bf16") else torch.float32
    one, other = (torch.randn(2048, 2048, dtype=kind) for _ in range(2))
    rates = {}
    before = precision.products_in_use()
    for name, onednn_from in (("torch", None), ("onednn", 0)):
        precision.use_products(onednn_from if torch.backends.mkldnn.is_available() else None)
        measured = []
        for _ in range(5):
            started = time.perf_counter()
            products.multiply(one, other)
            measured.append(2 * 2048**3 / (time.perf_counter() - started))
        rates[f"{name}_product_flops"] = median(measured)
    precision.use_products(before)
    return rates | {"peak_flops": max(rates.values())}


def search_rate(
    search: Search, model: EncoderDecoder, batches: Iterable[Batch], device: str
) -> float:
    """Return the sentences per second of a search, the median of three."""
    rates = []
    for _ in range(3):
        sentences, started = 0, time.perf_counter()
        for batch in batches:
            search(model, *move_data_to_device(batch, device).source)
            sentences += len(batch.ids)
        rates.append(sentences / (time.perf_counter() - started))
    return median(rates)


def decode(config: DictConfig, data: TranslationData, rival_python: str) -> dict[str, Any]:
    """Translate the test set with hypotheses of one length; return sentences per second.

    ``rival_python`` is the interpreter that runs CTranslate2 with the same Transformer.
    """
    keep_freed_memory()
    torch.manual_seed(0)
    sizes = [len(tokenizer) for tokenizer in data.tokenizers]
    model = build_model(config, *sizes).eval()
    assert isinstance(model, EmbeddedEncoderDecoder)
    with torch.no_grad():
        model.output.bias[EOS] = -1e4
    figures = {}
    limits: Any = {"max_ratio": 0.0, "max_extra": OUTPUT_TOKENS}
    for name, search in (
        ("greedy", greedy_search(**limits)),
        ("beam", beam_search(5, **limits)),
        ("greedy, int8", greedy_search(**limits, int8=True)),
        ("beam, int8", beam_search(5, **limits, int8=True)),
    ):
        figures[name] = search_rate(search, model, data.test_dataloader(), "cpu")
    figures["decoding_memory_mib"] = peak_memory_mib()
    if isinstance(model, Transformer) and find_spec("ctranslate2"):
        from tests.tools.benchmarks.rivals import converted_model

        rivals = converted_model.rates(
            model, list(data.test_dataloader()), OUTPUT_TOKENS, rival_python
        )
        figures |= {f"CTranslate2, {kind}": rate for kind, rate in rivals.items()}
    return figures


def main() -> None:
    job = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    torch.manual_seed(1)
    workload = WORKLOADS[job["workload"]]
    config = configuration(*data_overrides(), *workload.overrides, *job.get("overrides", []))
    if job["kind"] != "bare":
        precision.use_products(precision.choose_products(config.products))
    data = build_data(config)
    if job["kind"] == "decode":
        result = decode(config, data, job["ctranslate2"])
    else:
        if job["kind"] == "bare":
            step: Callable[[Batch], None] = BareLoop(
                workload.bare(len(data.tokenizers.target))
            ).step
        else:
            step = direct_step(config, data)
        result = train(step, batches_on(data.train_dataloader(), "cpu"), job["windows"])
        result |= product_rates(config.trainer.precision)
        flops = flops_of(config, *data.vocabulary_sizes)
        result["flops_per_token"] = flops.per_target_token(data.training_pairs)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
