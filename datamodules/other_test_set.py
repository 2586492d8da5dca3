"""Another test set for a trained run: encoded by its vocabularies, without its training text."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from typing_extensions import override

from datamodules.batching import EncodedPairs
from datamodules.corpus import read_split
from datamodules.encoded_corpus import EncodedCorpus
from datamodules.prepare import encode_lines
from datamodules.real_corpus import set_corpus
from datamodules.tokenization import Tokenizers
from datamodules.translation_data import TranslationData


class OtherTestData(TranslationData):
    """The data of a run with another test set, and nothing of its training text.

    ``record`` describes the run's own data, as ``statistics`` does.
    """

    def __init__(
        self,
        data: TranslationData,
        names: str | Sequence[str],
        tokenizers: Tokenizers,
        fingerprint: str,
        record: Mapping[str, Any],
    ) -> None:
        """Store the settings; ``fingerprint`` is that of the data of the run."""
        super().__init__(
            set_corpus(data.corpus, names),
            data.cleaning,
            data.tokenizer,
            data.batching,
            data.val_sentences,
            data.seed,
            data.cache_dir,
        )
        self._read_by, self._trained_on, self._record = tokenizers, fingerprint, record

    @override
    @cached_property
    def fingerprint(self) -> str:
        content = [self._trained_on, self.corpus.fingerprint]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]

    @override
    @cached_property
    def encoded_corpus(self) -> EncodedCorpus:
        text = self.cleaning.text(read_split(self.corpus, "test"), self.corpus.source)
        sides = zip(self._read_by, (text.source, text.target), strict=True)
        pairs = EncodedPairs(None, *(encode_lines(*side)[0] for side in sides))
        return EncodedCorpus(
            tokenizers=self._read_by,
            encoded={"test": pairs},
            spelled=None,
            text={"test": text},
            suspicions=[],
            phrase_table=None,
            nearest_copies=None,
            statistics=None,
            folder=None,
        )

    @property
    @override
    def word_counts(self) -> None:
        """Nothing: the training text is not read."""
        return None

    @property
    @override
    def statistics(self) -> dict[str, Any]:
        text, record = self.encoded_corpus.text["test"], dict(self._record)
        return record | {
            "name": self.corpus.name,
            "source": self.corpus.source,
            "target": self.corpus.target,
            "fingerprint": self.fingerprint,
            "test_sets": list(text.sets),
            "pairs": record["pairs"] | {"test": len(text)},
            "left_out": record["left_out"] | {"test": text.left_out},
            "seen": {},
            "suspicions": [],
            "statistics": None,
        }
