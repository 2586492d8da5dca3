"""Losses of right and wrong translations under a model, for contrastive pairs."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from typing_extensions import override

from datamodules.batching import Batch, EncodedPairs, LengthBatchSampler, Sequences
from datamodules.cleaning import Cleaning
from datamodules.contrast_pairs import ContrastPair, read_contrast, write_contrast
from datamodules.corpus import Corpus
from datamodules.errors import UserError
from datamodules.files import locked
from datamodules.tokenization import Tokenizers
from lightning_modules.metrics.bootstrap import ScoredGroup
from lightning_modules.metrics.contrast_choices import Choices
from lightning_modules.runs.schema import Accuracies, Accuracy
from lightning_modules.testing.forced_decoding import ForcedDecoding
from lightning_modules.training.checkpoints import TrainedModel
from lightning_modules.training.input_checks import check_text

EDITION = 2
"""Part of the name of kept pairs: raise it when a corpus writes other pairs of equal sentences."""


class PairRequest(NamedTuple):
    """The override that asks for the pairs of a corpus, and what to give instead."""

    option: str
    instead: str


CONTRASTIVE = PairRequest("scoring.contrastive=true", "give scoring.contrastive=false")


class SentenceLoss(NamedTuple):
    """Negative log-likelihood of a translation, EOS counted, in nats."""

    id: int
    nats: float


class SentenceLosses(ForcedDecoding):
    """Force a model to produce translations, and keep nothing but their losses."""

    @override
    def predict_step(self, batch: Batch, batch_idx: int = 0) -> list[SentenceLoss]:  # type: ignore[override]
        """Return the loss of each translation of a batch."""
        return [
            SentenceLoss(one.id, float(one.nats.sum()))
            for one in super().predict_step(batch, batch_idx)
        ]


def corpus_pairs(corpus: Corpus, cache_dir: str | Path, asked: PairRequest) -> list[ContrastPair]:
    """Return the pairs that a corpus writes, which are kept in the cache.

    Raises ``UserError``, with what was ``asked``, where there are none.
    """
    name = f"contrast-{corpus.name}-{EDITION}-{corpus.fingerprint}"
    kept = Path(cache_dir) / f"{name}.json"
    with locked(kept.with_name(f".{name}.lock")):
        if not kept.is_file():
            written = corpus.contrastive_pairs()
            if not written:
                raise UserError(
                    f"{asked.option}: {corpus.name} writes no contrastive pairs; {asked.instead}"
                )
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


def choices_of(pairs: Sequence[ContrastPair], losses: Iterable[SentenceLoss]) -> Choices:
    """Return the choices, given the losses of ``both_translations``, in any order."""
    nats = np.empty(2 * len(pairs))
    for loss in losses:
        nats[loss.id] = loss.nats
    return Choices.of(pairs, nats[: len(pairs)], nats[len(pairs) :])


def choose(trained: TrainedModel, pairs: Sequence[ContrastPair], decode_max_tokens: int) -> Choices:
    """Return the choices of a trained model.

    Raises ``UserError`` for text that the model cannot read, or of ``LengthBatchSampler``.
    """
    encoded = both_translations(pairs, trained.cleaning, trained.languages, trained.tokenizers)
    check_text(trained.config, trained.model, trained.tokenizers.source, {"given": encoded})
    forcing, option = SentenceLosses(trained.model), "batching.decode_max_tokens"
    losses: list[SentenceLoss] = []
    with torch.no_grad():
        for rows in LengthBatchSampler(encoded, decode_max_tokens, option=option):
            losses += forcing.predict_step(encoded[rows])
    return choices_of(pairs, losses)


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
