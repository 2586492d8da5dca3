"""A Lightning data module: batches of token numbers for each split of a corpus."""

import hashlib
import json
import math
from copy import copy
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader

from datamodules.batching import (
    Batch,
    Batching,
    BpeDropout,
    DecodingBatchSampler,
    EncodedPairs,
    Feed,
    LengthBatchSampler,
    Longest,
    Merges,
    MixedBatchSampler,
    Pieces,
    PieceSampler,
    Place,
    RoundedBatch,
    TokenBatchSampler,
    WholeBatches,
    as_built,
    decode_tokens,
    largest,
    room_for,
)
from datamodules.cleaning import Cleaning
from datamodules.corpus import SPLITS, Corpus, ParallelText, Split, fingerprint_of
from datamodules.encoded_corpus import EncodedCorpus
from datamodules.errors import UserError
from datamodules.tokenization import Bpe, Tokenizers, TokenizerSettings

FORMAT = 2  # part of the fingerprint: raise it when the cached files or tokens change
SAMPLE = 10_000  # training pairs from which the length of sentences with BPE dropout is estimated


class TranslationData(pl.LightningDataModule):
    """The splits of a corpus, tokenized and batched.

    The first use of ``encoded_corpus`` encodes the text and stores the result in ``cache_dir``,
    under the name of the corpus and the fingerprint. While the stored files are intact, the text is
    not read again. The pickled copies for the ranks hold the fingerprint but not the text.
    """

    def __init__(
        self,
        corpus: Corpus,
        cleaning: Cleaning,
        tokenizer: TokenizerSettings,
        batching: Batching,
        val_sentences: int | None,
        seed: int,
        cache_dir: Path | str,
    ):
        """Store the settings.

        ``val_sentences`` limits the number of validation sentences, which are evenly spaced over
        the split. ``seed`` decides the order of the training batches, and
        with dropout how they are cut.
        """
        super().__init__()
        self.corpus = corpus
        self.cleaning = cleaning
        self.tokenizer = tokenizer
        self.batching = batching
        self.val_sentences = val_sentences
        self.seed = seed
        self.cache_dir = Path(cache_dir)
        self.rounding: Longest | None = None  # whether training batches are rounded, and how far
        self.packed = False  # whether training batches are packed too
        self._skipped = 0

    @cached_property
    def fingerprint(self) -> str:
        """Return twelve hexadecimal digits that change with any sentence or setting of the text."""
        corpus = fingerprint_of(self.corpus)
        content = [FORMAT, corpus, self.tokenizer.identity, asdict(self.cleaning)]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]

    @cached_property
    def encoded_corpus(self) -> EncodedCorpus:
        """Vocabularies, encoded splits and reference text."""
        folder = self.cache_dir / f"{self.corpus.name}-{self.fingerprint}"
        return EncodedCorpus.of(self.corpus, self.cleaning, self.tokenizer, folder)

    def __getstate__(self) -> dict[str, Any]:
        """Leave what is mapped from ``cache_dir`` out of the pickle."""
        _ = self.fingerprint  # cached now, so that the copy does not need the text
        mapped = ("encoded_corpus", "dropout", "training_pairs", "_counted_batches")
        return {key: value for key, value in self.__dict__.items() if key not in mapped}

    @property
    def tokenizers(self) -> Tokenizers:
        """Vocabularies of both sides."""
        return self.encoded_corpus.tokenizers

    @property
    def vocabulary_sizes(self) -> tuple[int, int]:
        """Number of tokens in the source and in the target vocabulary."""
        source, target = self.tokenizers
        return len(source), len(target)

    def text(self, split: Split) -> ParallelText:
        """Return the sentences of a split; ``Batch.ids`` are indices of these sentences."""
        return self.corpus.split(split) if split == "train" else self.encoded_corpus.text[split]

    @property
    def word_counts(self) -> dict[str, int] | None:
        """How often the training text has each word of the target; None if it is not read."""
        return self.encoded_corpus.word_counts["reference"]

    @property
    def statistics(self) -> dict[str, Any]:
        """Description of the data for a result file: counts, vocabulary sizes, padding, doubts."""
        corpus = self.encoded_corpus
        padding = self._training_batches().padding()
        return {
            "name": self.corpus.name,
            "source": self.corpus.source,
            "target": self.corpus.target,
            "fingerprint": self.fingerprint,
            "pairs": {split: len(corpus.encoded[split]) for split in SPLITS},
            "left_out": {split: corpus.text[split].left_out for split in SPLITS},
            "seen": corpus.text["train"].seen,
            "vocabulary": {
                side: len(tokenizer) for side, tokenizer in corpus.tokenizers._asdict().items()
            },
            "suspicions": [*corpus.suspicions, *corpus.tokenizers.far_smaller(self.tokenizer)],
            "padding": dict(zip(Tokenizers._fields, padding, strict=True)),
            "statistics": corpus.statistics,
        }

    def updates(self, target_tokens: int) -> int:
        """Estimate how many training batches have ``target_tokens`` real tokens, EOS counted."""
        seen, pairs = self.training_pairs, self.encoded_corpus.encoded["train"]
        updates = self.updates_per_epoch * target_tokens * len(seen)
        return math.ceil(updates / (seen.tokens * len(pairs)))

    @cached_property
    def training_pairs(self) -> EncodedPairs:
        """Training pairs as an epoch has them: all; with dropout, a sample of the first epoch."""
        pairs = self.encoded_corpus.encoded["train"]
        if self.dropout is None:
            return pairs
        sample = min(SAMPLE, len(pairs))
        return self.dropout.cut(np.arange(sample) * len(pairs) // sample, 0)

    @property
    def validation_pairs(self) -> EncodedPairs:
        """The pairs of each validation: ``val_sentences``, evenly spaced over the split."""
        pairs = self.encoded_corpus.encoded["val"]
        if self.val_sentences is None or self.val_sentences >= len(pairs):
            return pairs
        return pairs.select(np.arange(self.val_sentences) * len(pairs) // self.val_sentences)

    @cached_property
    def dropout(self) -> BpeDropout | None:
        """The BPE dropout of training batches; None without."""
        corpus, share = self.encoded_corpus, self.tokenizer.dropout
        if corpus.spelled is None:
            return None
        source, target = corpus.tokenizers
        assert isinstance(source, Bpe)
        assert isinstance(target, Bpe)
        return BpeDropout(corpus.spelled, (Merges.of(source), Merges.of(target)), share, self.seed)

    @property
    def updates_per_epoch(self) -> int:
        """Number of training batches."""
        return len(self._training_batches())

    def skip_updates(self, updates: int) -> None:
        """Skip the first ``updates`` updates of the first epoch, which an earlier run has made."""
        self._skipped = updates

    def check_batches(self) -> None:
        """Raise ``UserError`` for a sentence longer than a batch may be, and for too many pieces.

        Otherwise the first validation or the test would find the mistake, after the training.
        """
        most, pieces = self._training_batches().most_sentences, self.batching.pieces
        if pieces is not None and pieces > most:
            raise UserError(
                f"batching.pieces={pieces}: the largest batch has {most} sentences; give at most "
                f"{most}"
            )
        self.check_decoding("val", "test")

    def check_decoding(self, *splits: Split) -> None:
        """Raise ``UserError`` for a sentence of these splits that is longer than a batch may be."""
        for split in splits:
            self._decoding_batches(self.encoded_corpus.encoded[split])

    def train_dataloader(self) -> Feed:
        """Return the training batches in pieces, in another order in each epoch."""
        batches = self._training_batches()
        batches.skip(self._skipped)
        pairs = self.encoded_corpus.encoded["train"]
        pieces = Pieces(pairs, self.dropout, self.rounding, self._room)
        device = None if self.trainer is None else self.trainer.strategy.root_device
        return Feed(pieces, PieceSampler(batches, self._place), self.batching.workers, device)

    def cannot_pack(self) -> str | None:
        """Return why training batches cannot be packed, in words; None if they can."""
        if self.tokenizer.dropout:
            return "tokenizer.dropout cuts sentences into more tokens than a batch has room for"
        return None

    def transfer_batch_to_device(
        self, batch: Batch, device: torch.device, dataloader_idx: int
    ) -> Batch:
        """Move a batch to a device; of a packed or rounded one, only what its update reads."""
        forms = {"packed": batch.packed, "rounded": batch.rounded}
        read = {name: form for name, form in forms.items() if form is not None}
        if not read:
            moved: Batch = super().transfer_batch_to_device(batch, device, dataloader_idx)
            return moved
        return batch._replace(**super().transfer_batch_to_device(read, device, dataloader_idx))

    def largest_update(self) -> RoundedBatch:
        """Return a rounded batch of as many of the longest sentences as fit ``max_tokens``."""
        length = int(self.encoded_corpus.encoded["train"].longest.max())
        return largest(self.batching.max_tokens // length, length, self.rounding or Longest())

    def val_dataloader(self) -> DataLoader[Batch]:
        """Return the validation batches, the longest first."""
        return self.decoding_loader(self.validation_pairs)

    def test_dataloader(self) -> DataLoader[Batch]:
        """Return the test batches, the longest first."""
        return self.decoding_loader(self.encoded_corpus.encoded["test"])

    def predict_dataloader(self) -> DataLoader[Batch]:
        """Return the test batches, for translation and for forced decoding of the references."""
        return self.test_dataloader()

    def decoding_loader(
        self, pairs: EncodedPairs, of_any_length: bool = False
    ) -> DataLoader[Batch]:
        """Return batches of any pairs, the longest first, shared out among the ranks.

        Pairs ``of_any_length`` may be longer than a batch may be: translations are.
        """
        batches = WholeBatches(self._decoding_batches(pairs, of_any_length), self._place)
        # Without a batch size, each item of the sampler selects a whole batch. The generator is
        # unused, but without a generator the loader would draw from the global random state.
        return DataLoader(
            pairs,
            sampler=batches,
            batch_size=None,
            collate_fn=as_built,
            generator=torch.Generator(),
        )

    @property
    def _place(self) -> Place:
        if self.trainer is None:
            return Place()
        ranks = self.trainer.world_size
        pieces = ranks * self.trainer.accumulate_grad_batches
        return Place(self.trainer.global_rank, ranks, pieces)

    @property
    def _room(self) -> int | None:
        """Room for the tokens of a packed batch; None if batches are not packed."""
        if not self.packed:
            return None
        longest = int(self.encoded_corpus.encoded["train"].longest.max(initial=0))
        return room_for(self.batching.max_tokens, longest, self._place.pieces)

    def _training_batches(self) -> TokenBatchSampler:
        return copy(self._counted_batches)

    @cached_property
    def _counted_batches(self) -> TokenBatchSampler:
        """The training batches, counted once, since counting reads the lengths of all pairs."""
        pairs = self.encoded_corpus.encoded["train"]
        sampler = LengthBatchSampler if self.batching.by_length else MixedBatchSampler
        batches = sampler(pairs, self.batching.max_tokens, self.seed, shuffle=True)
        len(batches)
        return batches

    def _decoding_batches(
        self, pairs: EncodedPairs, of_any_length: bool = False
    ) -> DecodingBatchSampler:
        device = None if self.trainer is None else self.trainer.strategy.root_device
        most = self.batching.decode_max_tokens
        if of_any_length:
            most = max(decode_tokens(most, device), int(pairs.longest.max()))
        return DecodingBatchSampler(pairs, most, device)
