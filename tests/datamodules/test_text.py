import gzip
import lzma
import os
import time
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf
from pydantic import ValidationError

from datamodules import lines
from datamodules.corpus import SPLITS
from datamodules.errors import UserError
from datamodules.lines import zstd_module
from datamodules.text import TextCorpus

REAL = Path(__file__).parents[3] / "shared" / "data"

CONTENT = {
    "train.de": "ein Hund\nzwei große Hunde\n",
    "train.en": "a dog\ntwo big dogs\n",
    "val.de": "ein Hund\n",
    "val.en": "a dog\n",
    "test.de": "eine Katze\n",
    "test.en": "a cat\n",
}


@pytest.fixture
def root(tmp_path):
    for name, content in CONTENT.items():
        (tmp_path / name).write_bytes(content.encode())
    return tmp_path


def corpus(root, **options):
    return TextCorpus(root, "de", "en", **options)


def refusal(root, split="train", **options):
    with pytest.raises(UserError) as caught:
        corpus(root, **options).split(split)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_reads_the_lines_of_both_sides(root):
    text = corpus(root).split("train")
    assert text.source == ["ein Hund", "zwei große Hunde"]
    assert text.target == ["a dog", "two big dogs"]
    assert text.left_out == {}
    assert text.alignments is None


PACKERS = {".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstd_module().compress}


@pytest.mark.parametrize("suffix", PACKERS)
def test_compressed_files_read_as_plain_text_does(root, suffix):
    before = corpus(root).split("train"), corpus(root).fingerprint
    (root / "train.de").unlink()
    packed = PACKERS[suffix](CONTENT["train.de"].encode())
    (root / f"train.de{suffix}").write_bytes(packed)
    assert (corpus(root).split("train"), corpus(root).fingerprint) == before
    kind = {".gz": "gzip", ".xz": "xz", ".zst": "zstd"}[suffix]
    wrong_checksum = packed[:-6] + bytes([packed[-6] ^ 1]) + packed[-5:]
    changed = (wrong_checksum,) if suffix != ".zst" else ()
    for damaged in (packed[:-4], b"x" + packed, b"no", *changed):
        (root / f"train.de{suffix}").write_bytes(damaged)
        assert f"train.de{suffix} is truncated or not in {kind} format" in refusal(root)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("train.en", None, "neither train.en nor train.en.gz, train.en.xz, train.en.zst is in"),
        ("train.en", b"", "train.en is empty: fetch it again or set data.root="),
        ("train.en", b"a dog\n", "train.en has 1: line n of one must translate line n"),
        ("train.de", b"ein Hund\n\nzwei gro\xdfe\n", "train.de, line 3: not UTF-8 (byte 0xdf)"),
        ("train.de", b"\xef\xbb\xbfein\n\xdf\n", "train.de, line 2: not UTF-8 (byte 0xdf)"),
        ("train.de", b"ein Hund\n\xed\xa0\x80 zwei\n", "train.de, line 2: not UTF-8 (byte 0xed)"),
        ("train.de", "ein\n".encode("utf-16-le"), "train.de, line 1: a NUL byte"),
        ("train.de", b"ein Hund\rzwei", "train.de: lines end with \\r alone, as on old"),
        ("train.de", b"ein Hund\rzwei\rdrei\n", "train.de: lines end with \\r alone, as on old"),
    ],
)
def test_wrong_files_are_refused_in_one_line(root, name, content, message):
    (root / name).unlink() if content is None else (root / name).write_bytes(content)
    assert message in refusal(root)
    assert str(root) in refusal(root)


def test_values_that_no_corpus_has_are_refused_at_once(root):
    with pytest.raises(ValidationError, match="files"):
        corpus(root, files={"dev": "val"})


def test_direction_can_be_turned(root):
    forth, back = TextCorpus(root, "de", "en"), TextCorpus(root, "en", "de")
    assert back.split("test").source == forth.split("test").target
    assert back.fingerprint != forth.fingerprint


@pytest.mark.parametrize(
    "content", ["ein Hund", "ein Hund\n", "ein Hund\r\n", "\ufeffein Hund\n", "\ufeffein Hund\r\n"]
)
def test_ends_of_lines_and_byte_order_marks_are_no_text(root, content):
    (root / "val.de").write_bytes(content.encode())
    assert corpus(root).split("val").source == ["ein Hund"]


def test_limits_leave_out_pairs_by_their_longer_side_and_count_them(root):
    (root / "val.en").write_text("a dog that barks\n")
    (root / "val.de").write_text("ein Hund\n")
    limited = corpus(root, train_max_words=2)
    text = limited.split("train")
    assert text.source == ["ein Hund"]
    assert text.left_out == {"longer than 2 words": 1}
    assert list(text.examples) == ["longer than 2 words"]
    assert limited.split("val").left_out == {}
    message = refusal(root, "val", test_max_words=3)
    assert "1 longer than 3 words" in message
    assert "data.test_max_words" in message


def test_limits_count_letters_where_words_have_no_spaces(root):
    for split in ("train", "val", "test"):
        (root / f"{split}.zh").write_text("小狗在跑\n两只大狗在跑\n", encoding="utf-8")
        (root / f"{split}.en").write_text("a dog\ntwo dogs\n")
    text = TextCorpus(root, "zh", "en", train_max_words=2).split("train")
    assert (text.source, text.left_out) == (["小狗在跑"], {"longer than 2 words": 1})


def test_empty_lines_are_refused_or_counted(root):
    (root / "train.en").write_text("a dog\n \t\n")
    message = refusal(root)
    assert f"{root / 'train.en'}, line 2" in message
    assert "data.skip_empty=true" in message
    text = corpus(root, skip_empty=True).split("train")
    assert (text.source, text.left_out) == (["ein Hund"], {"empty": 1})


def test_two_languages_are_needed(root):
    with pytest.raises(UserError, match=r"data\.target="):
        TextCorpus(root, "de", "de")


@pytest.mark.parametrize("name", CONTENT)
def test_fingerprint_changes_with_every_file(root, name):
    before = corpus(root).fingerprint
    assert before == corpus(root).fingerprint
    assert len(before) == 12
    (root / name).write_text(CONTENT[name].replace("a", "o").replace("e", "i"))
    assert corpus(root).fingerprint != before


def test_fingerprint_changes_with_the_limits(root):
    options: list[dict[str, Any]] = [
        {},
        {"train_max_words": 9},
        {"test_max_words": 9},
        {"skip_empty": True},
    ]
    assert len({corpus(root, **each).fingerprint for each in options}) == len(options)


@pytest.fixture
def opened(monkeypatch):
    names: list[str] = []
    open_file = lines._open

    def noted(path):
        names.append(path.name)
        return open_file(path)

    monkeypatch.setattr(lines, "_open", noted)
    return names


def age(root, seconds=10):
    for file in root.iterdir():
        if file.is_file():
            os.utime(file, (time.time() - seconds,) * 2)


def test_a_later_start_does_not_read_the_files(root, opened):
    age(root)
    first = corpus(root, cache_dir=root / "cache").fingerprint
    assert sorted(opened) == sorted(CONTENT)
    assert corpus(root, cache_dir=root / "cache").fingerprint == first
    assert len(opened) == len(CONTENT)
    (root / "val.de").write_text("ein Tier\n")
    assert corpus(root, cache_dir=root / "cache").fingerprint != first
    assert opened[len(CONTENT) :] == ["val.de"]


def test_digests_of_files_that_have_just_changed_are_not_kept(root, opened):
    for _ in range(2):
        _ = corpus(root, cache_dir=root / "cache").fingerprint
    assert len(opened) == 2 * len(CONTENT)


@pytest.mark.parametrize("content", ["", "[]", "{", '{"x": 3}'])
def test_damaged_digests_are_made_again(root, content):
    age(root)
    (root / "cache").mkdir()
    (root / "cache/digests.json").write_text(content)
    assert corpus(root, cache_dir=root / "cache").fingerprint == corpus(root).fingerprint


@pytest.mark.parametrize("size", [1, 2, 3])
def test_parts_are_the_split(root, monkeypatch, size):
    monkeypatch.setattr(lines.read_blocks, "__defaults__", ("data.root", size))
    text = corpus(root, skip_empty=True)
    parts = list(text.parts("train"))
    assert len(parts) == -(-2 // size)
    assert [line for part in parts for line in part.source] == ["ein Hund", "zwei große Hunde"]
    (root / "train.en").write_text("a dog\n")
    assert "has 2 lines" in refusal(root)
    (root / "train.en").write_bytes(b"a dog\nb\xff\n")
    assert f"{root / 'train.en'}, line 2: not UTF-8" in refusal(root)
    (root / "train.en").write_bytes(b"a dog\n\n")
    assert f"{root / 'train.en'}, line 2: empty" in refusal(root)


@pytest.mark.parametrize(
    "line",
    [
        "הכלב רץ אל הבית",
        "كلب صغير \u200fيركض",
        "小狗在跑。",
        "犬が走る",
        "👩\u200d👧 e\u0301",
        *(f"ein{space}Hund" for space in "\u00a0\u2028\u2029\x85\x0b\x0c\x1c\r"),
    ],
)
def test_only_newlines_end_a_line_of_any_script(root, line):
    (root / "val.de").write_bytes(f"{line}\n".encode())
    assert corpus(root).split("val").source == [line]


def test_splits_may_have_other_file_names(root):
    (root / "test.de").rename(root / "test_2016.de")
    (root / "test.en").rename(root / "test_2016.en")
    files = OmegaConf.create({"test": "test_2016"})
    assert corpus(root, files=files).split("test").target == ["a cat"]


def test_fingerprint_changes_when_a_file_moves_to_another_split(root):
    for name in ("more", "last"):
        for language in ("de", "en"):
            (root / f"{name}.{language}").write_text(f"{name} {language}\n")
    choices: list[dict[str, Any]] = [
        {"train": ["train", "more"], "val": "val", "test": "test"},
        {"train": "train", "val": ["more", "val"], "test": "test"},
        {"train": "train", "val": "more", "test": ["val", "test"]},
        {"train": ["train", "more", "val"], "val": "last", "test": "test"},
        {"train": "train", "val": ["more", "val", "last"], "test": "test"},
    ]
    found = {corpus(root, files=files).fingerprint for files in choices}
    assert len(found) == len(choices)


def test_several_files_make_a_split(root):
    for language, line in (("de", "noch ein Hund"), ("en", "another dog")):
        (root / f"news-1.{language}").write_text(f"{line}\n")
        (root / f"news-2.{language}.gz").write_bytes(gzip.compress(f"{line} 2\n".encode()))
    for names in (["train", "news-1", "news-2"], ["train", "news-*"]):
        several = corpus(root, files={"train": names}).split("train")
        assert several.source == [
            "ein Hund",
            "zwei große Hunde",
            "noch ein Hund",
            "noch ein Hund 2",
        ]
        assert several.target == ["a dog", "two big dogs", "another dog", "another dog 2"]
    message = refusal(root, files={"train": "nothing-*"})
    assert "nothing-*.de" in message
    (root / "news-1.en").unlink()
    assert "news-1.en" in refusal(root, files={"train": "news-*"})


@pytest.mark.parametrize("pattern", ["{root}/tr*", "t**n", "./tr*", "../{root.name}/tr*", "**/tr*"])
def test_patterns_may_be_any_path(root, pattern):
    files = {"train": pattern.format(root=root)}
    assert corpus(root, files=files).split("train").source == ["ein Hund", "zwei große Hunde"]


@pytest.mark.parametrize("names", [["train", "tr*"], ["train", "./train"], ["train", "{root}/t*n"]])
def test_a_file_is_read_once_in_a_split(root, names):
    message = refusal(root, files={"train": [name.format(root=root) for name in names]})
    assert message == f"data.files.train: {root / 'train.de'} is given twice; leave one out"


def test_a_split_has_files(root):
    message = refusal(root, files={"train": []})
    assert message == "data.files.train=[]: names no file; give at least one"
    assert "nowhere does not exist: set data.root=... to the folder" in refusal(root / "nowhere")


@pytest.mark.real_text
@pytest.mark.parametrize(
    ("folder", "files", "pairs"),
    [
        ("multi30k", {"test": "test_2016_flickr"}, (29000, 1014, 1000)),
        ("wmt_en_de", {}, (8500, 500, 999)),
    ],
)
def test_real_corpora(folder, files, pairs):
    if not (REAL / folder).is_dir():
        pytest.skip(f"no {folder} in shared/data")
    text = TextCorpus(REAL / folder, "en", "de", files=files)
    assert tuple(len(text.split(split)) for split in SPLITS) == pairs
