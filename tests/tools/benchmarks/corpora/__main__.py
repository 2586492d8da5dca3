"""Prepare corpora of growing size, start a training on each, and feed batches.

Every command runs alone. ``outputs/benchmarks/corpora.json`` keeps the figures with the machine.
"""

import argparse
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import psutil

from datamodules.files import write_json
from tests.tools.benchmarks.workloads import machine

ROOT = Path(__file__).resolve().parents[4]
PAUSE = 0.2  # seconds between two readings of the memory


@dataclass(frozen=True)
class Watched:
    seconds: float
    processor_seconds: float
    resident_mib: float
    """Most memory of all processes at once; pages that processes share count once."""
    own_mib: float
    """Most memory without pages of mapped files, which the kernel drops when memory is short."""
    output: str


def watch(command: list[str], threads: int = 1) -> Watched:
    """Run a command; raise ``RuntimeError`` with its output if it fails."""
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    started, before = time.perf_counter(), os.times()
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        resident = own = 0.0
        while process.poll() is None:
            now = _memory(process.pid)
            resident, own = max(resident, now[0]), max(own, now[1])
            time.sleep(PAUSE)
        assert process.stdout is not None
        output = process.stdout.read()
    seconds, after = time.perf_counter() - started, os.times()
    if process.returncode:
        raise RuntimeError(output)
    used = after.children_user + after.children_system
    used -= before.children_user + before.children_system
    return Watched(seconds, used, resident, own, output)


def _memory(process: int) -> tuple[float, float]:
    """Return resident and own memory of a process and its children, in MiB."""
    resident = own = 0
    try:
        parent = psutil.Process(process)
        processes = [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0.0, 0.0
    for each in processes:
        try:
            rows = Path(f"/proc/{each.pid}/smaps_rollup").read_text().splitlines()[1:]
        except OSError:  # the process has ended
            continue
        sizes = {name: int(size.split()[0]) for name, _, size in (r.partition(":") for r in rows)}
        resident += sizes["Pss"]
        own += sizes["Pss_Anon"]
    return resident / 1024, own / 1024


SHARED = Path(__file__).resolve().parents[5] / "shared" / "data"
LANGUAGES = "en", "de"
NEWS, CAPTIONS = "wmt_en_de", "multi30k"
CAPTIONS_EVERY = 5  # every fifth pair is a caption, so that a side has about 20 words on average
EXCHANGED = 2  # words of each line that other words of the corpus replace
REPEATED = 0.02  # share of pairs that come twice


def write_text(folder: Path, pairs: int) -> None:
    """Write ``pairs`` training pairs, and the validation and test set of the news."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [(folder / f"train.{language}").open("w") for language in LANGUAGES]
    for pair in islice(noisy_pairs(), pairs):
        for file, line in zip(files, pair, strict=True):
            file.write(f"{line}\n")
    for file in files:
        file.close()
    for split in ("val", "test"):
        for language in LANGUAGES:
            name = f"{split}.{language}.gz"
            shutil.copy(SHARED / NEWS / name, folder / name)


def noisy_pairs() -> Iterator[tuple[str, str]]:
    """Yield pairs without end, the same in each call."""
    draw = random.Random(1)
    news, captions = _pairs(NEWS), _pairs(CAPTIONS)
    words = [[word for pair in news + captions for word in pair[side].split()] for side in (0, 1)]
    corpora = [cycle(captions), *[cycle(news)] * (CAPTIONS_EVERY - 1)]
    for corpus in cycle(corpora):
        pair = zip(next(corpus), words, strict=True)
        source, target = (_exchange(line, draw, pool) for line, pool in pair)
        yield source, target
        if draw.random() < REPEATED:
            yield source, target


def _exchange(line: str, draw: random.Random, pool: list[str]) -> str:
    words = line.split()
    for _ in range(EXCHANGED):
        words[int(draw.random() * len(words))] = pool[int(draw.random() * len(pool))]
    return " ".join(words)


def _pairs(corpus: str) -> list[tuple[str, str]]:
    sides = [
        gzip.decompress((SHARED / corpus / f"train.{language}.gz").read_bytes()).decode()
        for language in LANGUAGES
    ]
    return list(zip(*(side.split("\n")[:-1] for side in sides), strict=True))


FEW = 300_000
SMALL = 30_000  # pairs of the corpus whose training starts at once
CLEANING = [f"cleaning.{step}" for step in ("unicode=true", "ratio=3", "duplicates=true")]
WINDOWS = 20  # windows of ten updates of a training whose memory is measured
STARTS = 5  # starts of each training, in turns


def overrides(folder: Path, pairs: int, tokenizer: str) -> list[str]:
    source, target = LANGUAGES
    corpus = [f"data.root={folder}/text", f"data.source={source}", f"data.target={target}"]
    kept = [
        f"cache_dir={folder}/cache",
        "logger=none",
        f"hydra.run.dir={folder}/runs/{time.time()}",
    ]
    return ["data=text", *corpus, f"data.limit={pairs}", f"tokenizer={tokenizer}", *CLEANING, *kept]


def prepare(folder: Path, pairs: int, tokenizer: str) -> dict[str, Any]:
    """Prepare a corpus on all cores, as ``task=data`` does, and read what it recorded."""
    settings = overrides(folder, pairs, tokenizer)
    used = watch([sys.executable, "run.py", "task=data", *settings], threads=2)
    run = Path(settings[-1].partition("=")[2])
    recorded = json.loads((run / "data.json").read_bytes())["data"]
    statistics = recorded["statistics"]
    seconds = sum(statistics["seconds"].values())
    steps = [each for each in statistics["cleaning"] if each["seconds"]]
    [store] = (folder / "cache").glob(f"*{recorded['fingerprint']}")
    return figures(used) | {
        "store": str(store),
        "stages": statistics["seconds"],
        "pairs_per_second": statistics["pairs_read"] / seconds,
        "cleaning": {each["step"]: each["seen"] / each["seconds"] for each in steps},
        "store_mib": sum(file.stat().st_size for file in store.iterdir()) / 2**20,
    }


def train(folder: Path, settings: list[str], windows: int = 1) -> dict[str, Any]:
    """Train with one thread until the stopwatch ends the training after ``windows`` windows."""
    file = folder / "rates.json"
    stopwatch = (
        "+callbacks.watch={_target_: tests.tools.benchmarks.worker.Stopwatch, "
        f"file: {file}, windows: {windows}, process_started: {time.time()}}}"
    )
    command = [sys.executable, "run.py", *settings, "model=seq2seq", "threads=1", stopwatch]
    return figures(watch(command)) | json.loads(file.read_text())


def figures(used: Watched) -> dict[str, Any]:
    return {name: value for name, value in vars(used).items() if name != "output"}


def feed(*store: str) -> dict[str, Any]:
    """Feed the batches of a store, or without a store those of 100 million pairs."""
    command = [sys.executable, "-m", "tests.tools.benchmarks.corpora.loading", *store]
    fed: dict[str, Any] = json.loads(watch(command).output)
    return fed


def starts(folder: Path, sizes: list[int]) -> dict[str, list[float]]:
    """Return the seconds from the start of a command to its first update, by pairs."""
    taken: dict[str, list[float]] = {f"{size}": [] for size in sizes}
    for _ in range(STARTS):
        for size in sizes:
            trained = train(folder, overrides(folder, size, "words"))
            taken[f"{size}"].append(trained["first_step"])
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("outputs/benchmarks/corpora"))
    parser.add_argument("--pairs", type=int, nargs="+", default=[1_000_000, 10_000_000, 30_000_000])
    parser.add_argument("--main", type=int, default=10_000_000, help="pairs cut by BPE too")
    parser.add_argument("--out", type=Path, default=Path("outputs/benchmarks/corpora.json"))
    options = parser.parse_args()
    folder = options.folder.resolve()
    if not (folder / "text" / "test.de.gz").is_file():
        write_text(folder / "text", max(options.pairs))
    measured: dict[str, Any] = {"machine": machine()}

    def record(name: str, found: Any) -> None:
        measured[name] = found
        write_json(options.out, measured)
        print(name, json.dumps(found), flush=True)

    for pairs in [SMALL, FEW, *options.pairs]:
        record(f"words {pairs:,}", prepare(folder, pairs, "words"))
    record(f"bpe {options.main:,}", prepare(folder, options.main, "bpe"))
    record("starts", starts(folder, [SMALL, options.main]))
    for pairs in options.pairs:
        settings = overrides(folder, pairs, "words")
        record(f"training on {pairs:,}", train(folder, settings, WINDOWS))
    record("feed", feed(measured[f"words {options.main:,}"]["store"]))
    record("feed of 100 million pairs", feed())


if __name__ == "__main__":
    main()
