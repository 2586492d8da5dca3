"""Every mistake in ``task=evaluate`` ends in one line, and in no number."""

import pytest

from tests.helpers.commands import FILES, TWO, evaluate, write
from tests.helpers.run_folders import (
    TEXT,
    Text,
    make_failure,
    make_run,
    text,
    translations,
    write_systems,
)

MISTAKES = {
    "labels for fewer sentences": (
        [*TWO, "sentence_labels=short"],
        "sentence_labels=short has 64 lines, the references have 65",
    ),
    "labels of a word too many": (
        [*TWO, "word_labels.references=long"],
        "word_labels.references=long has 66 lines for 65 sentences",
    ),
    "labels for no system": (
        [*TWO, "word_labels.other=luong1"],
        "word_labels.other: there is no system of this name",
    ),
    "labels for one of two seeds": (
        [
            *FILES,
            "systems.a=[luong1,luong2]",
            "word_labels.references=ref",
            "word_labels.a=luong1",
        ],
        "word_labels.a: 1 files for 2 of the system",
    ),
    "labels on one side": ([*TWO, "word_labels.luong=luong1"], "needs word_labels.references=FILE"),
    "labels on the other side": (
        [*TWO, "word_labels.references=ref"],
        "word_labels.references: needs word_labels.NAME=FILE for a system",
    ),
    "a sentence without a label": (
        [*TWO, "sentence_labels=blank"],
        "sentence_labels=blank, line",
    ),
    "a likelihood that is a word": (
        [*TWO, "log_likelihoods.luong=ref"],
        "log_likelihoods.luong=ref, line 1: could not convert string to float",
    ),
    "no systems": (FILES, "nothing to evaluate: name systems, like systems.NAME=FILE"),
    "nothing for a system": ([*FILES, "systems.a=null"], "systems.a=None: give a file"),
    "an empty list": ([*FILES, "systems.a=[]"], "systems.a=[]: give a file"),
    "a number": ([*FILES, "systems.a=5"], "systems.a=5: give a file"),
    "a dot in a name": ([*FILES, "systems.a.b=none1"], "systems.a={'b': 'none1'}: give a file"),
    "systems that are one file": ([*FILES, "systems=none1"], "systems"),
    "a number for a name": ([*FILES, "systems={1: null}"], "systems.1=None: give a file"),
    "no references": (["systems.a=none1"], "systems.a=none1: needs references=FILE"),
    "two references": (["references=[ref,ref]", "systems.a=none1"], "references=['ref', 'ref']"),
    "a number for references": (["references=5", "systems.a=none1"], "references=5"),
    "sources alone": (["sources=src", "systems.a=run"], "sources=src: needs references=FILE"),
    "alignments alone": (["alignments=gold", "systems.a=run"], "alignments=gold: needs references"),
    "training text alone": (
        ["train_references=ref", "systems.a=run"], "train_references=ref: needs references=FILE",
    ),
    "source lengths without sources": (
        ["references=ref", "systems.a=none1"],
        "scoring.unit=source_words: there are no source sentences to count source words of; give "
        "sources=FILE",
    ),
    "gold without sources": (
        ["references=ref", "alignments=gold", "systems.a=none1"],
        "alignments=gold: needs the source sentences; give sources=FILE",
    ),
    "a missing file": ([*FILES, "systems.a=nowhere"], "nowhere cannot be read (No such file"),
    "missing references": (["references=nowhere", "systems.a=none1"], "set references=..."),
    "a folder for references": (["references=run", "systems.a=none1"], "set references=..."),
    "an empty file": ([*FILES, "systems.a=nothing"], "nothing is empty: fetch it again"),
    "no UTF-8": ([*FILES, "systems.a=latin"], "latin, line 3: not UTF-8 (byte 0xe9)"),
    "no gzip": ([*FILES, "systems.a=false.gz"], "false.gz is truncated or no gzip file"),
    "too few lines": ([*FILES, "systems.a=short"], "systems.a=short has 64 lines, the references"),
    "too many lines": ([*FILES, "systems.a=long"], "systems.a=long has 66 lines, the references"),
    "empty lines at the end": (
        [*FILES, "systems.a=trailing"],
        "systems.a=trailing goes on with nothing but empty lines after line 65, the last of the",
    ),
    "an empty line at the end": ([*FILES, "systems.a=trailing1"], "systems.a=trailing1 goes on"),
    "fewer sources": (
        ["references=ref", "sources=short", "systems.a=none1"],
        "sources=short has 64 lines, references=ref has 65",
    ),
    "an empty reference": (
        ["references=gap", "sources=src", "systems.a=none1"], "references=gap, line 5: empty",
    ),
    "an empty source": (
        ["references=ref", "sources=gap", "systems.a=none1"], "sources=gap, line 5: empty",
    ),
    "gold past the sentence": (
        [*FILES, "alignments=past", "systems.a=none1"], "alignments=past, line 2: 0-99 points past",
    ),
    "gold of other sentences": (
        [*FILES, "alignments=short", "systems.a=none1"],
        "alignments=short, 64 lines for 65 sentence pairs",
    ),
    "gold that is none": ([*FILES, "alignments=ref", "systems.a=none1"], "alignments=ref, line 1"),
    "a folder that is no run": (
        [*FILES, "systems.a=folder"], "systems.a=folder: is no folder of a finished run",
    ),
    "a failed run": (["systems.a=failed"], "systems.a=failed: is no folder of a finished run"),
    "a broken run": (["systems.a=broken"], "systems.a=broken: predictions.jsonl is missing"),
    "a file beside a run": (
        [*FILES, "systems.a=[run,none1]"], "systems.a: has both run folders and files",
    ),
    "a run of other references": (
        [*FILES, "systems.a=other"], "systems.a=other: its reference 1 differs",
    ),
    "a run of fewer sentences": (
        [*FILES, "systems.a=few"], "systems.a=few: its test set has 5 sentences, not 65",
    ),
    "a run of other sources": (
        ["references=ref", "systems.a=run"], "systems.a=run: its source sentences differ",
    ),
    "one run twice": (["systems.a=[run,run]"], "systems.a: run stands there twice"),
    "one seed twice": (["systems.a=[run,again]"], "systems.a=again: seed 1 is there already"),
    "one file twice": ([*FILES, "systems.a=[none1,none1]"], "systems.a: none1 stands there twice"),
}  # fmt: skip


@pytest.fixture(scope="module")
def mistaken(tmp_path_factory):
    """A folder with right and wrong files and runs."""
    folder = tmp_path_factory.mktemp("mistaken")
    write_systems(folder)
    lines = translations(TEXT.references)
    write(folder / "short", lines[:-1])
    write(folder / "long", [*lines, "x"])
    write(folder / "trailing", [*lines, "", " "])
    write(folder / "trailing1", [*lines, ""])
    write(folder / "blank", [*lines[:9], "", *lines[10:]])
    write(folder / "gap", [*TEXT.references[:4], " ", *TEXT.references[5:]])
    write(folder / "past", ["", "0-99", *[""] * (len(TEXT.references) - 2)])
    (folder / "nothing").touch()
    (folder / "latin").write_bytes("a\nb\nété\n".encode("latin-1"))
    (folder / "false.gz").write_bytes(b"\x1f\x8bno")
    (folder / "folder").mkdir()
    make_failure(folder / "failed")
    make_run(folder / "run", "none")
    make_run(folder / "again", "luong")
    make_run(folder / "other", text=text(1))
    make_run(folder / "few", text=Text(TEXT.sources[:5], TEXT.references[:5], None))
    (make_run(folder / "broken") / "predictions.jsonl").unlink()
    return folder


@pytest.mark.parametrize(("arguments", "expected"), MISTAKES.values(), ids=list(MISTAKES))
def test_mistakes_are_told_in_a_line(mistaken, tmp_path, monkeypatch, capfd, arguments, expected):
    monkeypatch.chdir(mistaken)
    assert evaluate(*arguments, out=f"{tmp_path}/out") == 2
    [line] = capfd.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert expected in line
    assert not (tmp_path / "out" / "comparison.json").exists()
