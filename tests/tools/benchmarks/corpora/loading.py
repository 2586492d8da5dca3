"""Feed batches of a prepared store: ``python -m tests.tools.benchmarks.corpora.loading FOLDER``.

Without a folder: a store of ``MOST`` pairs whose tokens are a file of zeros. Prints JSON.
"""

import json
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

import numpy as np

from datamodules.batching import EncodedPairs, Feed, LengthBatchSampler, Pieces, PieceSampler, Place
from datamodules.prepare import INDEX
from datamodules.sequences import check_files, checksum, load_sequences
from lightning_modules.runs.provenance import peak_memory_mib

MOST = 100_000_000  # pairs of the store of zeros
SIDES = "train.source", "train.target"
BATCHES = 500, 4096  # most tokens of a batch: the default, and that of larger models
FED = 20_000_000  # padded tokens that are fed of each kind of batch
WORKERS = 2


def measure(folder: Path, sides: tuple[str, str], checksums: dict[str, int]) -> dict[str, float]:
    """Return seconds until the first batch, and target tokens per second."""
    started = time.perf_counter()
    check_files(folder, checksums)
    pairs = EncodedPairs(None, *(load_sequences(folder, side) for side in sides))
    found = {"pairs": float(len(pairs)), "open": time.perf_counter() - started}
    for most in BATCHES:
        started = time.perf_counter()
        order = LengthBatchSampler(pairs, most, shuffle=True)
        found[f"batches of {most}"] = len(order)
        found[f"seconds to count them, {most}"] = time.perf_counter() - started
        feed = iter(Feed(Pieces(pairs), PieceSampler(order, Place()), WORKERS))
        started = time.perf_counter()
        next(feed)
        found[f"first batch of {most}"] = time.perf_counter() - started
        started = time.perf_counter()
        tokens = sum(batch.update_tokens for batch in islice(feed, FED // most))
        found[f"tokens/s in batches of {most}"] = tokens / (time.perf_counter() - started)
    return found | {"resident_mib": peak_memory_mib()}


def write_zeros(folder: Path) -> dict[str, int]:
    """Write a side of ``MOST`` sentences; return the checksums of the files."""
    lengths = np.random.default_rng(1).integers(5, 36, MOST, dtype=np.uint8)
    ends = np.cumsum(lengths, dtype=np.uint32)
    np.save(folder / f"{SIDES[0]}.lengths.npy", lengths)
    np.save(folder / f"{SIDES[0]}.starts.npy", ends - lengths)
    tokens = folder / f"{SIDES[0]}.tokens.npy"
    np.lib.format.open_memmap(tokens, "w+", np.uint16, shape=(int(ends[-1]),))
    return {file.name: checksum(file) for file in folder.glob("*.npy")}


def main() -> None:
    if sys.argv[1:]:
        folder = Path(sys.argv[1])
        checksums = json.loads((folder / INDEX).read_bytes())["checksums"]
        print(json.dumps(measure(folder, SIDES, checksums)))
        return
    with tempfile.TemporaryDirectory(dir="outputs") as temporary:
        checksums = write_zeros(Path(temporary))
        print(json.dumps(measure(Path(temporary), (SIDES[0], SIDES[0]), checksums)))


if __name__ == "__main__":
    main()
