"""Prepare corpora of growing size, start a training on each, and feed batches.

Every command runs alone. ``outputs/benchmarks/corpora.json`` keeps the figures with the machine.
``--before CHECKOUT`` also measures an earlier version of this project on ``FEW`` pairs.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from datamodules.files import write_json
from tests.benchmarks.corpora.text import LANGUAGES, write_text
from tests.benchmarks.corpora.watched import ROOT, Watched, watch
from tests.benchmarks.machine import machine

FEW = 300_000
"""Pairs on which an earlier version is measured."""
SMALL = 30_000
"""Pairs of the corpus whose training starts at once."""
CLEANING = [f"cleaning.{step}" for step in ("unicode=true", "ratio=3", "duplicates=true")]
WINDOWS = 20
"""Windows of ten updates of a training whose memory is measured."""
STARTS = 5
"""Starts of each training, in turns."""


def overrides(folder: Path, pairs: int, tokenizer: str) -> list[str]:
    """Return the settings of a corpus of ``pairs`` pairs."""
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


def train(folder: Path, settings: list[str], windows: int = 1, root: Path = ROOT) -> dict[str, Any]:
    """Train with one thread until the stopwatch ends the training after ``windows`` windows."""
    file = folder / "rates.json"
    stopwatch = (
        "+callbacks.watch={_target_: tests.benchmarks.stopwatch.Stopwatch, "
        f"file: {file}, windows: {windows}, process_started: {time.time()}}}"
    )
    command = [sys.executable, "run.py", *settings, "model=seq2seq", "threads=1", stopwatch]
    used = watch(command, root)
    return figures(used) | json.loads(file.read_text())


def before(checkout: Path, folder: Path) -> dict[str, Any]:
    """Start a training of an earlier version twice, first with a corpus that it has not seen."""
    settings = overrides(folder, FEW, "words")
    other = "data.limit", "cleaning."
    settings = [each for each in settings if not each.startswith(other)]
    settings += [f"data.root={folder}/few", f"cache_dir={folder}/cache-before"]
    return {start: train(folder, settings, root=checkout) for start in ("first", "second")}


def figures(used: Watched) -> dict[str, Any]:
    """Return what a command used, without its output."""
    return {name: value for name, value in vars(used).items() if name != "output"}


def feed(*store: str) -> dict[str, Any]:
    """Feed the batches of a store, or without a store those of 100 million pairs."""
    command = [sys.executable, "-m", "tests.benchmarks.corpora.loading", *store]
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
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("outputs/benchmarks/corpora"))
    parser.add_argument("--pairs", type=int, nargs="+", default=[1_000_000, 10_000_000, 30_000_000])
    parser.add_argument("--main", type=int, default=10_000_000, help="pairs cut by BPE too")
    parser.add_argument("--before", type=Path, metavar="CHECKOUT")
    parser.add_argument("--out", type=Path, default=Path("outputs/benchmarks/corpora.json"))
    options = parser.parse_args()
    folder = options.folder.resolve()
    for name, pairs in {"few": FEW, "text": max(options.pairs)}.items():
        if not (folder / name / "test.de.gz").is_file():
            write_text(folder / name, pairs)
    measured: dict[str, Any] = {"machine": machine()}

    def record(name: str, found: Any) -> None:
        measured[name] = found
        write_json(options.out, measured)
        print(name, json.dumps(found), flush=True)

    if options.before:
        record("before", before(options.before.resolve(), folder))
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
