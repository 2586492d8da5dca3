"""A training on each kind of source of real text, and its mistakes, through the command."""

import json

import pytest

from tests.helpers.commands import TINY, inside, mistake, places

datasets = pytest.importorskip("datasets")

RUN = [each for each in TINY if not each.startswith("data.")]
RUN += ["model=seq2seq", "logger=none", "val_sentences=3"]
WORDS = ["the", "dog", "sees", "a", "cat", "and", "two", "birds", "near", "old", "houses"]


def sentence(number):
    return " ".join(WORDS[(number * 7 + place) % len(WORDS)] for place in range(2 + number % 9))


@pytest.fixture
def pairs():
    lines = [sentence(number) for number in range(120)]
    return [{"en": line, "xx": " ".join(reversed(line.split()))} for line in lines]


def result(space, *command):
    inside(*command, *RUN, *places(space), f"hydra.run.dir={space}/run")
    return json.loads((space / "run/result.json").read_text())


LANGUAGES = ["data.source=en", "data.target=xx", "data.columns={source: en, target: xx}"]


def test_parquet_trains(tmp_path, pairs):
    (tmp_path / "hub").mkdir()
    for name in ("train", "validation", "test"):
        datasets.Dataset.from_list(pairs).to_parquet(tmp_path / f"hub/{name}.parquet")
    command = ["data=huggingface", f"data.path={tmp_path}/hub", *LANGUAGES]
    record = result(tmp_path, *command)
    assert record["data"]["pairs"] == {"train": 120, "val": 120, "test": 120}
    assert "data.columns.source=de" in mistake(*command, "data.columns.source=de", "logger=none")


@pytest.mark.long
def test_a_mixture_of_tables_with_test_sets_and_gold_links_trains(tmp_path, pairs):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        for split in ("train", "val", "test"):
            rows = "".join(json.dumps(row) + "\n" for row in pairs)
            (tmp_path / name / f"{split}.jsonl").write_text(rows)
        (tmp_path / name / "links").write_text("0-0\n" * 120)
    command = ["data=mixture", "~data.corpora.captions", "~data.corpora.news"]
    for name in ("one", "other"):
        key = f"data.corpora.{name}"
        command += [f"+data@{key}=text", f"{key}.root={tmp_path}/{name}"]
        command += [each.replace("data.", f"{key}.") for each in LANGUAGES]
        command += [f"{key}.alignments={{test: {tmp_path}/{name}/links}}"]
    record = result(tmp_path, *command, "data.weights={one: 1, other: 4}", "data.size=150")
    assert record["data"]["pairs"] == {"train": 150, "val": 120, "test": 240}
    assert record["data"]["left_out"]["train"] == {"one: not drawn": 90}
    assert "data.corpora.other.root" in mistake(*command, "data.corpora.other.root=nowhere")
