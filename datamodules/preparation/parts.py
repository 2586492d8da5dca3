"""The parts of a training text while it is prepared: first the text, then token numbers.

A part is a few ten thousand neighbouring pairs. Each step writes the files of a part whole and its
summary last, so that an interrupted preparation goes on with the parts that are missing.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import compress
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from datamodules.cleaning import Cleaner, StepCount, first_occurrences, pair_digests
from datamodules.corpus import examples_of
from datamodules.corpus_statistics import SideCounts
from datamodules.files import whole_file
from datamodules.preparation.line_encoder import LineEncoder
from datamodules.preparation.store import Array, check_files, load_side, save_side
from datamodules.tokenization import Tokenizers, TokenizerSettings

SIDES = ("source", "target")
ENCODING = "utf-8", "surrogatepass"
DIGESTS, FIRST = "digests.npy", "first.npy"
"""Digests of the pairs of a part, and which of these pairs come in no earlier part or line."""
Pair = tuple[str, str]
Text = tuple[Sequence[str], Sequence[str]]
"""The lines of both sides."""
T = TypeVar("T")


@dataclass(frozen=True)
class TextSummary:
    """How the text of a part was cleaned."""

    read: int
    """Pairs before cleaning."""
    pairs: int
    """Pairs that are left."""
    steps: list[StepCount]


@dataclass(frozen=True)
class NumbersSummary:
    """What the cleaned text of a part says."""

    checksums: dict[str, int]
    """Checksum of each file of token numbers."""
    copies: int
    """Pairs whose target equals the source."""
    copied: list[str]
    """Examples of such sources."""
    leaked: list[Pair]
    """Test pairs that are pairs of this part."""
    words: dict[str, dict[str, int]]
    """Frequency of each whitespace-separated word, for each side."""
    counts: dict[str, SideCounts]
    """Counts of lengths and unknown tokens, for each side."""


@dataclass(frozen=True)
class Parts:
    """The parts in a folder."""

    folder: Path

    def write_text(self, cleaner: Cleaner, numbered: tuple[int, Text]) -> TextSummary:
        """Write the cleaned text of a part, unless it is there; return its summary.

        A line feed inside a line, which is white space, becomes a space.
        """
        number, text = numbered
        return self._kept(number, "text", TextSummary, lambda: self._write(number, text, cleaner))

    def leave_duplicates_out(self, count: int) -> list[int]:
        """Leave pairs that came before out of ``count`` parts; return how many of each part."""
        digests = _Digests([self._file(number, DIGESTS) for number in range(count)])
        first = first_occurrences(digests)
        for number, mask in enumerate(first):
            with whole_file(self._file(number, FIRST)) as temporary:
                np.save(temporary, mask)
        return [int(np.sum(~mask)) for mask in first]

    def duplicates(self, number: int) -> list[str]:
        """Return the sources of a part that were left out as duplicates."""
        return list(compress(self._lines(number)[0], ~np.load(self._file(number, FIRST))))

    def read_text(self, number: int) -> Text:
        """Return the lines of both sides of a part, without duplicates."""
        source, target = self._lines(number)
        mask = self._file(number, FIRST)
        if not mask.is_file():
            return source, target
        first = np.load(mask)
        if first.all():
            return source, target
        kept = first.tolist()
        return list(compress(source, kept)), list(compress(target, kept))

    def write_numbers(
        self, vocabularies: Path, settings: TokenizerSettings, tested: frozenset[Pair], number: int
    ) -> NumbersSummary:
        """Write the token numbers of a part, unless they are there; return its summary.

        With ``dropout``, word numbers are written too. ``vocabularies`` is the folder of the
        vocabularies, ``tested`` holds the test pairs.
        """
        return self._kept(
            number,
            "numbers",
            NumbersSummary,
            lambda: self._encode(number, vocabularies, settings, tested),
        )

    def read_words(self, number: int, side: str) -> list[str]:
        """Return the different words of a side of a part, in the order of the part's numbers."""
        summary = json.loads(self._file(number, "numbers.json").read_bytes())
        return list(summary["words"][side])

    def _kept(self, number: int, step: str, kind: type[T], make: Callable[[], T]) -> T:
        """Return the summary of a step, which an earlier preparation may have left."""
        file, form = self._file(number, f"{step}.json"), TypeAdapter(kind)
        if file.is_file():
            with suppress(ValidationError):  # left by another version
                return form.validate_json(file.read_bytes())
        made = make()
        with whole_file(file) as temporary:
            temporary.write_bytes(form.dump_json(made))
        return made

    def _write(self, number: int, text: Text, cleaner: Cleaner) -> TextSummary:
        source, target = ([line.replace("\n", " ") for line in lines] for lines in text)
        text, steps = cleaner.clean((source, target))
        for side, lines in zip(SIDES, text, strict=True):
            with whole_file(self._file(number, side)) as temporary:
                temporary.write_bytes("".join(f"{line}\n" for line in lines).encode(*ENCODING))
        if cleaner.cleaning.duplicates:
            with whole_file(self._file(number, DIGESTS)) as temporary:
                np.save(temporary, pair_digests(*text))
        return TextSummary(len(source), len(text[0]), steps)

    def _encode(
        self, number: int, vocabularies: Path, settings: TokenizerSettings, tested: frozenset[Pair]
    ) -> NumbersSummary:
        checksums: dict[str, int] = {}
        text = self.read_text(number)
        words: dict[str, dict[str, int]] = {}
        counts: dict[str, SideCounts] = {}
        encoders = _encoders(vocabularies, settings.kind)
        for side, encoder, lines in zip(SIDES, encoders, text, strict=True):
            encoded = encoder.encode_and_count(lines)
            words[side] = encoded.frequencies
            counts[side] = SideCounts.of(encoded.words[1], encoded.tokens[1], encoded.tokens[0])
            checksums |= save_side(self.folder, f"{number:05}.{side}", [encoded.tokens])
            if settings.dropout:
                checksums |= save_side(self.folder, f"{number:05}.{side}.words", [encoded.words])
        copies = [source for source, target in zip(*text, strict=True) if source == target]
        leaked = sorted(tested.intersection(zip(*text, strict=True)))
        return NumbersSummary(checksums, len(copies), examples_of(copies), leaked, words, counts)

    def _lines(self, number: int) -> tuple[list[str], list[str]]:
        contents = (self._file(number, side).read_bytes() for side in SIDES)
        source, target = (each.decode(*ENCODING).split("\n")[:-1] for each in contents)
        return source, target

    def _file(self, number: int, name: str) -> Path:
        return self.folder / f"{number:05}.{name}"


@dataclass(frozen=True)
class PartNumbers:
    """Tokens and lengths of a side of all parts, or its ``words``; one part is open at a time."""

    parts: Parts
    side: str
    checksums: Sequence[dict[str, int]]
    """Checksums of the files of each part."""

    def __iter__(self) -> Iterator[tuple[Array, Array]]:
        folder = self.parts.folder
        for number, each in enumerate(self.checksums):
            name = f"{number:05}.{self.side}"
            own = {file: known for file, known in each.items() if file.startswith(f"{name}.")}
            check_files(folder, own)
            found = load_side(folder, name)
            yield found.tokens, found.lengths


@dataclass(frozen=True)
class _Digests:
    """Digests of the pairs of each part; one file is open at a time."""

    files: Sequence[Path]

    def __iter__(self) -> Iterator[NDArray[np.uint64]]:
        yield from map(np.load, self.files)


@cache
def _encoders(vocabularies: Path, kind: str) -> tuple[LineEncoder, LineEncoder]:
    source, target = Tokenizers.load(vocabularies, kind)
    return LineEncoder(source), LineEncoder(target)
