"""Files that make a split: other names, several, patterns."""

import gzip
from typing import Any

import pytest
from omegaconf import OmegaConf

from datamodules.errors import UserError
from datamodules.text import TextCorpus

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
        (tmp_path / name).write_text(content, encoding="utf-8")
    return tmp_path


def corpus(root, files):
    return TextCorpus(root, "de", "en", files=files)


def refusal(root, files):
    with pytest.raises(UserError) as caught:
        corpus(root, files).split("train")
    assert "\n" not in str(caught.value)
    return str(caught.value)


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
