"""Corpora of ``shared/data``: the languages of real text."""

import gzip
from pathlib import Path

import pytest

from datamodules.encoded_corpus import EncodedCorpus
from datamodules.text import TextCorpus
from datamodules.tokenization import TokenizerSettings
from tests.helpers.data_settings import NO_CLEANING, cleaning_settings

SHARED = Path(__file__).parents[4] / "shared" / "data"
pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="no shared/data")


def lines_of(name):
    return gzip.decompress((SHARED / name).read_bytes()).decode().split("\n")[:-1]


@pytest.mark.parametrize(
    ("folder", "source", "target"),
    [
        ("multi30k", "en", "de"),
        ("multi30k", "en", "fr"),
        ("multi30k", "de", "fr"),
        ("wmt_en_de", "en", "de"),
    ],
)
@pytest.mark.parametrize("swapped", [False, True])
def test_languages_of_real_text_are_told_apart(tmp_path, folder, source, target, swapped):
    """Swapped files are warned of; right files keep nearly all of their pairs."""
    for split in ("train", "val"):
        for own, other in ((source, target), (target, source)):
            lines = lines_of(f"{folder}/{split}.{other if swapped else own}.gz")[:1000]
            (tmp_path / f"{split}.{own}").write_text("".join(f"{line}\n" for line in lines))
    corpus = TextCorpus(
        root=tmp_path, source=source, target=target, name=folder, files={"test": "val"}
    )
    settings = TokenizerSettings("words", 5000, 1)
    prepared = EncodedCorpus.of(corpus, NO_CLEANING, settings, tmp_path / "plain")
    warned = [each for each in prepared.suspicions if "swapped" in each]
    assert len(warned) == 2 * swapped  # of training and of validation
    if not swapped:
        cleaned = EncodedCorpus.of(
            corpus, cleaning_settings(language=0.1), settings, tmp_path / "cleaned"
        )
        assert len(cleaned.encoded["train"]) > 950
