"""``task=data``: a corpus prepared and shown, end to end."""

import csv
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from datamodules.batching import Sequences
from datamodules.tokenization import SPECIALS, UNK, Bpe, Bytes, Words
from lightning_modules.figures.palette import SPLIT_COLOURS
from lightning_modules.runs.files import read_record
from sweeps.tasks.data import DataSummary, cut_lines
from tests.helpers.commands import inside, mistake, places, succeed
from tests.helpers.wandb_server import WandbServer

WORDS = ["der", "Hund", "müde", "läuft", "Käse", "heute"]
TABLES = ["corpora", "corpus_cleaning", "corpus_splits"]


@pytest.fixture(scope="module")
def space(tmp_path_factory) -> Path:
    """A folder with a small corpus of text files: a copy, a duplicate and a leak."""
    space = tmp_path_factory.mktemp("data")
    (space / "text").mkdir()
    random = np.random.default_rng(0)
    for split, count in (("train", 60), ("val", 9), ("test", 12)):
        source = [" ".join(random.choice(WORDS, n)) for n in random.integers(2, 9, count)]
        target = [line.upper() for line in source]
        if split == "train":
            target[3] = source[3]
            source[7], target[7] = source[5], target[5]
            leak = source[10], target[10]
        if split == "test":
            source[0], target[0] = leak
        for language, lines in (("de", source), ("en", target)):
            (space / "text" / f"{split}.{language}").write_text("\n".join(lines) + "\n", "utf-8")
    return space


@pytest.fixture(scope="module")
def command(space) -> list[str]:
    text = ["data=text", f"data.root={space}/text", "data.source=de", "data.target=en"]
    return ["task=data", *text, "tokenizer=bpe", "tokenizer.vocabulary_size=32", *places(space)]


@pytest.fixture(scope="module")
def shown(space, command) -> tuple[str, Path, WandbServer]:
    """The output of the command, its folder, and the server that got its run."""
    folder = space / "shown"
    cleaning = ["cleaning.duplicates=true", "cleaning.copies=true"]
    given = [*command, *cleaning, "examples=2", f"hydra.run.dir={folder}"]
    with WandbServer() as server:
        surroundings = {"HOME": str(space), **server.environment}
        printed = succeed(*given, "logger.finish_seconds=60", **surroundings)
    return printed, folder, server


@pytest.mark.long
def test_the_terminal_shows_the_tables_and_pairs(shown):
    printed, folder, _ = shown
    for words in (
        "pairs read 60", "train pairs 57", "test pairs in training 1", "different words 6",
        "target is the source train left out 60 1 1.67", "came before train left out 59 2",
        "training pair 28", "warning: 1 of 12 test pairs are training pairs too",
        f"everything is in {folder}", "a first budget for 57 training pairs: budget.target_tokens=",
        "how long that takes is known once a run on this machine has finished",
    ):  # fmt: skip
        assert words in " ".join(printed.split())
    assert "|" in printed.partition("training pair 0")[2]
    assert "training pair 1\n" not in printed


@pytest.mark.long
def test_the_files_hold_the_same(shown, space):
    _, folder, _ = shown
    summary = read_record(DataSummary, folder / "data.json")
    assert summary.data.pairs == {"train": 57, "val": 9, "test": 12}
    assert summary.data.statistics is not None
    lines = (space / "text" / "test.de").read_text("utf-8").splitlines()
    found = summary.data.statistics.splits["test"]["source"]
    assert found.words == sum(len(line.split()) for line in lines)
    assert [pair.id for pair in summary.examples] == [0, 28]
    first = (space / "text" / "train.de").read_text("utf-8").splitlines()[0]
    assert summary.examples[0].source.replace("|", "") == first
    assert sorted(file.stem for file in (folder / "tables").glob("*.csv")) == TABLES
    with (folder / "tables" / "corpus_splits.csv").open() as file:
        rows = {(row["split"], row["language"]): row for row in csv.DictReader(file)}
    assert float(rows["test", "de"]["words_mean"]) == found.in_words.mean
    assert int(rows["test", "de"]["types"]) == found.types
    for ending in ("svg", "png", "pdf"):
        for width in ("", "_column"):
            assert (folder / "figures" / f"length_histogram{width}.{ending}").is_file()
    with Image.open(folder / "figures" / "length_histogram.png") as picture:
        colours = np.unique(np.asarray(picture.convert("RGB")).reshape(-1, 3), axis=0)
    drawn = {f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in colours}
    assert {*SPLIT_COLOURS[:2]} <= drawn


@pytest.mark.long
def test_the_page_shows_the_corpus(shown):
    _, folder, _ = shown
    page = (folder / "report.html").read_text(encoding="utf-8")
    for words in (
        "57 train pairs, 9 val pairs and 12 test pairs.", 'data-figure="length_histogram"',
        "1 of 12 test pairs are training pairs too", "<dd><bdi>28</bdi></dd>",
        'href="#cleaning"', 'id="tab-corpora"',
    ):  # fmt: skip
        assert words in page
    assert "://" not in page.partition("<style>")[0]


@pytest.mark.long
def test_weights_and_biases_get_the_same(shown):
    _, folder, server = shown
    [run] = server.runs.values()
    assert run.fields["jobType"] == "data"
    names = {*(f"tables/{name}" for name in TABLES), "figures/length_histogram"}
    assert names <= run.summary.keys()
    assert run.summary["data/leaked"] == 1
    assert run.summary["data/train/pairs"] == 57
    assert run.summary["data/test/unknown/source"] == 0
    assert run.config["data"]["root"]
    assert (
        run.config["fingerprint"] == read_record(DataSummary, folder / "data.json").data.fingerprint
    )


def test_words_are_cut_at_their_tokens():
    text = ["der Hund", "der Hund läuft", "ab"]
    unknown = [*text, "der Жук"]
    for kind in (Words, Bpe):
        tokenizer = kind.train(text, 24, 1)
        lines = cut_lines(Sequences.of(tokenizer.encode(unknown)), tokenizer)
        for line, known in zip(lines[:3], text, strict=True):
            assert line.replace("|", "") == known
        assert lines[3].endswith("<unk>")
        for line, ids in zip(lines, tokenizer.encode(unknown), strict=True):
            shown = [token for token in ids if tokenizer.surfaces[token] or token == UNK]
            assert line.count("|") + len(line.split()) == len(shown)
    letters = Bytes.train(text, 300, 1)
    assert cut_lines(Sequences.of(letters.encode(["ab"])), letters) == ["a|b"]
    assert cut_lines(Sequences.of([[]]), letters) == [""]


def test_a_second_look_reads_the_store(command, space, monkeypatch, capsys):
    inside(*command, "logger=none", f"hydra.run.dir={space}/first")
    monkeypatch.setattr("datamodules.encoded_corpus.build", None)
    inside(*command, "logger=none", "examples=0", f"hydra.run.dir={space}/second")
    assert "training pair 0" in capsys.readouterr().out
    files = [read_record(DataSummary, space / name / "data.json") for name in ("first", "second")]
    assert files[0].data == files[1].data
    assert files[1].examples == []


def test_the_text_as_a_paper_had_it(command, space):
    chosen = [each for each in command if not each.startswith("tokenizer")]
    inside(*chosen, "condition=luong2015", "logger=none", f"hydra.run.dir={space}/luong")
    found = read_record(DataSummary, space / "luong/data.json").data
    assert found.vocabulary["source"] == len(SPECIALS) + len(WORDS)  # whole words


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["examples=-1"], "examples=-1: give a whole number, at least 0"),
        (["data.root=/nowhere"], "data.root=/nowhere: does not exist; correct the path"),
        (["batching.max_tokens=2"], "batching.max_tokens=2 is smaller than the longest sentence"),
        (["batching.pieces=999"], "batching.pieces=999: the largest batch has "),
        (["model=bahdanau"], "task=data does not read model"),
    ],
)
def test_mistakes(command, arguments, expected):
    assert expected in mistake(*command, "logger=none", *arguments)
