"""Checks of a test set before the training, so that no training ends without a score."""

import logging

from datamodules.corpus import check_sets
from datamodules.errors import UserError
from datamodules.translation_data import TranslationData
from lightning_modules.metrics.alignment.gold import read_pharaoh
from lightning_modules.metrics.chosen_metrics import find_metrics, translation_statistics
from lightning_modules.testing.contrast import CONTRASTIVE, corpus_pairs
from lightning_modules.testing.scoring_settings import Scoring

log = logging.getLogger(__name__)

TRIED = 8
"""Number of test sentences that every metric scores."""
LONG = 500
"""Number of tokens of a sentence whose translation takes long."""


def check_test_set(data: TranslationData, scoring: Scoring) -> None:
    """Raise ``UserError`` for a test set that can be translated but not scored.

    Writes contrastive pairs where ``scoring.contrastive`` asks for them. Logs a warning for a very
    long sentence, whose translation takes long.
    """
    text, place = data.text("test"), f"data={data.corpus.name}, test"
    if text.alignments is not None:
        pairs = zip(text.source, text.target, strict=True)
        lengths = [(len(source.split()), len(target.split())) for source, target in pairs]
        try:
            read_pharaoh(text.alignments, lengths)
        except ValueError as error:
            raise UserError(f"{place}: gold alignments, {error}") from None
    if scoring.contrastive:
        corpus_pairs(data.corpus, data.cache_dir, CONTRASTIVE)
    check_sets(text, place)
    step = -(-len(text) // TRIED)
    references = text.target[::step]
    translation_statistics(
        find_metrics(scoring.metrics), text.source[::step], references, references
    )
    longest = int(data.encoded_corpus.encoded["test"].longest.max())
    if longest > LONG:
        log.warning(
            "%s: the longest sentence has %s tokens, so that its translation takes long; "
            "data.test_max_words leaves such sentences out", place, f"{longest:,}",
        )  # fmt: skip
