"""Token numbers of a split as plain arrays on a disk, which training maps into memory.

``train.source.tokens.npy`` holds the tokens of all sentences one after the other, ``….starts.npy``
where each sentence begins, ``….lengths.npy`` its number of tokens; each array has the narrowest
unsigned type.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from datamodules.files import whole_file
from datamodules.preparation.workers import cores

Array = NDArray[np.integer]


class Side(NamedTuple):
    """Token sequences of one side of a split, in one flat array."""

    tokens: Array
    lengths: Array
    starts: Array


def save_side(folder: Path, side: str, parts: Iterable[tuple[Array, Array]]) -> dict[str, int]:
    """Write the sequences of all parts one after the other; return the checksum of each file.

    A part has tokens and lengths. The parts are iterated twice, and the tokens of one part are in
    memory at a time. Each file is written whole or not at all.
    """
    total = most = 0
    lengths = []
    for tokens, of_part in parts:
        total += len(tokens)
        most = max(most, int(tokens.max(initial=0)))
        lengths.append(of_part.astype(np.min_scalar_type(int(of_part.max(initial=0)))))
    longest = max((int(part.max(initial=0)) for part in lengths), default=0)
    sentences = sum(map(len, lengths))
    files = {name: folder / f"{side}.{name}.npy" for name in Side._fields}
    _save(files["tokens"], total, most, (tokens for tokens, _ in parts))
    _save(files["lengths"], sentences, longest + 1, lengths)  # room for EOS
    _save(files["starts"], sentences, total, _starts(lengths))
    return {file.name: checksum(file) for file in files.values()}


def check_files(folder: Path, checksums: Mapping[str, int]) -> None:
    """Read files side by side, and compare them with the checksums of ``save_side``.

    Raises ``OSError`` for a missing file and ``ValueError`` for a damaged one.
    """
    files = [folder / name for name in checksums]
    with ThreadPoolExecutor(cores()) as threads:
        for file, found in zip(files, threads.map(checksum, files), strict=True):
            if found != checksums[file.name]:
                raise ValueError(f"{file} is not as it was written")


def load_side(folder: Path, side: str) -> Side:
    """Map the arrays of a side. Raises ``OSError`` for a missing file."""
    files = (folder / f"{side}.{name}.npy" for name in Side._fields)
    # A plain array over the mapped file: ``np.memmap`` itself takes ten times as long to index.
    return Side(*(np.asarray(np.load(file, mmap_mode="r")) for file in files))


def checksum(file: Path) -> int:
    """Return the CRC-32 of a file, by which damage on the disk is noticed."""
    crc = 0
    with file.open("rb") as content:
        while block := content.read(2**20):
            crc = zlib.crc32(block, crc)
    return crc


def _save(file: Path, count: int, most: int, arrays: Iterable[Array]) -> None:
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


def _starts(lengths: Iterable[Array]) -> Iterator[Array]:
    before = 0
    for part in lengths:
        ends = before + np.cumsum(part, dtype=np.int64)
        yield ends - part
        before = int(ends[-1]) if len(ends) else before
