"""``task=contrast`` but for its page: does a run prefer right translations to wrong ones?"""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from datamodules.contrast_pairs import ContrastPair, read_contrast, write_contrast
from lightning_modules.figures.lines import Lines, distance_lines, draw_lines
from lightning_modules.figures.picture_files import FigureWidths, save_figures
from lightning_modules.metrics.bootstrap import score_groups
from lightning_modules.metrics.resampling import Resamples
from lightning_modules.runs.files import write_record
from lightning_modules.runs.job import FORCED, label_of
from lightning_modules.runs.schema import Accuracies, Accuracy, Record
from lightning_modules.runs.setting_checks import check_arguments
from lightning_modules.tasks.progress import sentence_count
from lightning_modules.testing.contrastive_pairs import accuracies, choose, corpus_pairs
from lightning_modules.training.checkpoints import TrainedModel, load_trained
from lightning_modules.training.factories import build_corpus
from lightning_modules.training.process import prepare_process

log = logging.getLogger(__name__)

PAIRS, SUMMARY, CHART = "pairs.json", "contrast.json", "accuracy_by_distance"


class ContrastSummary(Record):
    """``contrast.json``: shares of right choices by group."""

    variant: str
    seed: int
    search: str = FORCED
    set: str  # file of the pairs, or the corpus that wrote the pairs
    accuracy: Accuracies


class FoundContrast(NamedTuple):
    """What ``contrast`` finds, for a page."""

    summary: ContrastSummary
    lines: Lines | None  # right choices against distance; None without distances
    label: str  # of the run's system


def contrast(config: DictConfig) -> FoundContrast:
    """Score both translations of each pair, and write accuracies into the output folder.

    Raises ``UserError`` for a run or a set of pairs that cannot be used.
    """
    folder = Path(HydraConfig.get().runtime.output_dir)
    prepare_process(config)
    check_arguments(config)
    widths = FigureWidths.of(config)
    trained = load_trained(config.checkpoint)
    pairs = find_pairs(trained, config)
    with sentence_count("choosing between pairs", 2 * len(pairs)) as advance:
        choices = choose(trained, pairs, config.batching.decode_max_tokens, advance)
    name, draws = trained.config.variant, Resamples(config.scoring.resamples, config.scoring.seed)
    groups = score_groups({name: {trained.config.seed: choices}}, draws)
    summary = ContrastSummary(
        variant=name,
        seed=trained.config.seed,
        set=config.pairs or trained.config.corpus,
        accuracy=accuracies(groups, name),
    )
    write_contrast(folder / PAIRS, pairs)
    write_record(folder / SUMMARY, summary)
    label, lines = label_of(name, [], trained.config), None
    if "distance" in summary.accuracy:
        lines = distance_lines(groups, {name: label}, "Bands: 95% bootstrap intervals.")
        save_figures(lambda width: {CHART: draw_lines(lines, width)}, widths, folder)
    log.info("\n".join([*summary_lines(summary), f"results: {folder}"]))
    return FoundContrast(summary, lines, label)


def find_pairs(trained: TrainedModel, config: DictConfig) -> Sequence[ContrastPair]:
    """Return the pairs of a file, or those that the corpus of the run writes.

    The pairs of a corpus are kept in the cache. Raises ``UserError`` where there are none.
    """
    if config.pairs is not None:
        pairs = read_contrast(config.pairs, "pairs")
        without = sum(pair.distance is None for pair in pairs)
        if without:
            line = "%d of %d pairs have no distance: accuracy by distance leaves them out"
            log.warning(line, without, len(pairs))
        return pairs
    return corpus_pairs(build_corpus(trained.config), config.cache_dir, "pairs=null", "pairs=FILE")


def summary_lines(summary: ContrastSummary) -> Iterator[str]:
    """Yield the accuracies for the terminal, line by line."""
    [everything] = summary.accuracy["all"].values()
    yield (
        f"{summary.variant} seed {summary.seed} prefers the right translation in "
        f"{_said(everything)} of {everything.pairs} pairs; search: {summary.search}"
    )
    for kind, by_group in summary.accuracy.items():
        if kind != "all":
            width = max(map(len, by_group))
            yield f"by {kind}:"
            yield from (
                f"  {name:>{width}}  {_said(each)}  {each.pairs} pairs"
                for name, each in by_group.items()
            )


def _said(accuracy: Accuracy) -> str:
    interval = "" if accuracy.low is None else f" [{accuracy.low:.1f}, {accuracy.high:.1f}]"
    return f"{accuracy.value:.1f}%{interval}"
