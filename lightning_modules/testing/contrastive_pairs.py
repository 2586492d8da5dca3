"""Losses of right and wrong translations under a model, for contrastive pairs."""

import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import torch

from datamodules.batching import DecodingBatchSampler, EncodedPairs, Sequences
from datamodules.cleaning import Cleaning
from datamodules.contrast_pairs import ContrastPair, read_contrast, write_contrast
from datamodules.corpus import Corpus, no_pairs
from datamodules.files import locked
from datamodules.tokenization import Tokenizers
from lightning_modules.metrics.bootstrap import ScoredGroup
from lightning_modules.metrics.contrast_choices import PairChoices
from lightning_modules.runs.schema import Accuracies, Accuracy
from lightning_modules.testing.forced_decoding import ForcedDecoding, ForcedSentence
from lightning_modules.training.checkpoints import TrainedModel
from lightning_modules.training.factories import check_text

log = logging.getLogger(__name__)

EDITION = 2
"""Part of the name of kept pairs: raise it when a corpus writes other pairs of equal sentences."""


def corpus_pairs(
    corpus: Corpus,
    cache_dir: str | Path,
    asked: str = "scoring.contrastive=true",
    instead: str = "scoring.contrastive=false",
) -> list[ContrastPair]:
    """Return the pairs that a corpus writes, which are kept in the cache.

    Raises ``UserError``, with the override that ``asked`` and one to give ``instead``, where there
    are none.
    """
    name = f"contrast-{corpus.name}-{EDITION}-{corpus.fingerprint}"
    kept = Path(cache_dir) / f"{name}.json"
    with locked(kept.with_name(f".{name}.lock")):
        if not kept.is_file():
            log.info("%s: writing contrastive pairs, which are kept in the cache", corpus.name)
            written = corpus.contrastive_pairs()
            if not written:
                raise no_pairs(corpus, asked, instead)
            write_contrast(kept, written)
    return read_contrast(kept, "cache_dir")


def both_translations(
    pairs: Sequence[ContrastPair],
    cleaning: Cleaning,
    languages: tuple[str, str],
    tokenizers: Tokenizers,
) -> EncodedPairs:
    """Encode the right translations of all pairs, then the wrong ones, ``(2 pairs,)``.

    All sentences, in ``languages``, are cleaned as the training text was.
    """
    sources = cleaning.lines([pair.source for pair in pairs], languages[0])
    source = tokenizers.source.encode(sources)
    written = [*(pair.reference for pair in pairs), *(pair.contrastive for pair in pairs)]
    targets = cleaning.lines(written, languages[1])
    return EncodedPairs(
        np.arange(2 * len(pairs)),
        Sequences.of([*source, *source]),
        Sequences.of(tokenizers.target.encode(targets)),
    )


def choices_of(pairs: Sequence[ContrastPair], forced: Iterable[ForcedSentence]) -> PairChoices:
    """Return the choices, given the losses of ``both_translations``, in any order."""
    nats = np.empty(2 * len(pairs))
    for one in forced:
        nats[one.id] = one.nats.sum()
    return PairChoices.of(pairs, nats[: len(pairs)], nats[len(pairs) :])


def choose(
    trained: TrainedModel,
    pairs: Sequence[ContrastPair],
    decode_max_tokens: int | None,
    advance: Callable[[int], None] = lambda sentences: None,
) -> PairChoices:
    """Return the choices of a trained model; ``advance`` counts the translations that are scored.

    Raises ``UserError`` for text that the model cannot read, or of ``DecodingBatchSampler``.
    """
    encoded = both_translations(pairs, trained.cleaning, trained.languages, trained.tokenizers)
    check_text(trained.config, trained.model, trained.tokenizers.source, {"given": encoded})
    forcing = ForcedDecoding(trained.model, weights=False)
    forced: list[ForcedSentence] = []
    with torch.no_grad():
        for rows in DecodingBatchSampler(encoded, decode_max_tokens):
            forced += forcing.predict_step(encoded[rows])
            advance(len(rows))
    return choices_of(pairs, forced)


def accuracies(groups: Iterable[ScoredGroup], system: str) -> Accuracies:
    """Return a system's shares of right choices by kind of group and by group."""
    found: Accuracies = {}
    for group in groups:
        estimate = group.estimate(system)
        assert estimate is not None
        accuracy = Accuracy(
            pairs=group.pairs, value=estimate.value, low=estimate.low, high=estimate.high
        )
        found.setdefault(group.kind, {})[group.name] = accuracy
    return found
