"""The text of ``docs/gpu.md``."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from tests.benchmarks.gpu.aims import aims, of_peak, rate, ratio, scaling
from tests.benchmarks.gpu.cases import LOADS, LOOPS, PRECISIONS, SIZES, VARIANTS, Case
from tests.benchmarks.gpu.records import Figures, Machine

NONE = "–"
HEAD = """# On a GPU

`make benchmark-gpu` writes this page, and goes on where it stopped; do not edit the page.

{about.gpus} × {gpu}, driver {about.driver}, torch {about.machine.torch}, {about.date},
commit {commit}, training code {about.machine.code}.

Sentences are random, as long as those of news text (28 subwords on average, at most 100).
Published sizes have a vocabulary of {published.vocabulary:,} and batches of {published.tokens:,}
padded tokens a GPU, laptop sizes {laptop.vocabulary:,} and {laptop.tokens:,}. Rates of training are
real target tokens per second.

## Aims
"""
TRAINING = """## Training

Lightning's loop with the training step of `task=train`, on one GPU. *Of the peak*: the FLOPs of
`budget=flops`, without padding, beside the peak in the data sheet of the GPU (bf16: dense; float32:
without TF32). *Compiled* is `compile=default`. MiB: the peak memory of tensors on the GPU.
"""
PLAIN = """## Beside a plain PyTorch loop

RNNsearch and Luong's model with one layer of LSTM units, since the plain loop
(`tests/benchmarks/rivals/bare.py`) is the same model; same batches, same precision. *Ratio*: the
faster of both rates of the harness, divided by the rate of the plain loop.
"""
SEVERAL = """## Several GPUs

Published sizes in bf16, one process a GPU. *Of one*: the rate divided by the rate of one GPU times
the number of GPUs.
"""
DECODING = """## Decoding

Sentences per second; each hypothesis is as long as its source sentence.
"""


class About(NamedTuple):
    """Where and when the figures were measured."""

    machine: Machine
    gpus: int
    driver: str
    commit: str | None
    date: str


def page_text(about: About, figures: Figures, missing: Sequence[Case]) -> str:
    """Return the page for the figures so far."""
    gpu, rows = about.machine.gpu, list(product(SIZES, PRECISIONS, VARIANTS))
    laptop, published = LOADS["laptop"], LOADS["published"]
    commit = about.commit or "unknown"
    head = HEAD.format(about=about, gpu=gpu, commit=commit, laptop=laptop, published=published)
    kinds = ["variant", "size", "precision"]
    rates = ["tokens/s", "of the peak", "MiB"]
    compiled = [f"compiled: {title}" for title in rates]
    parts = [
        *(head, _table(["aim", "at least", "measured", ""], _aim_rows(gpu, figures), 2)),
        TRAINING,
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
        *_several(gpu, figures),
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


def _aim_rows(gpu: str, figures: Figures) -> Iterator[list[str]]:
    for aim in aims(gpu, figures):
        measured = NONE if aim.figure is None else format(aim.figure, aim.form)
        yield [aim.what, format(aim.least, aim.form), measured, aim.verdict]


def _several(gpu: str, figures: Figures) -> list[str]:
    """Return the section on several GPUs; nothing where one GPU was measured."""
    several = sorted(
        (case for case in figures if case.gpus > 1), key=lambda case: (case.variant, case.gpus)
    )
    rows = (
        [
            *(case.variant, str(case.gpus)),
            *_training(gpu, figures, case),
            _cell(figures, case, scaling(figures, case), ".0%"),
        ]
        for case in several
    )
    titles = ["variant", "GPUs", "tokens/s", "of the peak", "MiB", "of one"]
    return [SEVERAL, _table(titles, rows, 2)] if several else []


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
