"""What corpora of real text share: limits, empty sides, test sets by name, gold alignments."""

import hashlib
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic.dataclasses import dataclass
from typing_extensions import override

from datamodules.corpus import (
    SPLITS,
    Corpus,
    ParallelText,
    Split,
    examples_of,
    join_texts,
    set_name,
)
from datamodules.errors import UserError
from datamodules.lines import read_lines
from datamodules.pair_sources import OPTION, Block, PairSource, digests_of, find_test_set
from datamodules.phrase_table import read_links
from datamodules.words import lengths_in_words, letters_of_word

LINKS = "data.alignments.test"
ALONE = "test_sets"
"""Setting of a command that names test sets without a training text."""


@dataclass(kw_only=True)
class RealCorpus(Corpus):
    """A corpus whose splits are read from files, one source of pairs after the other."""

    limit: int | None = None  # most training pairs that are read, from the first
    train_max_words: int | None = None  # longer training pairs are left out and counted
    test_max_words: int | None = None  # the same for validation and test
    skip_empty: bool = False  # whether to leave pairs with an empty side out, not to refuse them
    test_sets: list[str] = field(default_factory=list)  # names of sets that are the test split
    test_sets_folder: Path | None = None  # folder of the test sets; None for sacreBLEU's own
    alignments: dict[Literal["test"], Path] | None = None  # gold links of the test split
    cache_dir: Path | None = None  # remembers the digests of files

    place: ClassVar[str]  # the setting that says where the text is, for messages
    names_sets: ClassVar[str] = OPTION  # the setting that names the test sets

    def __post_init__(self) -> None:
        """Raise ``UserError`` if both languages are the same."""
        if self.source == self.target:
            raise UserError(
                f"data.source and data.target are both {self.source!r}: set data.target=... to the "
                "other language"
            )

    @abstractmethod
    def find(self, split: Split) -> Iterator[PairSource]:
        """Yield where the pairs of a split stand. Raises ``UserError`` if they are missing."""

    @override
    @cached_property
    def fingerprint(self) -> str:
        """Return twelve hexadecimal digits that hash the files, the languages and the limits."""
        languages = self.source, self.target
        settings = {
            "languages": languages,
            "letters of a word": list(map(letters_of_word, languages)),
            "limits": (self.train_max_words, self.test_max_words, self.skip_empty),
            "sources": [[source.identity for source in self._sources[split]] for split in SPLITS],
            "test sets": self._set_names,
            "alignments": sorted(self._links),
        }
        digest = hashlib.sha256(repr(settings).encode())
        files = [(self.text_files(), self.place), (list(self._links.values()), LINKS)]
        for paths, option in files:
            for content in digests_of(paths, self.cache_dir, option):
                digest.update(content)
        return digest.hexdigest()[:12]

    def text_files(self) -> list[Path]:
        """Return the files whose content decides the pairs."""
        return [
            file for split in SPLITS for source in self._sources[split] for file in source.files
        ]

    @override
    def split(self, name: Split) -> ParallelText:
        """Return one split. Raises ``UserError`` if the files or limits of the split are wrong."""
        return join_texts(list(self.parts(name)))

    @override
    def parts(self, name: Split) -> Iterator[ParallelText]:
        """Yield one split in parts. Raises ``UserError`` as ``split`` does."""
        left_out: Counter[str] = Counter()
        kept = 0
        for part in self._read(name):
            left_out.update(part.left_out)
            kept += len(part)
            yield part
        if not kept:
            raise UserError(self._nothing_left(name, left_out))

    def _nothing_left(self, name: Split, left_out: Mapping[str, int]) -> str:
        source, target = self._sources[name][0].sides
        if not left_out:
            return f"{source} and {target} have no pairs: set {self.place}=..."
        reasons = ", ".join(f"{count} {reason}" for reason, count in left_out.items())
        option = "train_max_words" if name == "train" else "test_max_words"
        return (
            f"no pair of {source} and {target} is left ({reasons}): raise data.{option} or set "
            f"{self.place}=..."
        )

    def _read(self, name: Split) -> Iterator[ParallelText]:
        gold = read_lines(self._links[name], LINKS) if name in self._links else None
        limit = self.train_max_words if name == "train" else self.test_max_words
        pairs = 0
        for source in self._sources[name]:
            first = source.first
            further = _further_references(source, self.place) if source.references else None
            for block in source.blocks():
                if not self.skip_empty:
                    _refuse_empty(source, block, first)
                links = None if gold is None else self._gold(gold, pairs, block)
                pairs += len(block[0])
                is_set = name == "test" and self._set_names
                rows = slice(first - source.first, first - source.first + len(block[0]))
                given = ParallelText(
                    list(block[0]),
                    list(block[1]),
                    links,
                    further_references=further and further[rows],
                )
                text = _within(given, (self.source, self.target), limit)
                named = {set_name(source.name): len(text)} if is_set else {}
                yield replace(text, sets=named)
                first += len(block[0])
        if gold is not None and pairs != len(gold):
            raise UserError(
                f"{self._links[name]} has {len(gold)} lines, but the test split has {pairs} pairs: "
                f"write one line for each, empty where nothing is linked, or set {LINKS}=..."
            )

    def _gold(self, gold: Sequence[str], before: int, block: Block) -> list[str]:
        """Return the gold links of a block, which ``before`` pairs precede."""
        links = list(gold[before : before + len(block[0])])
        try:
            read_links(ParallelText(list(block[0]), list(block[1]), links), before + 1)
        except ValueError as error:
            file = self._links["test"]
            raise UserError(f"{file}, {error}: fix it, or set {LINKS}=...") from None
        return links

    @cached_property
    def _sources(self) -> dict[Split, list[PairSource]]:
        found = {
            split: list(self.find(split))
            for split in SPLITS
            if split != "test" or not self.test_sets
        }
        if self.test_sets:
            found["test"] = [
                find_test_set(
                    name,
                    self.source,
                    self.target,
                    self.set_places,
                    self.test_sets_folder,
                    self.names_sets,
                )
                for name in self.test_sets
            ]
        return found

    @property
    def _links(self) -> dict[Split, Path]:
        return {"test": self.alignments["test"]} if self.alignments else {}

    @property
    def set_places(self) -> list[Path]:
        """Folders that may hold test sets as files ``NAME.{language}``."""
        return [] if self.test_sets_folder is None else [self.test_sets_folder]

    @cached_property
    def _set_names(self) -> list[str]:
        """Names of the test sets; none if the test split is one without a name."""
        names = [set_name(source.name) for source in self._sources["test"]]
        if len(names) == 1 and not self.test_sets:
            return []
        twice = next((name for name, count in Counter(names).items() if count > 1), None)
        if twice is not None:
            option = self.names_sets if self.test_sets else "data.files"
            raise UserError(f"{option}: the test set {twice} is given twice")
        return names


@dataclass(kw_only=True)
class SetCorpus(RealCorpus):
    """Test sets by name, without a training text."""

    name: str
    source: str
    target: str
    places: list[Path] = field(default_factory=list)  # further folders of files

    place: ClassVar[str] = ALONE
    names_sets: ClassVar[str] = ALONE

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
        raise UserError(f"{ALONE}=[]: names no test set; give at least one, or leave it out")
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


def _further_references(source: PairSource, option: str) -> list[list[str]]:
    """Return the further references of each pair."""
    streams = [read_lines(file, option) for file in source.references]
    pairs = sum(len(block[0]) for block in source.blocks())
    for file, lines in zip(source.references, streams, strict=True):
        if len(lines) != pairs:
            raise UserError(
                f"{file} has {len(lines)} lines but {source.sides[1]} has {pairs}: line n of each "
                f"must be a reference of sentence n; fix the files, or set {option}=..."
            )
    return list(map(list, zip(*streams, strict=True)))


def _within(text: ParallelText, languages: tuple[str, str], limit: int | None) -> ParallelText:
    words = list(map(lengths_in_words, (text.source, text.target), languages))
    empty = np.minimum(*words) == 0
    long = np.zeros_like(empty) if limit is None else ~empty & (np.maximum(*words) > limit)
    reasons = {"empty": empty, f"longer than {limit} words": long}
    found = {reason: which.tolist() for reason, which in reasons.items() if which.any()}
    kept = (~empty & ~long).tolist()
    further = text.further_references
    return ParallelText(
        list(compress(text.source, kept)),
        list(compress(text.target, kept)),
        None if text.alignments is None else list(compress(text.alignments, kept)),
        {reason: sum(which) for reason, which in found.items()},
        {reason: examples_of(compress(text.source, which)) for reason, which in found.items()},
        further_references=None if further is None else list(compress(further, kept)),
    )


def _refuse_empty(source: PairSource, block: Block, first: int) -> None:
    for place, lines in zip(source.sides, block, strict=True):
        if not all(map(str.strip, lines)):
            number = next(n for n, line in enumerate(lines, first) if not line.strip())
            raise UserError(
                f"{place}, {source.unit} {number}: empty: fix the file, or leave such pairs out "
                "with data.skip_empty=true"
            )
