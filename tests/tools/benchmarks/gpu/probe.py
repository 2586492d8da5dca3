"""Where the time of an update goes: the ceilings of the GPU, the parts one by one, and profiles."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from torch.profiler import ProfilerActivity, profile

from datamodules.errors import one_line
from lightning_modules.kernels.choice import PLAIN, Kernels, has_triton, use_kernels
from lightning_modules.kernels.chunked import output_loss
from lightning_modules.kernels.precision import keep_attention_off_cudnn
from tests.tools.benchmarks.gpu.items import Bench
from tests.tools.benchmarks.gpu.measuring import (
    LOADS,
    MINIATURE,
    System,
    training,
    training_overrides,
)
from tests.tools.benchmarks.gpu.random_text import MEDIAN, RATIO_SPREAD, SPREAD

BF16 = torch.bfloat16
REPEATS = 20
TIMED, PROFILED = 5, 3  # updates
ATTENTIONS = ("encoder", "decoder, causal", "decoder, source")  # in the order of `spans_of`
KERNELS = 20  # the kernels that take most of the time


class Sizes:
    """Tokens, width, vocabulary and heads of `transformer_base`; small ones for a CPU."""

    def __init__(self, miniature: bool) -> None:
        self.tokens, self.width, self.vocabulary, self.heads = (
            (128, 32, 50, 2) if miniature else (25_088, 512, 32_000, 8)
        )
        self.hidden, self.square = (64, 64) if miniature else (2048, 8192)
        self.copied = 1 << (12 if miniature else 30)  # numbers


def run_probe(bench: Bench) -> None:
    """Run all parts; an error of one leaves the others."""
    keep_attention_off_cudnn()
    errors = []
    for part in (ceilings, profiles, losses, attentions, products):
        try:
            part(bench, Sizes(bench.miniature))
        except Exception as error:  # the other parts come still
            errors.append(error)
            bench.say({"part": part.__name__, "error": one_line(error)[:300]})
        finally:
            use_kernels(PLAIN)
    if errors:
        raise errors[0]


def milliseconds(run: Callable[[], object], device: str) -> float:
    """Return the median time of a function on the device, without the time of its launches."""
    if device == "cpu":
        started = time.perf_counter()
        run()
        return 1e3 * (time.perf_counter() - started)
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    found = []
    for _ in range(REPEATS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        # The device waits while the processor launches what is timed.
        torch.cuda._sleep(2_000_000)
        start.record()
        run()
        end.record()
        end.synchronize()
        found.append(start.elapsed_time(end))
    return sorted(found)[REPEATS // 2]


def ceilings(bench: Bench, sizes: Sizes) -> None:
    """Measure the rates of a copy and of a large product."""
    device = bench.device
    numbers = torch.randn(sizes.copied, device=device)
    other = torch.empty_like(numbers)
    copied = milliseconds(lambda: other.copy_(numbers), device)
    left, right = (
        torch.randn(sizes.square, sizes.square, device=device, dtype=BF16) for _ in range(2)
    )
    multiplied = milliseconds(lambda: left @ right, device)
    rows = [
        ["a copy, GB/s", f"{8 * sizes.copied / copied / 1e6:,.0f}"],
        [
            f"a product of {sizes.square}³, TFLOP/s",
            f"{2 * sizes.square**3 / multiplied / 1e9:,.0f}",
        ],
    ]
    bench.say({"table": "Ceilings", "titles": ["what", "rate"], "rows": rows})


def products(bench: Bench, sizes: Sizes) -> None:
    """Measure the products of an update: forward, gradients of inputs and of weights."""
    width = sizes.width
    shapes = {
        "query, keys, values": (width, 3 * width),
        "output of attention": (width, width),
        "feed-forward, first": (width, sizes.hidden),
        "feed-forward, second": (sizes.hidden, width),
        "vocabulary": (width, sizes.vocabulary),
    }
    rows = []
    for name, (inner, columns) in shapes.items():
        inputs, weight, gradient = (
            torch.randn(*shape, device=bench.device, dtype=BF16)
            for shape in ((sizes.tokens, inner), (columns, inner), (sizes.tokens, columns))
        )
        times = [
            milliseconds(run, bench.device)
            for run in (
                lambda x=inputs, w=weight: x @ w.t(),
                lambda g=gradient, w=weight: g @ w,
                lambda g=gradient, x=inputs: g.t() @ x,
            )
        ]
        flops = 2 * sizes.tokens * inner * columns
        cells = [f"{each:.3f} ms, {flops / each / 1e9:,.0f} TFLOP/s" for each in times]
        rows.append([name, f"{sizes.tokens:,} × {inner:,} × {columns:,}", *cells])
    titles = ["product", "rows × inner × columns", "forward", "inputs", "weights"]
    bench.say({"table": "Products in bfloat16", "titles": titles, "rows": rows})


def losses(bench: Bench, sizes: Sizes) -> None:
    """Measure the loss of the output layer, forward and backward, with and without row kernels."""
    features = torch.randn(sizes.tokens, sizes.width, device=bench.device, requires_grad=True)
    weight = torch.randn(sizes.vocabulary, sizes.width, device=bench.device, requires_grad=True)
    bias = torch.zeros(sizes.vocabulary, device=bench.device, requires_grad=True)
    tokens = torch.randint(sizes.vocabulary, (sizes.tokens,), device=bench.device)

    def both() -> object:
        with torch.autocast(bench.device, BF16):
            loss = output_loss(features, weight, bias, tokens, 0.1)
        return torch.autograd.grad(loss, (features, weight, bias))

    rows = []
    for name, kernels in (("PyTorch's own", PLAIN), ("rows", Kernels(rows=True))):
        if kernels == PLAIN or (has_triton() and bench.device == "cuda"):
            use_kernels(kernels)
            rows.append([name, f"{milliseconds(both, bench.device):.2f}"])
    bench.say({"table": "Loss with its products", "titles": ["kernels", "ms"], "rows": rows})


def attentions(bench: Bench, sizes: Sizes) -> None:
    """Measure attention of packed sentences, and of padded ones as torch computes it."""
    from datamodules.batching.packed import PackedBatch, pack_sentences
    from lightning_modules.kernels.packed_attention import packed_attention
    from lightning_modules.variants.transformer.packed import spans_of

    lengths = _lengths(sizes.tokens)
    padded = [np.full((lengths.shape[1], each.max()), 4) for each in lengths]
    streams = pack_sentences(padded[0], padded[1], padded[1], lengths, sizes.tokens)
    spans = spans_of(PackedBatch(*(part.to(bench.device) for part in streams)))
    shape = sizes.tokens, sizes.heads, sizes.width // sizes.heads
    rows = []
    for tile in _tiles(bench.device):
        for name, each in zip(ATTENTIONS, spans, strict=True):
            attend = lambda q, k, v, each=each: packed_attention(q, k, v, each)  # noqa: E731
            rows.append([f"packed, {name}{tile}", *_both_ways(attend, shape, bench.device)])
    if bench.device == "cuda":
        rows += _of_varying_lengths(lengths, shape, bench.device)
    longest = int(lengths.max())
    batch = sizes.tokens // longest
    mask = torch.zeros(batch, 1, 1, longest, device=bench.device, dtype=BF16)
    whole = (batch, sizes.heads, longest, sizes.width // sizes.heads)
    ways: dict[str, Any] = {
        "padded, encoder": {"attn_mask": mask},
        "padded, decoder, causal": {"is_causal": True},
    }
    for name, options in ways.items():
        attend = lambda q, k, v, options=options: scaled_dot_product_attention(  # noqa: E731
            q, k, v, **options
        )
        rows.append([name, *_both_ways(attend, whole, bench.device)])
    titles = ["attention", "forward, ms", "forward and backward, ms"]
    bench.say({"table": "Attention of a layer", "titles": titles, "rows": rows})


def _tiles(device: str) -> Iterator[str]:
    """Let Triton's kernels compute by one size of tiles after the other."""
    if device != "cuda":
        yield ""
        return
    from lightning_modules.kernels import span_kernels

    chosen = span_kernels.TILE
    for queries, keys in ((64, 64), (64, 32), (32, 32), (128, 64)):
        span_kernels.TILE = chosen._replace(queries=queries, keys=keys)
        yield f", tiles of {queries} × {keys}"
    span_kernels.TILE = chosen


def _of_varying_lengths(
    lengths: np.ndarray, shape: tuple[int, ...], device: str
) -> Iterator[list[str]]:
    """Measure torch's own attention of packed sentences, without the free places."""
    from torch.nn.attention.varlen import varlen_attn

    ends = [torch.from_numpy(np.cumsum([0, *side])).to(device, torch.int32) for side in lengths]
    longest = lengths.max(1).tolist()
    sides = {"encoder": (0, 0), "decoder, causal": (1, 1), "decoder, source": (1, 0)}
    for name, (asking, asked) in sides.items():
        window = (-1, 0) if "causal" in name else (-1, -1)
        given = ends[asking], ends[asked], longest[asking], longest[asked]
        attend: Any = lambda q, k, v, given=given, window=window: varlen_attn(  # noqa: E731
            q, k, v, *given, window_size=window
        )
        try:
            yield [f"varlen_attn, {name}", *_both_ways(attend, shape, device)]
        except (RuntimeError, TypeError) as error:  # its arguments differ by version
            yield [f"varlen_attn, {name}", one_line(error)[:60], ""]


def _lengths(tokens: int) -> np.ndarray:
    """Return lengths of both sides, ``(2, sentences)``, that fill a stream of ``tokens``."""
    random = np.random.default_rng(0)
    src = np.exp(random.normal(np.log(MEDIAN), SPREAD, tokens // 10))
    tgt = src * np.exp(random.normal(0, RATIO_SPREAD, tokens // 10))
    lengths = np.stack([src, tgt]).round().clip(3, min(100, tokens // 4)).astype(np.int64)
    return lengths[:, (lengths.cumsum(1) <= tokens).all(0)]


def _both_ways(attend: Callable[..., Tensor], shape: tuple[int, ...], device: str) -> Iterator[str]:
    parts = [torch.randn(*shape, device=device, dtype=BF16, requires_grad=True) for _ in range(3)]
    gradient = torch.randn(*shape, device=device, dtype=BF16)
    with torch.no_grad():
        yield f"{milliseconds(lambda: attend(*parts), device):.3f}"
    both = lambda: torch.autograd.grad(attend(*parts), parts, gradient)  # noqa: E731
    yield f"{milliseconds(both, device):.3f}"


class Profile(pl.Callback):
    """Time some updates, profile the next ones, and end the training."""

    def __init__(self, first: int, device: str) -> None:
        self.first, self.device = first, device
        self.host = self.wall = 0.0  # seconds of an update, of the processor and in all
        activities = [ProfilerActivity.CPU]
        if device == "cuda":
            activities.append(ProfilerActivity.CUDA)
        self.profiler = profile(activities=activities)
        self._started = 0.0

    def on_train_batch_start(self, trainer: pl.Trainer, *_: Any) -> None:
        """Begin to time, or to profile."""
        if trainer.global_step == self.first:
            self._wait()
            self._started = time.perf_counter()
        elif trainer.global_step == self.first + TIMED:
            self.host = (time.perf_counter() - self._started) / TIMED
            self._wait()
            self.wall = (time.perf_counter() - self._started) / TIMED
            self.profiler.start()

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        """End after the last profiled update."""
        if trainer.global_step == self.first + TIMED + PROFILED:
            self._wait()
            self.profiler.stop()
            trainer.should_stop = True

    def _wait(self) -> None:
        if self.device == "cuda":
            torch.cuda.synchronize()

    def rows(self) -> list[list[str]]:
        """Return the kernels that take most of the time, by milliseconds of an update."""
        time_of = "self_device_time_total" if self.device == "cuda" else "self_cpu_time_total"
        events = self.profiler.key_averages()
        if self.device == "cuda":  # not the operators that started the kernels
            events = [each for each in events if str(each.device_type).endswith("CUDA")]
        each = sorted(
            ((getattr(event, time_of), event) for event in events), key=lambda one: -one[0]
        )
        busy = sum(spent for spent, _ in each)
        rows = [
            ["in all", f"{1e3 * self.wall:.1f}", ""],
            ["of the processor", f"{1e3 * self.host:.1f}", ""],
            ["of the device, profiled", f"{busy / PROFILED / 1e3:.1f}", ""],
        ]
        for spent, event in each[:KERNELS]:
            name = event.key[:80].replace("|", "/")
            rows.append(
                [f"`{name}`", f"{spent / PROFILED / 1e3:.2f}", f"{event.count / PROFILED:.0f}"]
            )
        return rows


def profiles(bench: Bench, sizes: Sizes) -> None:
    """Profile updates of a Transformer and of a recurrent model, as the policy computes them."""
    load = MINIATURE if bench.miniature else LOADS["published"]
    for variant in ("Transformer", "one layer, additive"):
        system = System(variant, "published", "bf16")
        with _profiled(system, load.warm_up * 10, bench) as found:
            kernels = found.rows()
        titles = ["kernel", "ms of an update", "calls"]
        bench.say({"table": f"An update: {system}", "titles": titles, "rows": kernels})


@contextmanager
def _profiled(system: System, first: int, bench: Bench) -> Iterator[Profile]:
    load = MINIATURE if bench.miniature else LOADS[system.size]
    found = Profile(first, bench.device)
    with training(training_overrides(system, load, bench.device), found) as (trainer, setup):
        trainer.fit(setup.module, datamodule=setup.data)
        yield found
