"""Another test set for a trained run: encoded by its vocabularies, without its training text."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass
from typing_extensions import override

from datamodules.batching import EncodedPairs
from datamodules.corpus import Corpus, Split, read_split
from datamodules.encoded_corpus import EncodedCorpus
from datamodules.errors import UserError
from datamodules.pair_sources import PairSource
from datamodules.prepare import encode_lines
from datamodules.real_corpus import RealCorpus
from datamodules.tokenization import Tokenizers
from datamodules.translation_data import TranslationData

OPTION = "test_sets"


@dataclass(kw_only=True)
class SetCorpus(RealCorpus):
    """Test sets by name, without a training text."""

    name: str
    source: str
    target: str
    places: list[Path] = field(default_factory=list)  # further folders of files

    place: ClassVar[str] = OPTION
    names_sets: ClassVar[str] = OPTION

    @override
    def find(self, split: Split) -> Iterator[PairSource]:
        yield from ()

    @property
    @override
    def set_places(self) -> list[Path]:
        return [Path(), *self.places, *super().set_places]

    @override
    @cached_property
    def _sources(self) -> dict[Split, list[PairSource]]:
        sources = super()._sources
        files = [Path(source.name) for source in sources["test"]]
        count = Counter(file.name for file in files)
        for source, file in zip(sources["test"], files, strict=True):
            alone = count[file.name] == 1
            source.name = file.name if alone else f"{file.parent.name}/{file.name}"
        return sources


def set_corpus(corpus: Corpus, names: str | Sequence[str]) -> SetCorpus:
    """Return the test sets of these names in the languages of ``corpus``.

    A name may be that of files ``NAME.LANGUAGE``, with its folder, or of the file of one side.
    Raises ``UserError`` without a name.
    """
    asked = [names] if isinstance(names, str | int) else list(names)
    if not asked:
        raise UserError(f"{OPTION}=[]: names no test set; give at least one, or leave it out")
    sides = tuple(f".{language}" for language in (corpus.source, corpus.target))
    real = corpus if isinstance(corpus, RealCorpus) else None
    return SetCorpus(
        name=corpus.name,
        source=corpus.source,
        target=corpus.target,
        test_sets=[_without(str(name), sides) for name in asked],
        test_sets_folder=real.test_sets_folder if real else None,
        test_max_words=real.test_max_words if real else None,
        skip_empty=real.skip_empty if real else False,
        cache_dir=real.cache_dir if real else None,
        train_max_words=corpus.train_max_words,
        places=real.set_places if real else [],
    )


def _without(name: str, sides: tuple[str, ...]) -> str:
    """Return the name that two files share, given the file of one side."""
    is_side = name.endswith(sides) and Path(name).is_file()
    return str(Path(name).with_suffix("")) if is_side else name


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
