"""Corpora of ``shared/data``, prepared from lines, JSONL and Parquet; 300,000 pairs."""

import gzip
import json
from itertools import islice
from pathlib import Path

import pytest

from datamodules.encoded_corpus import EncodedCorpus
from datamodules.huggingface import HuggingFaceCorpus
from datamodules.tables import Columns
from datamodules.text import TextCorpus
from datamodules.tokenization import TokenizerSettings
from tests.helpers.data_settings import NO_CLEANING, cleaning_settings

datasets = pytest.importorskip("datasets")

SHARED = Path(__file__).parents[4] / "shared" / "data"
PAIRS = 300_000
CLEANING = cleaning_settings(
    unicode=True, punctuation=True, ratio=3, copies=True, held_out=True, duplicates=True
)
WITH_LANGUAGES = cleaning_settings(language=0.1)
pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="no shared/data")


def lines_of(name):
    return gzip.decompress((SHARED / name).read_bytes()).decode().split("\n")[:-1]


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """The same pairs in three folders: both real corpora again and again, with some noise."""
    root = tmp_path_factory.mktemp("large")
    languages = ("en", "de")
    train = {
        language: [
            *lines_of(f"multi30k/train.{language}.gz"),
            *lines_of(f"wmt_en_de/train.{language}.gz"),
        ]
        for language in languages
    }
    real = list(zip(*train.values(), strict=True))
    pairs = [
        (f"{source} {number // len(real)}", f"{target} {number // len(real)}")
        for number, (source, target) in islice(
            enumerate(pair for _ in range(PAIRS) for pair in real), PAIRS
        )
    ]
    held_out = list(zip(*(lines_of(f"wmt_en_de/val.{each}.gz") for each in languages), strict=True))
    for kind in ("lines", "jsonl", "parquet"):
        (root / kind).mkdir()
    for split, name, chosen in (
        ("train", "train", pairs),
        ("val", "validation", held_out),
        ("test", "test", held_out),
    ):
        table = {
            language: list(side)
            for language, side in zip(languages, zip(*chosen, strict=True), strict=True)
        }
        datasets.Dataset.from_dict(table).to_parquet(root / f"parquet/{name}.parquet")
        rows = (json.dumps({"en": en, "de": de}, ensure_ascii=False) for en, de in chosen)
        (root / f"jsonl/{split}.jsonl").write_text("".join(f"{row}\n" for row in rows))
        for language, side in table.items():
            packed = gzip.compress("".join(f"{line}\n" for line in side).encode(), 1)
            (root / f"lines/{split}.{language}.gz").write_bytes(packed)
    return root


def stored(corpus, folder):
    EncodedCorpus.of(corpus, CLEANING, TokenizerSettings("bpe", 8000, 2), folder)
    kept = json.loads((folder / "statistics.json").read_text())
    steps = {step["step"]: step["count"] for step in kept["cleaning"]}
    arrays = {file.name: file.read_bytes() for file in folder.glob("*.npy")}
    return arrays, steps, kept["pairs_read"]


@pytest.mark.exhaustive
@pytest.mark.long
def test_lines_jsonl_and_parquet_make_the_same_store(places, tmp_path):
    common = {"source": "en", "target": "de", "name": "large", "cache_dir": tmp_path}
    columns = Columns(source="en", target="de")
    made = [
        stored(corpus, tmp_path / f"store{number}")
        for number, corpus in enumerate(
            [
                TextCorpus(root=places / "lines", **common),
                TextCorpus(root=places / "jsonl", columns=columns, **common),
                HuggingFaceCorpus(path=str(places / "parquet"), columns=columns, **common),
            ]
        )
    ]
    arrays, steps, pairs = made[0]
    assert made[1:] == [made[0]] * 2
    assert pairs == PAIRS
    assert steps["came before"] > 0
    assert len(arrays) == 18


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
        cleaned = EncodedCorpus.of(corpus, WITH_LANGUAGES, settings, tmp_path / "cleaned")
        assert len(cleaned.encoded["train"]) > 950
