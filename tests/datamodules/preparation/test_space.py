"""Room on the disk is checked before a preparation."""

import gzip
import shutil
from types import SimpleNamespace

import pytest

from datamodules.cleaning import Cleaning
from datamodules.corpus import text_bytes_of
from datamodules.encoded_corpus import EncodedCorpus
from datamodules.errors import UserError
from datamodules.mixture import MixtureCorpus
from datamodules.preparation import space
from datamodules.text import TextCorpus
from datamodules.tokenization import TokenizerSettings

SETTINGS = TokenizerSettings("words", 60, 1)
LINES = "ein Hund\nzwei Hunde\n" * 500


@pytest.fixture
def root(tmp_path):
    for split in ("train", "val", "test"):
        (tmp_path / f"{split}.de").write_text(LINES)
        (tmp_path / f"{split}.en").write_text(LINES.replace("ein", "one"))
    return tmp_path


def corpus(root, **options):
    return TextCorpus(root=root, source="de", target="en", name="text", **options)


def test_text_bytes_are_those_of_the_training_text(root):
    size = 2 * len(LINES.encode())
    assert text_bytes_of(corpus(root)) == size
    assert text_bytes_of(corpus(root, limit=10)) == size / 100
    assert text_bytes_of(corpus(root, limit=10**9)) == size
    both = {"a": corpus(root), "b": corpus(root, limit=100)}
    assert text_bytes_of(MixtureCorpus(corpora=both)) == pytest.approx(1.1 * size)
    assert text_bytes_of(MixtureCorpus(corpora=both, size=550)) == pytest.approx(0.55 * size)


def test_a_compressed_file_counts_for_more(root):
    packed = gzip.compress((root / "train.de").read_bytes())
    (root / "train.de").unlink()
    (root / "train.de.gz").write_bytes(packed)
    assert text_bytes_of(corpus(root)) == len(LINES.encode()) + 4 * len(packed)


def test_a_full_disk_is_noticed_before_the_preparation(root, monkeypatch):
    free = int(space.FEW_TOKENS * 2 * len(LINES.encode())) - 100
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free))
    folder = root / "cache"
    with pytest.raises(UserError, match=r"cache: .*has 0 MB free.* cache_dir=.* data.limit="):
        EncodedCorpus.of(corpus(root), Cleaning(), SETTINGS, folder)
    assert not folder.exists()
    # What an interrupted preparation wrote need not be written again.
    (folder / "parts").mkdir(parents=True)
    (folder / "parts" / "00000.source").write_bytes(bytes(101))
    space.check_space(corpus(root), SETTINGS, folder)
    with pytest.raises(UserError, match="the preparation needs about"):
        space.check_space(corpus(root), TokenizerSettings("bytes", 300, 1), folder)
    EncodedCorpus.of(corpus(root, limit=900), Cleaning(), SETTINGS, folder)
