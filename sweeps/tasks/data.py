"""``task=data``: prepare a corpus and look at it."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from datamodules.batching import Sequences
from datamodules.tokenization import SPECIALS, UNK, Tokenizer
from datamodules.translation_data import TranslationData
from lightning_modules.figures.histograms import length_histogram
from lightning_modules.figures.picture_files import FigureWidths, save_figures
from lightning_modules.runs.files import write_record
from lightning_modules.runs.job import command, given_overrides
from lightning_modules.runs.paths import FIGURES, REPORT, TABLES
from lightning_modules.runs.redaction import redacted
from lightning_modules.runs.schema import Data, Record
from lightning_modules.tracking.names import data_values, is_wandb
from lightning_modules.training.budgets import first_budget
from lightning_modules.training.factories import build_data
from sweeps.claims.job_time import results_here
from sweeps.claims.plan import finished_runs
from sweeps.comparison.corpus_tables import HISTOGRAM, cleaning_tables, corpora_table, splits_table
from sweeps.comparison.numbers import in_words
from sweeps.comparison.table_files import write_tables
from sweeps.comparison.tables import Table
from sweeps.report.task_page import TaskPage, TaskPart, write_task_page
from sweeps.report.terminal import print_line, print_page, rich_table, rich_table_of_columns

SUMMARY = "data.json"
GROUPS = ("data", "cleaning", "tokenizer", "batching")
"""Groups of the configuration that the tracker gets."""
WITHOUT_EXAMPLES = 7  # columns of the table of cleaning that a terminal has room for


class ExamplePair(Record):
    """A training pair, with ``|`` between the tokens of a word."""

    id: int  # index of the pair in the training text
    source: str
    target: str


class FirstBudget(Record):
    """How long to train first on a corpus."""

    target_tokens: int
    epochs: float
    hours: dict[str, float]
    """Hours of training by variant, at the median speed of its finished runs on this machine."""


class DataSummary(Record):
    """``data.json``: a corpus, some of its training pairs, and how long to train first."""

    data: Data
    examples: list[ExamplePair]
    first_budget: FirstBudget


def data(config: DictConfig) -> None:
    """Task: prepare ``config.data``; print, draw and track what it holds.

    Raises ``UserError`` for text that cannot be used.
    """
    folder = Path(HydraConfig.get().runtime.output_dir)
    widths = FigureWidths.of(config)
    prepared = build_data(config)
    prepared.check_batches()
    summary = DataSummary(
        data=Data.model_validate(prepared.statistics),
        examples=example_pairs(prepared, config.examples),
        first_budget=first_budget_of(prepared, Path(config.outputs)),
    )
    found = summary.data
    tables = [corpora_table([found]), splits_table(found), *cleaning_tables(found)]
    _write(summary, tables, widths, folder)
    page = data_page(summary, tables, command(*redacted(given_overrides(HydraConfig.get()))))
    write_task_page(page, folder)
    _print(summary, tables, folder, Console())
    if is_wandb(config.logger):
        _track(config, found, tables, folder)


def example_pairs(prepared: TranslationData, count: int) -> list[ExamplePair]:
    """Return at most ``count`` training pairs, evenly spaced over the training text."""
    pairs = prepared.encoded_corpus.encoded["train"]
    count = min(count, len(pairs))
    rows = np.arange(count) * len(pairs) // max(1, count)
    source, target = (
        cut_lines(side.select(rows), tokenizer)
        for side, tokenizer in zip(pairs.sides, prepared.tokenizers, strict=True)
    )
    shown = zip(rows.tolist(), source, target, strict=True)
    return [ExamplePair(id=row, source=left, target=right) for row, left, right in shown]


def first_budget_of(prepared: TranslationData, outputs: Path) -> FirstBudget:
    """Return a first budget for a corpus, with the hours that the runs in ``outputs`` lead to."""
    pairs = prepared.encoded_corpus.encoded["train"]
    tokens = first_budget(len(pairs))
    speeds: dict[str, list[float]] = {}
    for result in results_here(finished_runs(outputs).runs.values()):
        if speed := result.training.target_tokens_per_second:
            speeds.setdefault(result.variant, []).append(speed)
    hours = {name: tokens / median(found) / 3600 for name, found in sorted(speeds.items())}
    return FirstBudget(target_tokens=tokens, epochs=tokens / pairs.tokens, hours=hours)


def cut_lines(sequences: Sequences, tokenizer: Tokenizer) -> list[str]:
    """Return the line of each sequence with ``|`` between the tokens of a word: ``re|port``."""
    surfaces = tokenizer.surfaces
    surfaces[UNK] = SPECIALS[UNK]
    lines = []
    for start, length in zip(sequences.starts.tolist(), sequences.lengths.tolist(), strict=True):
        tokens = sequences.tokens[start : start + length].tolist()
        placed = zip(tokenizer.words_of_tokens(tokens), tokens, strict=True)
        shown = [(word, surfaces[token]) for word, token in placed if surfaces[token]]
        words = groupby(shown, key=lambda pair: pair[0])
        lines.append(" ".join("|".join(text for _, text in parts) for _, parts in words))
    return lines


def _write(
    summary: DataSummary, tables: Sequence[Table], widths: FigureWidths, folder: Path
) -> None:
    found, statistics = summary.data, summary.data.statistics
    assert statistics is not None
    languages = found.source, found.target
    write_tables(tables, folder / TABLES)
    save_figures(
        lambda width: {HISTOGRAM: length_histogram(statistics, languages, found.name, width)},
        widths,
        folder / FIGURES,
    )
    write_record(folder / SUMMARY, summary)


def data_page(summary: DataSummary, tables: Sequence[Table], given: str) -> TaskPage:
    """Return the page of a corpus; ``given`` is the command."""
    found = summary.data
    assert found.statistics is not None
    corpora, splits, *cleaned = tables
    languages = found.source, found.target
    chart = length_histogram(found.statistics, languages, found.name, "container")
    pairs = [
        {
            "Pair": f"{each.id:,}",
            f"Source ({found.source})": each.source,
            f"Target ({found.target})": each.target,
        }
        for each in summary.examples
    ]
    counts = in_words([f"{count:,} {split} pairs" for split, count in found.pairs.items()])
    seen = [
        f"Of the test set, training contains {share:.1%} of its {name}."
        for name, share in found.seen.items()
    ]
    return TaskPage(
        title=f"{found.name}, {found.source} → {found.target}",
        answer=f"{counts}.",
        facts={"Fingerprint": found.fingerprint or "not recorded", "Command": given},
        parts=[
            TaskPart("lengths", "How long its sentences are", figures=[HISTOGRAM]),
            TaskPart("words", "What it holds", seen, tables=[splits, corpora]),
            TaskPart("cleaning", "What cleaning did", tables=cleaned),
            TaskPart(
                "pairs",
                "Training pairs",
                texts=pairs,
                note="A line | stands between the tokens of a word.",
            ),
            TaskPart("budget", "A first budget", [*_budget_lines(summary)]),
        ],
        figures={HISTOGRAM: chart},
        warnings=found.suspicions,
    )


def _print(summary: DataSummary, tables: Sequence[Table], folder: Path, console: Console) -> None:
    corpora, splits, *cleaned = tables
    for table in (rich_table_of_columns(corpora, 1), rich_table_of_columns(splits, 2)):
        console.print(table)
        console.print()
    for each in cleaned:
        console.print(rich_table(each, WITHOUT_EXAMPLES))
        console.print()
    for line in [*_lines(summary), f"everything is in {folder}"]:
        print_line(line, console)
    print_page(folder / REPORT, console)


def _lines(summary: DataSummary) -> Iterator[str]:
    """Yield the examples of each step of cleaning, the training pairs, and what looks wrong."""
    found = summary.data
    assert found.statistics is not None
    steps = [step for step in found.statistics.cleaning if step.examples]
    for step in steps:
        yield f"{step.step}:"
        yield from (f"  {example}" for example in step.examples)
    if steps:
        yield ""
    for pair in summary.examples:
        yield f"training pair {pair.id:,}"
        yield f"  {found.source}  {pair.source}"
        yield f"  {found.target}  {pair.target}"
    if summary.examples:
        yield ""
    yield from _budget_lines(summary)
    for name, share in found.seen.items():
        yield f"of the test set, training contains {share:.1%} of its {name}"
    yield from (f"warning: {each}" for each in found.suspicions)


def _budget_lines(summary: DataSummary) -> Iterator[str]:
    budget = summary.first_budget
    yield (
        f"a first budget for {summary.data.pairs['train']:,} training pairs: "
        f"budget.target_tokens={budget.target_tokens}, {budget.epochs:.2g} epochs; the summary "
        "of a run says whether its loss still falls"
    )
    if budget.hours:
        named = ", ".join(f"{name} {hours:.2g} h" for name, hours in budget.hours.items())
        yield f"  training at the speeds of earlier runs here: {named}"
    else:
        yield "  how long that takes is known once a run on this machine has finished"


def _track(config: DictConfig, found: Data, tables: Sequence[Table], folder: Path) -> None:
    """Log tables, figure and settings into a W&B run."""
    from lightning_modules.tracking.wandb_report import WandbPage, publish_page  # imports W&B

    settings: dict[str, Any] = {
        group: OmegaConf.to_container(config[group], resolve=True) for group in GROUPS
    }
    page = WandbPage(
        job_type="data",
        name=f"{found.name}-{found.fingerprint}",
        config={**redacted(settings), "folder": str(folder), "fingerprint": found.fingerprint},
        summary=data_values(found),
        pictures={HISTOGRAM: folder / FIGURES / f"{HISTOGRAM}.png"},
        tables={table.name: (table.fields, table.values) for table in tables},
    )
    publish_page(page, folder, config.logger)
