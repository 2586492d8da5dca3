"""Preparations that are killed, that run at once, and that meet a full disk end as one whole."""

import os
import random
import resource
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from datamodules import encoded_corpus, preparation
from datamodules.cleaning import Cleaning
from datamodules.encoded_corpus import EncodedCorpus
from datamodules.errors import UserError
from datamodules.text import TextCorpus
from datamodules.tokenization import TokenizerSettings

PARTS, PAIRS = 6, 1500
CLEANING = Cleaning(
    unicode=True, punctuation=True, ratio=3, copies=True, held_out=True, duplicates=True
)
SETTINGS = TokenizerSettings("bpe", 200, 1)
TIMES = {"statistics.json"}
"""Files that differ between two preparations."""

context = get_context("forkserver")
context.set_forkserver_preload(["tests.datamodules.preparation.test_interrupted"])


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Text in several files, each of which is a part."""
    root = tmp_path_factory.mktemp("text")
    draw = random.Random(1)
    syllables = ["ba", "do", "é", "ku", "«la»", "mi"]
    for name in ["val", "test", *(f"train{number}" for number in range(PARTS))]:
        lines = [
            " ".join("".join(draw.choices(syllables, k=draw.randint(1, 3))) for _ in range(length))
            for length in draw.choices(range(1, 9), k=PAIRS)
        ]
        (root / f"{name}.xx").write_text("".join(f"{line}\n" for line in lines))
        (root / f"{name}.yy").write_text("".join(f"{line} a\n" for line in lines))
    return root


def prepare(root: Path, folder: Path, most_bytes: int = resource.RLIM_INFINITY) -> EncodedCorpus:
    """Prepare the text in ``folder``, with files of at most ``most_bytes``."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, resource.RLIM_INFINITY))
    corpus = TextCorpus(
        root=root, source="xx", target="yy", name="text", files={"train": ["train*"]}
    )
    return EncodedCorpus.of(corpus, CLEANING, SETTINGS, folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name not in TIMES}


@pytest.fixture(scope="module")
def whole(root, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "text"
    started = time.monotonic()
    prepare(root, folder)
    return contents(folder), time.monotonic() - started


EXHAUSTIVE = pytest.mark.exhaustive


@pytest.mark.long
@pytest.mark.parametrize(
    "share", [pytest.param(0.1, marks=EXHAUSTIVE), 0.4, pytest.param(0.8, marks=EXHAUSTIVE)]
)
def test_a_killed_preparation_ends_as_if_never_killed(root, whole, tmp_path, share):
    expected, seconds = whole
    folder = tmp_path / "text"
    process = context.Process(target=prepare, args=(root, folder))
    process.start()
    while not (folder / "parts").is_dir():
        time.sleep(0.01)
    time.sleep(share * seconds)
    process.kill()
    process.join()
    prepare(root, folder)
    assert contents(folder) == expected


def prepare_and_tell(root: Path, folder: Path) -> None:
    """Prepare the text, and leave a file beside ``folder`` if this process did the work."""

    def build(*given: Any) -> None:
        (folder.parent / f"built-by-{os.getpid()}").touch()
        preparation.build(*given)

    with patch.object(encoded_corpus, "build", build):
        prepare(root, folder)


@pytest.mark.long
def test_two_processes_prepare_once(root, whole, tmp_path):
    folder = tmp_path / "text"
    both = [context.Process(target=prepare_and_tell, args=(root, folder)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert [process.exitcode for process in both] == [0, 0]
    assert len(list(tmp_path.glob("built-by-*"))) == 1
    assert contents(folder) == whole[0]


@pytest.mark.long
@pytest.mark.parametrize("most_bytes", [2_000, pytest.param(60_000, marks=EXHAUSTIVE)])
def test_a_full_disk_is_one_line_and_the_preparation_goes_on(root, whole, tmp_path, most_bytes):
    folder = tmp_path / "text"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with pytest.raises(UserError, match=r"cannot be written \(File too large\); .*cache_dir="):
            prepare(root, folder, most_bytes)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not (folder / "index.json").exists()
    prepare(root, folder)
    assert contents(folder) == whole[0]
