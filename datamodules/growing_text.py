"""The words of a training text while it is read: files on the disk that grow block by block."""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from datamodules.cleaning import StepCount, first_occurrences
from datamodules.corpus import ParallelText, examples_of
from datamodules.corpus_statistics import Suspicion
from datamodules.files import make_folder
from datamodules.sequences import AT_ONCE, Sequences
from datamodules.words import WordNumbers

SIDES = ("source", "target")
ENCODING = "utf-8", "surrogatepass"
INDEX = "blocks.jsonl"  # file with a line for each finished block
ENOUGH = 100  # duplicates among which examples are found
Pair = tuple[str, str]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class BlockCounts:
    """What a block of neighbouring pairs holds besides its words."""

    read: int  # pairs before cleaning
    pairs: int  # pairs that are left
    steps: list[StepCount]
    copied: list[str]  # examples of sources that equal their target
    leaked: list[Pair]  # test pairs that are pairs of this block


Block = tuple[BlockCounts, tuple[WordNumbers, WordNumbers], Mask, NDArray[np.uint64]]
"""Neighbouring pairs of the cleaned text: counts, the words of both sides, whether the target of
each pair equals the source, and the digest of each pair (nothing if duplicates may stay)."""


class GrowingText:
    """The words of a text by number, in files of a folder that grow block by block.

    ``SIDE.numbers`` holds the numbers of the words of all lines, one line after the other,
    ``SIDE.lengths`` the number of words of each line, ``SIDE.words`` each different word in the
    order of the numbers; ``copies`` and ``digests`` are those of ``Block``. A line of
    ``blocks.jsonl`` ends each block, with the sizes of the files, so that an interrupted
    preparation continues after the last finished block.
    """

    def __init__(self, folder: Path) -> None:
        """Open the text that an interrupted preparation left in ``folder``, or begin one."""
        self.blocks: list[BlockCounts] = []  # the finished blocks
        self._kept: Mask | None = None
        self._folder = folder
        self._numbers: dict[str, dict[str, int]] = {side: {} for side in SIDES}
        make_folder(folder)
        self._resume()

    @property
    def pairs(self) -> int:
        """Number of pairs."""
        if self._kept is not None:
            return int(self._kept.sum())
        return sum(block.pairs for block in self.blocks)

    @property
    def pairs_read(self) -> int:
        """Number of pairs before cleaning."""
        return sum(block.read for block in self.blocks)

    def leaked(self, test: ParallelText) -> list[Pair]:
        """Return the test pairs that are training pairs."""
        leaked = {pair for block in self.blocks for pair in block.leaked}
        return [pair for pair in zip(test.source, test.target, strict=True) if pair in leaked]

    def copied(self) -> Suspicion:
        """Return the pairs whose target equals the source."""
        copies = self._array("copies", np.bool_)
        count = int(np.sum(copies if self._kept is None else copies & self._kept))
        examples = examples_of(line for block in self.blocks for line in block.copied)
        return Suspicion("training sources equal their target", count, self.pairs, examples)

    def words(self, side: str) -> list[str]:
        """Return the different words of a side, in the order of their numbers."""
        return list(self._numbers[side])

    def append(self, block: Block) -> None:
        """Write a block."""
        counts, sides, copies, digests = block
        contents = {"copies": copies.tobytes(), "digests": digests.tobytes()}
        for side, (distinct, lines) in zip(SIDES, sides, strict=True):
            known = self._numbers[side]
            new = [word for word in distinct if word not in known]
            known.update(zip(new, range(len(known), len(known) + len(new)), strict=True))
            numbers = np.array([known[word] for word in distinct], np.uint32)
            contents[f"{side}.words"] = "".join(f"{word}\n" for word in new).encode(*ENCODING)
            contents[f"{side}.numbers"] = numbers[lines.tokens].tobytes()
            contents[f"{side}.lengths"] = lines.lengths.astype(np.uint32).tobytes()
        sizes = {}
        for name, content in contents.items():
            with (self._folder / name).open("ab") as file:
                file.write(content)
                sizes[name] = file.tell()
        with (self._folder / INDEX).open("a", encoding="utf-8") as index:
            index.write(json.dumps({"sizes": sizes, "counts": asdict(counts)}) + "\n")
        self.blocks.append(counts)

    def leave_duplicates_out(self) -> StepCount:
        """Leave out the pairs that came before."""
        started, seen = time.process_time(), self.pairs
        self._kept = first_occurrences(self._array("digests", np.uint64))
        examples = examples_of(islice(self._text("source", 1, ~self._kept), ENOUGH))
        seconds = time.process_time() - started
        return StepCount("came before", True, seen, seen - self.pairs, examples, seconds)

    def sample(self, most: int | None) -> ParallelText:
        """Return all or ``most`` pairs, evenly spaced, with single spaces between words."""
        step = -(-self.pairs // most) if most else 1
        source, target = (list(self._text(side, step, self._kept)) for side in SIDES)
        return ParallelText(source, target)

    def lines(self, side: str) -> Iterator[Sequences]:
        """Yield all lines of a side as numbers of words, at most ``AT_ONCE`` at a time."""
        return self._lines(side, self._kept)

    def _lines(self, side: str, chosen: Mask | None) -> Iterator[Sequences]:
        # Read, not mapped, so that the pages of the files do not fill the memory.
        with (
            (self._folder / f"{side}.numbers").open("rb") as numbers,
            (self._folder / f"{side}.lengths").open("rb") as sizes,
        ):
            first = 0
            while len(lengths := np.fromfile(sizes, np.uint32, AT_ONCE).astype(np.int64)):
                words = np.fromfile(numbers, np.uint32, int(lengths.sum()))
                if chosen is not None:
                    here = chosen[first : first + len(lengths)]
                    words, lengths = words[np.repeat(here, lengths)], lengths[here]
                first += AT_ONCE
                yield Sequences.joined(words, lengths)

    def _text(self, side: str, step: int, chosen: Mask | None) -> Iterator[str]:
        words, before = self.words(side), 0
        for lines in self._lines(side, chosen):
            picked = lines.select(np.arange(-before % step, len(lines.lengths), step))
            found = map(words.__getitem__, picked.flat().tolist())
            for length in picked.lengths.tolist():
                yield " ".join(islice(found, length))
            before += len(lines.lengths)

    def _array(self, name: str, kind: Any) -> NDArray[Any]:
        return np.fromfile(self._folder / name, kind)

    def _resume(self) -> None:
        """Read the finished blocks, and cut off what an interrupted block has written."""
        index = self._folder / INDEX
        lines = index.read_bytes().splitlines(keepends=True) if index.is_file() else []
        finished = [line for line in lines if line.endswith(b"\n")]
        records = list(map(json.loads, finished))
        sizes = {INDEX: sum(map(len, finished)), **(records[-1]["sizes"] if records else {})}
        for file in self._folder.iterdir():
            os.truncate(file, sizes.get(file.name, 0))
        read = TypeAdapter(BlockCounts).validate_python
        self.blocks.extend(read(record["counts"]) for record in records)
        for side, numbers in self._numbers.items():
            if records:
                words = (self._folder / f"{side}.words").read_bytes().decode(*ENCODING)
                numbers.update((word, number) for number, word in enumerate(words.split("\n")[:-1]))
