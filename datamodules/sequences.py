"""Many sequences of numbers in one flat array, in memory or on a disk that training maps.

``NAME.tokens.npy`` holds the numbers of all sequences one after the other, ``NAME.starts.npy``
where each sequence begins, ``NAME.lengths.npy`` its length; each array has the narrowest unsigned
type.
"""

import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from datamodules.files import whole_file

Integers = NDArray[np.integer]  # numbers of any width
AT_ONCE = 2**16  # sequences that are worked on at once, so that memory stays bounded


class Sequences(NamedTuple):
    """Sequence *i* has ``lengths[i]`` tokens and begins at ``starts[i]``."""

    tokens: Integers
    starts: Integers
    lengths: Integers

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]]) -> Self:
        """Build ``Sequences`` from lists of tokens."""
        lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
        tokens = np.fromiter(chain.from_iterable(sequences), np.int64, lengths.sum())
        return cls.joined(tokens, lengths)

    @classmethod
    def joined(cls, tokens: Integers, lengths: Integers) -> Self:
        """Cut ``tokens`` into sequences of the given lengths.

        Raises ``ValueError`` if the lengths do not add up to the number of tokens.
        """
        if tokens.ndim != 1 or lengths.ndim != 1 or lengths.sum() != len(tokens):
            raise ValueError("the lengths of the sequences do not add up to the tokens")
        return cls(tokens, np.cumsum(lengths) - lengths, lengths)

    def select(self, rows: Integers) -> "Sequences":
        """Return the sequences of ``rows``, which share the array of tokens."""
        starts, lengths = (each.take(rows).astype(np.int64) for each in (self.starts, self.lengths))
        return Sequences(self.tokens, starts, lengths)

    def flat(self) -> NDArray[np.int64]:
        """Return the tokens of all sequences, one sequence after the other."""
        starts, lengths = (each.astype(np.int64) for each in (self.starts, self.lengths))
        return self.tokens.take(ranges(starts, lengths)).astype(np.int64)


def ranges(starts: Integers, lengths: Integers) -> NDArray[np.int64]:
    """Return ``starts[i], starts[i] + 1, …``, ``lengths[i]`` numbers for each *i*."""
    before = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) + np.repeat(starts - before, lengths)


def sums(values: Integers, lengths: Integers) -> NDArray[np.int64]:
    """Return the sum of the values of each sequence, of so many ``lengths``."""
    until = np.concatenate(([0], np.cumsum(values)))
    ends = np.cumsum(lengths)
    return until[ends] - until[ends - lengths]


def save_sequences(
    folder: Path, name: str, lengths: Integers, tokens: Iterable[Integers], largest: int
) -> dict[str, int]:
    """Write sequences; return the checksum of each file, which is written whole or not at all.

    ``tokens`` are those of all sequences, one sequence after the other, in pieces that are in
    memory one at a time; none is more than ``largest``.
    """
    total, longest = int(lengths.sum(dtype=np.int64)), int(lengths.max(initial=0))
    files = {part: folder / f"{name}.{part}.npy" for part in Sequences._fields}
    _save(files["tokens"], total, largest, tokens)
    _save(files["lengths"], len(lengths), longest + 1, [lengths])  # room for EOS
    _save(files["starts"], len(lengths), total, _starts(lengths))
    return {file.name: checksum(file) for file in files.values()}


def load_sequences(folder: Path, name: str) -> Sequences:
    """Map sequences from the disk. Raises ``OSError`` for a missing file."""
    files = (folder / f"{name}.{part}.npy" for part in Sequences._fields)
    # A plain array over the mapped file: ``np.memmap`` itself takes ten times as long to index.
    return Sequences(*(np.asarray(np.load(file, mmap_mode="r")) for file in files))


def check_files(folder: Path, checksums: Mapping[str, int]) -> None:
    """Read files side by side, and compare them with the checksums of ``save_sequences``.

    Raises ``OSError`` for a missing file and ``ValueError`` for a damaged one.
    """
    files = [folder / name for name in checksums]
    with ThreadPoolExecutor(cores()) as threads:
        for file, found in zip(files, threads.map(checksum, files), strict=True):
            if found != checksums[file.name]:
                raise ValueError(f"{file} is not as it was written")


def checksum(file: Path) -> int:
    """Return the CRC-32 of a file, by which damage on the disk is noticed."""
    crc = 0
    with file.open("rb") as content:
        while block := content.read(2**20):
            crc = zlib.crc32(block, crc)
    return crc


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _save(file: Path, count: int, most: int, arrays: Iterable[Integers]) -> None:
    """Write ``count`` numbers of at most ``most`` in the narrowest unsigned type."""
    kind = np.min_scalar_type(most)
    header = {
        "descr": np.lib.format.dtype_to_descr(kind),
        "fortran_order": False,
        "shape": (count,),
    }
    with whole_file(file) as temporary, temporary.open("wb") as out:
        # Not a mapped file: on a full disk, writing to a map would kill the process.
        np.lib.format.write_array_header_1_0(out, header)
        for array in arrays:
            out.write(array.astype(kind).data)


def _starts(lengths: Integers) -> Iterator[Integers]:
    before = 0
    for first in range(0, len(lengths), AT_ONCE):
        part = lengths[first : first + AT_ONCE]
        ends = before + np.cumsum(part, dtype=np.int64)
        yield ends - part
        before = int(ends[-1])
