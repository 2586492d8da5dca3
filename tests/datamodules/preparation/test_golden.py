"""A fingerprint and stored numbers that change only on purpose.

Another fingerprint makes every user prepare the corpus anew; other numbers under an old fingerprint
would mix with old stores, so that ``FORMAT`` in ``translation_data.py`` must be raised.
"""

import zlib

import pytest

from datamodules.batching import Batching
from datamodules.cleaning import Cleaning
from datamodules.text import TextCorpus
from datamodules.tokenization import TokenizerSettings
from datamodules.translation_data import TranslationData

LINES = ["ein Hund, der bellt", "zwei «Hunde»", "drei Hunde bellen", "ein Hund, der bellt"]
CLEANED = Cleaning(unicode=True, punctuation=True, ratio=3, held_out=True, duplicates=True)
GOLDEN = {"plain": ("fe3a95587fc2", 318875943), "cleaned": ("7dc637a21a62", 3305441129)}
"""Fingerprint, and CRC-32 of the target tokens."""


@pytest.mark.parametrize(("name", "cleaning"), [("plain", Cleaning()), ("cleaned", CLEANED)])
def test_fingerprint_and_numbers_stay(tmp_path, name, cleaning):
    for split, pairs in {"train": LINES, "val": ["vier Hunde"], "test": ["fünf Hunde"]}.items():
        text = "".join(f"{line}\n" for line in pairs)
        (tmp_path / f"{split}.de").write_text(text)
        (tmp_path / f"{split}.en").write_text(text.upper())
    data = TranslationData(
        TextCorpus(root=tmp_path, source="de", target="en", name="dogs"),
        cleaning,
        TokenizerSettings("bpe", 60, 1),
        Batching(99, 99),
        None,
        1,
        tmp_path / "cache",
    )
    tokens = data.encoded_corpus.encoded["train"].tgt.tokens
    assert (data.fingerprint, zlib.crc32(tokens.astype("<u2").tobytes())) == GOLDEN[name]
