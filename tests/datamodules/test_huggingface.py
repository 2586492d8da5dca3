"""Datasets of Hugging Face: files and folders that the real library opens, without a network."""

import builtins
import json

import pytest

from datamodules import huggingface
from datamodules.errors import UserError
from datamodules.huggingface import HuggingFaceCorpus

datasets = pytest.importorskip("datasets")

PAIRS = [(f"sentence {n}", f"Satz {n} \u2028 {'und mehr ' * (n % 7)}".strip()) for n in range(300)]
SPLITS = {"train": PAIRS, "validation": PAIRS[:20], "test": PAIRS[50:60]}
NESTED = {"source": "translation.en", "target": "translation.de"}


def table(pairs):
    rows = [{"en": en, "de": de} for en, de in pairs]
    return datasets.Dataset.from_dict({"id": list(range(len(rows))), "translation": rows})


def write(folder, kind):
    folder.mkdir()
    tables = {name: table(pairs) for name, pairs in SPLITS.items()}
    if kind == "saved":
        datasets.DatasetDict(tables).save_to_disk(str(folder))
    for name, each in tables.items():
        if kind == "parquet":
            each.to_parquet(folder / f"{name}.parquet")
        elif kind == "jsonl":
            lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in each)
            (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write(tmp_path_factory.mktemp("hub") / "pairs", "parquet")


def corpus(path, cache, columns=NESTED, **options):
    return HuggingFaceCorpus(str(path), "en", "de", columns, cache_dir=cache, **options)


def pairs_of(text):
    return list(zip(text.source, text.target, strict=True))


def refusal(path, cache, **options):
    with pytest.raises(UserError) as caught:
        corpus(path, cache, **options).split("train")
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "saved"])
def test_a_folder_is_read(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(huggingface, "BLOCK", 70)
    read = corpus(write(tmp_path / kind, kind), tmp_path / "cache")
    parts = list(read.parts("train"))
    assert [len(part) for part in parts] == [70, 70, 70, 70, 20]
    assert [pair for part in parts for pair in pairs_of(part)] == PAIRS
    assert pairs_of(read.split("val")) == SPLITS["validation"]
    assert pairs_of(read.split("test")) == SPLITS["test"]
    assert read.split("test").sets == {}


def test_single_files_and_single_tables_are_a_training_split(folder, tmp_path):
    splits = {"train": "train[100:]", "val": "train[:10]", "test": "train[10:12]+train[20:22]"}
    table(PAIRS).save_to_disk(str(tmp_path / "saved"))
    arrow = next((tmp_path / "saved").glob("*.arrow"))
    for path in (folder / "train.parquet", tmp_path / "saved", arrow):
        read = corpus(path, tmp_path / "cache", splits=splits)
        assert pairs_of(read.split("train")) == PAIRS[100:]
        assert pairs_of(read.split("test")) == PAIRS[10:12] + PAIRS[20:22]
        assert read.split("test").sets == {"train-10-12": 2, "train-20-22": 2}


def test_the_library_keeps_its_tables_in_the_cache_folder(folder, tmp_path):
    corpus(folder, tmp_path / "cache").split("train")
    assert list((tmp_path / "cache/huggingface").rglob("*.arrow"))


def test_limits_and_empty_cells(tmp_path):
    rows = [("a b c", "x"), (None, "y"), ("d", "z"), (" ", "w")]
    columns = {"en": [en for en, _ in rows], "de": [de for _, de in rows]}
    datasets.Dataset.from_dict(columns).to_parquet(tmp_path / "all.parquet")
    options = {
        "columns": {"source": "en", "target": "de"},
        "splits": dict.fromkeys(("train", "val", "test"), "train"),
    }
    path = tmp_path / "all.parquet"
    message = refusal(path, tmp_path / "cache", **options)
    assert "split train, column en, row 2: empty" in message
    text = corpus(path, tmp_path / "c", **options, skip_empty=True, train_max_words=2).split(
        "train"
    )
    assert (pairs_of(text), text.left_out) == ([("d", "z")], {"empty": 2, "longer than 2 words": 1})
    assert text.examples == {"empty": ["", " "], "longer than 2 words": ["a b c"]}


def test_the_fingerprint_changes_when_a_part_moves_to_another_split(folder, tmp_path):
    parts = [f"train[{n}:{n + 10}]" for n in (0, 10, 20, 30)]
    choices = [
        {"train": f"{parts[0]}+{parts[1]}", "val": parts[2], "test": parts[3]},
        {"train": parts[0], "val": f"{parts[1]}+{parts[2]}", "test": parts[3]},
    ]
    cache = tmp_path / "cache"
    assert len({corpus(folder, cache, splits=each).fingerprint for each in choices}) == 2


def test_the_fingerprint_is_that_of_the_content(folder, tmp_path):
    given = corpus(folder, tmp_path / "cache").fingerprint
    copied = tmp_path / "copied"
    copied.mkdir()
    for file in folder.iterdir():
        (copied / file.name).write_bytes(file.read_bytes())
    assert corpus(copied, tmp_path / "other").fingerprint == given
    swapped = {"source": "translation.de", "target": "translation.en"}
    assert corpus(copied, tmp_path / "cache", columns=swapped).fingerprint != given
    assert corpus(copied, tmp_path / "cache", splits={"val": "test"}).fingerprint != given
    table(PAIRS[:5]).to_parquet(copied / "test.parquet")
    assert corpus(copied, tmp_path / "cache").fingerprint != given


def test_tables_of_the_hub_are_told_apart_by_their_commit(folder, tmp_path, monkeypatch):
    """The library names the folder of a table after the configuration and the commit."""
    other_folder = write(tmp_path / folder.name, "parquet")  # of another time: another hash
    paths = (folder, folder, other_folder)
    opened = [
        dict(datasets.load_dataset(str(path), cache_dir=str(tmp_path / f"cache{n}")))
        for n, path in enumerate(paths)
    ]
    found = []
    for tables in opened:
        monkeypatch.setattr(HuggingFaceCorpus, "_tables", tables)
        found.append(corpus("wmt/wmt14", tmp_path).fingerprint)
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"columns": {"source": "en", "target": "de"}},
            "it has id, translation.en, translation.de",
        ),
        ({"columns": {**NESTED, "source": "id"}}, "data.columns.source=id: holds int64"),
        ({"splits": {"val": "dev"}}, "data.splits.val=dev: Unknown split"),
        ({"splits": {"val": "dev"}}, "has the splits train, validation, test, of which"),
        ({"splits": {"val": "train["}}, "data.splits.val=train[: Unrecognized instruction"),
        (
            {"splits": {"train": "test[:0]"}},
            "data.splits.train=test[:0]: has no row of the 10 of t",
        ),
        ({"splits": {"train": "test[:1%]"}}, "test[:1%]: has no row of the 10 of test"),
        ({"splits": {"train": "train+test[10:]"}}, "test[10:]: has no row of the 10 of test"),
        ({"configuration": "de-fr"}, "'de-fr' not found. Available: ['default']"),
        ({"folder": "nowhere"}, "cannot be opened"),
    ],
)
def test_what_is_not_there_is_told_in_one_line(folder, tmp_path, options, message):
    assert message in refusal(folder, tmp_path, **options)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("train.jsonl", "{\n", "JSON parse error"),
        ("train.jsonl", '{"a": "\\ud800"}\n', "surrogate pair"),
        ("train.parquet", "no table", "Parquet"),
        ("README.txt", "", "cannot be opened"),
    ],
)
def test_damaged_files_are_told_in_one_line(tmp_path, name, content, message):
    (tmp_path / "hub").mkdir()
    (tmp_path / "hub" / name).write_text(content)
    assert message in refusal(tmp_path / "hub", tmp_path / "cache")


def test_the_code_of_a_dataset_never_runs(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    assert "scripts are no longer supported" in refusal(tmp_path / "mine", tmp_path / "cache")
    assert not (tmp_path / "ran").exists()


def test_without_a_network(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    message = refusal("wmt/wmt14", tmp_path, configuration="de-en")
    assert "data.path=wmt/wmt14: Couldn't reach" in message
    assert "give a folder" in message


def test_without_the_library(tmp_path, monkeypatch):
    imported = builtins.__import__

    def refuse(name, *args):
        if name == "datasets":
            raise ImportError(name)
        return imported(name, *args)

    monkeypatch.setattr(builtins, "__import__", refuse)
    assert "pip install 'attention-bench[huggingface]'" in refusal("wmt/wmt14", tmp_path)


def test_a_test_set_by_name(folder, tmp_path):
    for language in ("en", "de"):
        (tmp_path / f"news.{language}").write_text(f"{language}\n")
    options = {"test_sets": ["news"], "test_sets_folder": tmp_path, "splits": {"test": "nothing"}}
    text = corpus(folder, tmp_path / "cache", **options).split("test")
    assert (text.source, text.target, text.sets) == (["en"], ["de"], {"news": 1})
