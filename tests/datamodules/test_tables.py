"""TSV and JSON lines in data=text."""

import gzip
import json
import lzma
from collections.abc import Callable

import pytest
from pydantic import ValidationError

from datamodules.errors import UserError, first_mistake
from datamodules.lines import read_blocks, zstd_module
from datamodules.text import TextCorpus

NAMES = {"source": "de", "target": "en"}
PAIRS = [("ein Hund", "a dog"), ("zwei Hunde", "two dogs"), ("drei\u2028Hunde", "three dogs")]
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstd_module().compress,
}


def write(root, name, content):
    (root / name).write_bytes(content.encode("utf-8", "surrogatepass"))


@pytest.fixture
def root(tmp_path):
    for split in ("train", "val", "test"):
        rows = "".join(f"{n}\t{en}\t{de}\n" for n, (de, en) in enumerate(PAIRS))
        write(tmp_path, f"{split}.tsv", f"id\ten\tde\n{rows}")
    return tmp_path


def corpus(root, columns=NAMES, **options):
    return TextCorpus(root, "de", "en", columns=columns, **options)


def pairs(root, split="train", **options):
    text = corpus(root, **options).split(split)
    return list(zip(text.source, text.target, strict=True))


def refusal(root, **options):
    with pytest.raises(UserError) as caught:
        corpus(root, **options).split("train")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def as_json(rows):
    return "".join(
        json.dumps({"id": 1, "translation": {"de": de, "en": en}}) + "\n" for de, en in rows
    )


NESTED = {"source": "translation.de", "target": "translation.en"}


@pytest.mark.parametrize("size", [1, 2, 50_000])
def test_a_table_is_read_in_blocks(root, size, monkeypatch):
    monkeypatch.setattr(read_blocks, "__defaults__", ("data.root", size))
    assert pairs(root) == PAIRS
    (root / "train.tsv").unlink()
    write(root, "train.jsonl", as_json(PAIRS))
    assert pairs(root, columns=NESTED, files={"val": "train", "test": "train"}) == PAIRS


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("kind", [".tsv", ".jsonl"])
def test_compressed_tables_are_read(root, suffix, kind):
    content = "".join(f"{de}\t{en}\n" for de, en in PAIRS) if kind == ".tsv" else as_json(PAIRS)
    columns = {"source": 0, "target": 1} if kind == ".tsv" else NESTED
    packed = PACKERS[suffix](content.encode())
    (root / f"big{kind}{suffix}").write_bytes(packed)
    files = dict.fromkeys(("train", "val", "test"), "big")
    assert pairs(root, columns=columns, files=files) == PAIRS
    for named in (f"big{kind}{suffix}", f"b*{kind}{suffix}", "b*g"):
        assert pairs(root, columns=columns, files={**files, "train": [named]}) == PAIRS
    if suffix:
        (root / f"big{kind}{suffix}").write_bytes(packed[:-9])
        assert f"big{kind}{suffix} is truncated" in refusal(root, columns=columns, files=files)


def test_marks_at_the_start_and_ends_of_lines_are_no_text(root):
    write(root, "train.tsv", "\ufeffde\ten\r\nein \"Hund\t'a' dog\r\n")
    assert pairs(root) == [('ein "Hund', "'a' dog")]
    write(root, "val.jsonl", "\ufeff" + as_json(PAIRS[:1]).replace("\n", "\r\n"))
    (root / "val.tsv").unlink()
    files = {"train": "val", "test": "val"}
    assert pairs(root, columns=NESTED, files=files) == PAIRS[:1]


def test_a_line_feed_inside_a_value_is_a_space(root):
    write(root, "j.jsonl", as_json([("ein\nHund", "a\r\ndog\n"), ("", "x"), ("y", "z")]))
    files = dict.fromkeys(("train", "val", "test"), "j")
    expected = [("ein Hund", "a dog"), ("y", "z")]
    assert pairs(root, columns=NESTED, files=files, skip_empty=True) == expected
    assert "j.jsonl, column translation.de, line 2: empty" in refusal(
        root, columns=NESTED, files=files
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("en\tfr\na\tb\n", "no column de; it has en, fr"),
        ("en\tde\na\tb\nonly\n", "train.tsv, line 3: 1 columns, but 2 are needed"),
        ("en\tde\na\tb\n\tc\n", "column en, line 3: empty"),
        ("en\tde\n", "have no pairs: set data.root"),
        ("en\tde\na\t\ud800\n", "train.tsv, line 2: not UTF-8"),
        ("en\tde\na\tb\0\n", "train.tsv, line 2: a NUL byte"),
        ("", "train.tsv is empty"),
    ],
)
def test_wrong_tsv_is_refused_in_one_line(root, content, message):
    write(root, "train.tsv", content)
    assert message in refusal(root)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: not JSON"),
        ("[" * 100_000, "line 2: not JSON"),
        ("", "line 2: not JSON"),
        ("[1]", "line 2: no column de; it has no columns"),
        ('{"en": "a", "fr": {"x": 1}}', "line 2: no column de; it has en, fr.x"),
        ('{"en": "a", "de": 7}', "column de, line 2: 7 is not text"),
        ('{"en": ["a"], "de": "b"}', "column en, line 2: ['a'] is not text"),
        ('{"en": null, "de": "b"}', "column en, line 2: empty"),
        (r'{"en": "\ud800", "de": "b"}', "column en, line 2: half of a surrogate pair"),
        (r'{"en": "\u0000", "de": "b"}', "column en, line 2: a NUL character"),
    ],
)
def test_wrong_json_is_refused_in_one_line(root, line, message):
    (root / "train.tsv").unlink()
    write(root, "train.jsonl", f'{{"en": "a", "de": "b"}}\n{line}\n')
    assert message in refusal(root)


def test_a_table_needs_columns(root):
    with pytest.raises(UserError, match=r"train.tsv is a table: .*data.columns="):
        TextCorpus(root, "de", "en", files={"train": "train.tsv"}).split("train")


def test_columns_and_content_change_the_fingerprint(root):
    one, other = {"source": 1, "target": 2}, {"source": 2, "target": 1}
    assert len({corpus(root, each).fingerprint for each in (NAMES, one, other)}) == 3
    before = corpus(root).fingerprint
    write(root, "val.tsv", "de\ten\nx\ty\n")
    assert corpus(root).fingerprint != before


def test_tables_and_lines_may_stand_side_by_side(root):
    (root / "test.tsv").unlink()
    write(root, "test.de", "eine Katze\n")
    write(root, "test.en", "a cat\n")
    assert pairs(root, "test") == [("eine Katze", "a cat")]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"source": "t.en"}, "give both columns, {source: NAME, target: NAME}"),
        ({"source": "en", "target": "en"}, "both sides are one column; give two"),
    ],
)
def test_two_columns_are_needed(root, columns, message):
    with pytest.raises(ValidationError) as caught:
        corpus(root, columns)
    assert first_mistake(caught.value, "data") == f"data.columns: {message}"
