"""The private parts of libraries that the harness uses, each with a test that fails on a change."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sacrebleu.metrics import BLEU, CHRF, TER

if TYPE_CHECKING:  # reports count BLEU, and do not load Lightning
    import pytorch_lightning as pl


def end_only_by_flags(trainer: "pl.Trainer") -> None:
    """Do not ask the other ranks for SIGTERM before each batch, as Lightning does.

    Its question waits for the device; ``RankFlags`` asks over the processor, and less often.
    """
    trainer.fit_loop.epoch_loop._broadcast_sigterm_tensor = lambda: None  # type: ignore[method-assign]


def correct_step_count(trainer: "pl.Trainer") -> None:
    """Set Lightning's step counter to the true number.

    After a resumed validation the counter is one too high.
    """
    trainer.fit_loop.epoch_loop._batches_that_stepped = trainer.global_step


def sentence_counts(
    counter: BLEU | CHRF | TER, hypotheses: Sequence[str], references: Sequence[str]
) -> list[list[float]]:
    """Return what a metric of sacreBLEU sums over sentences, a row for each sentence."""
    counts: list[list[float]] = counter._extract_corpus_statistics(hypotheses, [references])
    return counts
