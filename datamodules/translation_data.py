"""A corpus as Lightning reads it: batches of token numbers for each split."""

import hashlib
import json
import math
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from pydantic import NonNegativeInt, PositiveInt, SkipValidation, validate_call
from torch.utils.data import DataLoader, Dataset, Sampler

from datamodules.batching import Batch, Batching, EncodedPairs, LengthBatchSampler
from datamodules.corpus import SPLITS, Corpus, ParallelText, Split
from datamodules.prepared import Prepared
from datamodules.sharding import Pieces, PieceSampler, Place, WholeBatches
from datamodules.tokenization import Tokenizers, TokenizerSettings

FORMAT = 2
"""Part of the fingerprint: raise it when the cached files or the way text is cut change."""


class TranslationData(pl.LightningDataModule):
    """The splits of a corpus, tokenized and batched.

    The work is done when its result is first asked for, and kept in ``cache_dir`` under the
    corpus's name and the fingerprint; while those files are whole, no text is made or read again.
    """

    @validate_call(config={"arbitrary_types_allowed": True})
    def __init__(
        self,
        corpus: SkipValidation[Corpus],
        tokenizer: TokenizerSettings,
        batching: Batching,
        val_sentences: PositiveInt | None,
        seed: NonNegativeInt,
        cache_dir: Path,
    ):
        """``val_sentences`` limits validation to that many sentences, evenly spaced over the
        split; ``seed`` orders the training batches.
        """
        super().__init__()
        self.corpus = corpus
        self.tokenizer = tokenizer
        self.batching = batching
        self.val_sentences = val_sentences
        self.seed = seed
        self.cache_dir = cache_dir
        self._skipped = 0

    @cached_property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits that change with any sentence and any tokenizer setting."""
        content = [FORMAT, self.corpus.fingerprint, asdict(self.tokenizer)]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]

    @cached_property
    def prepared(self) -> Prepared:
        """Vocabularies, encoded splits and the text to score against."""
        folder = self.cache_dir / f"{self.corpus.name}-{self.fingerprint}"
        return Prepared.of(self.corpus, self.tokenizer, folder)

    @property
    def tokenizers(self) -> Tokenizers:
        """The vocabularies of both sides."""
        return self.prepared.tokenizers

    @property
    def vocabulary_sizes(self) -> tuple[int, int]:
        """Tokens that either side knows."""
        source, target = self.tokenizers
        return len(source), len(target)

    def text(self, split: Split) -> ParallelText:
        """Return a split's sentences; ``Batch.ids`` are indices in it."""
        return self.corpus.split(split) if split == "train" else self.prepared.text[split]

    @property
    def statistics(self) -> dict[str, Any]:
        """What a result says of its data: counts of sentence pairs and vocabulary sizes."""
        prepared = self.prepared
        return {
            "name": self.corpus.name,
            "source": self.corpus.source,
            "target": self.corpus.target,
            "fingerprint": self.fingerprint,
            "pairs": {split: len(prepared.encoded[split]) for split in SPLITS},
            "left_out": {split: prepared.text[split].left_out for split in SPLITS},
            "vocabulary": {
                side: len(tokenizer) for side, tokenizer in prepared.tokenizers._asdict().items()
            },
        }

    def updates(self, target_tokens: int) -> int:
        """Estimate how many training batches hold that many real target tokens, EOS counted."""
        pairs = self.prepared.encoded["train"]
        return math.ceil(len(self._training_batches()) * target_tokens / pairs.tokens)

    def skip_updates(self, updates: int) -> None:
        """Begin training after so many updates of its first epoch, which were made before."""
        self._skipped = updates

    def train_dataloader(self) -> DataLoader[Batch]:
        """Training batches in pieces, in another order each epoch."""
        batches = self._training_batches()
        batches.skip(self._skipped)
        pieces = Pieces(self.prepared.encoded["train"])
        return _loader(pieces, PieceSampler(batches, self._place))

    def val_dataloader(self) -> DataLoader[Batch]:
        """Validation batches, the longest first."""
        pairs = self.prepared.encoded["val"]
        if self.val_sentences is not None and self.val_sentences < len(pairs):
            pairs = pairs.select(np.arange(self.val_sentences) * len(pairs) // self.val_sentences)
        return self._decoding_loader(pairs)

    def test_dataloader(self) -> DataLoader[Batch]:
        """Test batches, the longest first."""
        return self._decoding_loader(self.prepared.encoded["test"])

    def predict_dataloader(self) -> DataLoader[Batch]:
        """What ``Trainer.predict`` translates, and forces the references of: the test batches."""
        return self.test_dataloader()

    @property
    def _place(self) -> Place:
        """Which of the ranks this is, as the trainer has it."""
        if self.trainer is None:
            return Place()
        ranks = self.trainer.world_size
        pieces = ranks * self.trainer.accumulate_grad_batches
        return Place(self.trainer.global_rank, ranks, pieces)

    def _training_batches(self) -> LengthBatchSampler:
        pairs = self.prepared.encoded["train"]
        return LengthBatchSampler(pairs, self.batching.max_tokens, self.seed, shuffle=True)

    def _decoding_loader(self, pairs: EncodedPairs) -> DataLoader[Batch]:
        budget = self.batching.decode_max_tokens
        batches = LengthBatchSampler(pairs, budget, option="batching.decode_max_tokens")
        return _loader(pairs, WholeBatches(batches, self._place))


def _loader(pairs: Dataset[Batch], batches: Sampler[Any]) -> DataLoader[Batch]:
    # Without a batch size, the sampler's items go to the data set as they are: whole batches. A
    # generator, which nothing here uses, keeps the loader from drawing on global random state.
    return DataLoader(pairs, sampler=batches, batch_size=None, generator=torch.Generator())
