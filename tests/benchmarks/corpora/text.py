"""A large text for benchmarks: pairs of ``shared/data`` again and again, with noise."""

import gzip
import random
import shutil
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"
LANGUAGES = "en", "de"
NEWS, CAPTIONS = "wmt_en_de", "multi30k"
CAPTIONS_EVERY = 5
"""Every fifth pair is a caption, so that a side has about 20 words on average."""
EXCHANGED = 2
"""Words of each line that other words of the corpus replace."""
REPEATED = 0.02
"""Share of pairs that come twice."""


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
