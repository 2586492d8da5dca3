"""The text of ``docs/gpu.md``."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from tests.tools.benchmarks.gpu.cases import (
    FILES,
    LOADS,
    LOOPS,
    PRECISIONS,
    SIZES,
    Case,
    Figures,
    Machine,
    Size,
)

PEAKS = {
    r"\bB200\b": (2250, 75),
    r"\bGB200\b": (2500, 80),
    r"\bH200 NVL\b": (835, 60),
    r"\b(H200|GH200)\b": (989, 67),
    r"\bH100 PCIe\b": (756, 51),
    r"\bH100 NVL\b": (835, 60),
    r"\bH100 80GB HBM3$": (989, 67),
    r"\bA100\b": (312, 19.5),
    r"\bA30\b": (165, 10.3),
    r"\bA10G?\b": (125, 31.2),
    r"\bL40S\b": (362, 91.6),
    r"\bL4\b": (121, 30.3),
    r"\bRTX 4090\b": (165, 82.6),
    r"\bRTX 3090\b": (71, 35.6),
    r"\bRTX A6000\b": (155, 38.7),
}
"""10¹² operations per second in bfloat16 with sums in float32 (dense, tensor cores) and in float32
without TF32, by a pattern of the name that torch gives. Source: NVIDIA's data sheets and, for
GeForce, the white papers of Ampere (GA102) and Ada; figures "with sparsity" are halved."""
NONE = "–"
HEAD = """# On a GPU

`make benchmark-gpu` writes this page and continues where it stopped; do not edit the page.

{gpu}, driver {about.driver}, torch {about.machine.torch}, {about.date},
commit {commit}, training code {about.machine.code}.

Sentences are random, as long as those of news text (28 subwords on average, at most 100).
Published sizes have a vocabulary of {published.vocabulary:,} and batches of {published.tokens:,}
padded tokens, laptop sizes {laptop.vocabulary:,} and {laptop.tokens:,}. Rates of training are
real target tokens per second.
"""
TRAINING = """## Training

Lightning's loop with the training step of `task=train`, on one GPU. *Of the peak*: the FLOPs of
`budget=flops`, without padding, beside the peak in the data sheet of the GPU (bf16: dense; float32:
without TF32). *Compiled* is `compile=default`. MiB: the peak memory of tensors on the GPU.
"""
PLAIN = """## Compared with a plain PyTorch loop

RNNsearch and Luong's model with one layer of LSTM units, since the plain loop
(`tests/tools/benchmarks/rivals/bare.py`) is the same model; same batches, same precision. *Ratio*:
the faster of both rates of the harness, divided by the rate of the plain loop.
"""
DECODING = """## Decoding

Sentences per second; each hypothesis is as long as its source sentence.
"""


class About(NamedTuple):
    """Where and when the figures were measured."""

    machine: Machine
    driver: str
    commit: str | None
    date: str


def page_text(about: About, figures: Figures, missing: Sequence[Case]) -> str:
    """Return the page for the figures so far."""
    gpu, rows = about.machine.gpu, list(product(SIZES, PRECISIONS, FILES))
    laptop, published = LOADS["laptop"], LOADS["published"]
    commit = about.commit or "unknown"
    head = HEAD.format(about=about, gpu=gpu, commit=commit, laptop=laptop, published=published)
    kinds = ["variant", "size", "precision"]
    rates = ["tokens/s", "of the peak", "MiB"]
    compiled = [f"compiled: {title}" for title in rates]
    parts = [
        *(head, TRAINING),
        _table(
            [*kinds, *rates, *compiled],
            (
                [
                    *(variant, size, precision),
                    *_training(gpu, figures, Case(variant, size, "train", precision)),
                    *_training(gpu, figures, Case(variant, size, "train", precision, True)),
                ]
                for size, precision, variant in rows
            ),
            len(kinds),
        ),
        PLAIN,
        _table(
            [*kinds, "plain loop", "harness", "compiled", "ratio"], _plain_rows(figures), len(kinds)
        ),
        DECODING,
        _table(
            [*kinds, "greedy", "beam 5"],
            (
                [
                    *(variant, size, precision),
                    *_decoding(figures, Case(variant, size, "decode", precision)),
                ]
                for size, precision, variant in rows
            ),
            len(kinds),
        ),
        *_remarks(figures, missing),
    ]
    return "\n".join(parts)


def _training(gpu: str, figures: Figures, case: Case) -> list[str]:
    """Return rate, share of the peak and memory of a training."""
    memory = figures.get(case, {}).get("peak_memory_mib")
    return [
        _cell(figures, case, rate(figures, case), ",.0f"),
        _cell(figures, case, of_peak(gpu, figures, case), ".0%"),
        _cell(figures, case, memory, ",.0f"),
    ]


def _plain_rows(figures: Figures) -> Iterator[list[str]]:
    for size, precision, loop in product(SIZES, PRECISIONS, LOOPS):
        ours = Case(loop, size, "train", precision)
        trio = (ours._replace(work="plain"), ours, ours._replace(compiled=True))
        rates = [_cell(figures, case, rate(figures, case), ",.0f") for case in trio]
        found = ratio(figures, loop, size, precision)
        yield [loop, size, precision, *rates, NONE if found is None else f"{found:.2f}"]


def _decoding(figures: Figures, case: Case) -> list[str]:
    found = figures.get(case, {})
    return [_cell(figures, case, found.get(search), ",.0f") for search in ("greedy", "beam")]


def _cell(figures: Figures, case: Case, figure: float | None, form: str) -> str:
    """Return a figure, ``failed``, or a dash for what is not there."""
    if figure is None:
        return "failed" if "error" in figures.get(case, {}) else NONE
    return format(figure, form)


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]], names: int) -> str:
    """Return a table in Markdown, without the rows that have only dashes behind ``names`` cells."""
    measured = (row for row in rows if set(row[names:]) != {NONE})
    lines = [titles, ["---"] * len(titles), *measured]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _remarks(figures: Figures, missing: Sequence[Case]) -> Iterator[str]:
    """Yield what failed and what is missing."""
    failed = [f"- {case}: {found['error']}" for case, found in figures.items() if "error" in found]
    if failed:
        yield from ("## Failed\n", *failed, "")
    if missing:
        yield f"## Missing\n\n`make benchmark-gpu`, given again, measures {len(missing)} more.\n"


def peak_flops(gpu: str, precision: str) -> float | None:
    """Return the FLOPs per second of a GPU in ``bf16`` or ``float32``; None for an unknown GPU.

    A part of a GPU (MIG) is unknown.
    """
    if "MIG" in gpu:
        return None
    for pattern, (bf16, float32) in PEAKS.items():
        if re.search(pattern, gpu):
            return 1e12 * (bf16 if precision == "bf16" else float32)
    return None


def rate(figures: Figures, case: Case) -> float | None:
    """Return the training tokens per second of a case; None if not measured."""
    found: float | None = figures.get(case, {}).get("tokens_per_second")
    return found


def of_peak(gpu: str, figures: Figures, case: Case) -> float | None:
    """Return the share of the peak of the GPU; None if one or the other is unknown."""
    peak, speed = peak_flops(gpu, case.precision), rate(figures, case)
    if peak is None or speed is None:
        return None
    flops: float = figures[case]["flops_per_token"]
    return speed * flops / peak


def ratio(figures: Figures, loop: str, size: Size, precision: str) -> float | None:
    """Return how many times as fast as the plain loop the harness is, compiled or not."""
    plain = rate(figures, Case(loop, size, "plain", precision))
    ours = [rate(figures, Case(loop, size, "train", precision, on)) for on in (False, True)]
    best = _best(ours)
    return None if plain is None or best is None else best / plain


def _best(found: list[float | None]) -> float | None:
    return max((each for each in found if each is not None), default=None)
