"""A run with several test sets and unknown words: its scores, and the report that compares runs."""

import csv
import json
from pathlib import Path

import pytest

from lightning_modules.runs.files import read_predictions, read_result
from lightning_modules.runs.schema import Result
from tests.helpers.commands import TESTED, TINY, inside, mistake, places, write

CORPUS = """
from dataclasses import dataclass, field
from random import Random

from datamodules.corpus import Corpus, ParallelText

COMMON = "zero one two three four five six seven eight nine".split()
RARE = ["Oslo", "Bonn", "Rome", "Lima"]


@dataclass
class Numbers(Corpus):
    train_size: int
    val_size: int
    test_size: int
    sets: dict[str, int] = field(default_factory=dict)
    name: str = "numbers"
    source: str = "en"
    target: str = "ne"

    def split(self, name):
        random = Random(name)
        size = {"train": self.train_size, "val": self.val_size, "test": self.test_size}[name]
        unique = 0.7 if name == "train" else 0  # so that the model soon writes unknown words
        lines = [
            " ".join(
                f"x{random.getrandbits(50)}" if random.random() < unique else word
                for word in random.choices(COMMON, k=random.randint(2, 25))
            )
            + (f" {random.choice(RARE)}" if name == "test" and number % 4 == 0 else "")
            for number in range(size)
        ]
        return ParallelText(lines, list(lines), None, sets=self.sets if name == "test" else {})
"""
SETS = {"news": 10, "talks": 14}
GIVEN = ["+data.sets={news: 10, talks: 14}", "scoring.edges=[10,20,30]"]
RUN = ["logger=none", "model=bahdanau", *TINY, "decoding.replace_unknown=copy"]
LEARNING = ["budget.target_tokens=12_000", "batching.max_tokens=200", "optimizer.lr=0.01"]
"""Enough to write unknown words."""


def result_of(folder: Path) -> Result:
    result = read_result(folder)
    assert result is not None
    return result


@pytest.fixture(scope="module")
def space(tmp_path_factory):
    space = tmp_path_factory.mktemp("sets")
    (space / "numbers_corpus.py").write_text(CORPUS)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(space)
        yield space


@pytest.fixture(scope="module")
def common(space):
    """The settings of all commands: corpus and places."""
    (space / "conf" / "data").mkdir(parents=True)
    text = "_target_: numbers_corpus.Numbers\n"
    sizes = "".join(f"{split}_size: 100\n" for split in ("train", "val", "test"))
    (space / "conf" / "data" / "numbers.yaml").write_text(text + sizes)
    return ["--config-dir", f"{space}/conf", "data=numbers", *GIVEN, *places(space)]


@pytest.fixture(scope="module")
def compared(space, common):
    """A comparison of a model with attention and a model without, which copies nothing."""
    folder = space / "compared"
    variants = "model=bahdanau,seq2seq"
    run = [each for each in RUN if "model" not in each]
    run += ["hydra/launcher=basic", *LEARNING]  # workers import for seconds
    inside("-m", *common, variants, *run, f"hydra.sweep.dir={folder}")
    return folder


@pytest.mark.long
def test_each_sentence_says_its_set_and_whether_it_has_unknown_words(compared):
    predictions = read_predictions(compared / "0")
    assert [each.set for each in predictions] == [
        name for name, n in SETS.items() for _ in range(n)
    ]
    assert [each.unknown for each in predictions] == [number % 4 == 0 for number in range(24)]


@pytest.mark.long
def test_a_run_has_a_score_for_each_set_and_without_unknown_words(compared):
    result = result_of(compared / "0")
    assert {name: each.sentences for name, each in result.subsets.items()} == {
        **SETS, "without UNK": 18,
    }  # fmt: skip
    for subset in result.subsets.values():
        low, high = subset.intervals["bleu"]
        assert low <= subset.scores["bleu"] <= high
    said = (compared / "0" / "run.log").read_text()
    for name, subset in result.subsets.items():
        assert f"{name}: BLEU {subset.scores['bleu']:.2f} [" in said


@pytest.mark.long
def test_a_model_without_attention_keeps_unknown_words_and_says_so(compared):
    with_attention, without = (result_of(compared / job).replaced for job in "01")
    assert with_attention
    assert without
    assert with_attention.copied == with_attention.unknown > 0
    assert without.copied == without.translated == 0
    logged = [(compared / job / "run.log").read_text() for job in "01"]
    warning = "decoding.replace_unknown: without attention weights <unk> stays"
    assert [warning in text for text in logged] == [False, True]


@pytest.mark.long
def test_the_report_has_a_curve_and_scores_of_each_set(compared):
    names = [f"bleu_by_length_of_{name}" for name in SETS]
    record = json.loads((compared / "comparison.json").read_text())
    assert [name for name in record["figures"] if "_of_" in name] == names
    assert set(names) < set(record["tables"])
    with (compared / "tables" / "scores_by_part.csv").open() as file:
        rows = [
            (row["system"], row["group"], int(row["sentences"])) for row in csv.DictReader(file)
        ]
    parts = [*SETS.items(), ("without UNK", 18)]
    assert rows == [(name, *part) for name in ("seq2seq", "bahdanau") for part in parts]
    # The curve of a set is of its sentences alone.
    predictions = read_predictions(compared / "0")[:10]
    short = sum(len(each.source.split()) <= 10 for each in predictions)
    columns = json.loads((compared / "tables" / f"{names[0]}.json").read_text())["columns"]
    assert f"(n = {short})" in columns["1–10"]


@pytest.mark.long
def test_one_set_changes_nothing(space, common):
    single = [each for each in common if "data.sets" not in each]
    inside(*single, *RUN, f"hydra.run.dir={space}/single")
    assert list(result_of(space / "single").subsets) == ["without UNK"]
    assert read_predictions(space / "single")[0].set is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("+data.sets={news: 3}", "has 24 sentences, but its test sets have 3"),
        ("+data.sets={a/b: 24}", "a set is named 'a/b'; give letters, digits and + . -"),
        ("decoding.replace_unknown=dictionary", "give decoding.dictionary=FILE"),
        ("decoding.dictionary=/usr", "set that or leave the file out"),
        ("decoding.replace_unknown=move", "give one of copy, dictionary, or null"),
    ],
)
def test_mistakes_are_told_before_the_training(space, common, given, words):
    settings = [each for each in [*common, *RUN] if not each.startswith(given.split("=")[0])]
    if "dictionary=" in given:
        settings = [each for each in settings if "replace_unknown" not in each]
    assert words in mistake(*settings, given, f"hydra.run.dir={space}/wrong")


@pytest.mark.long
def test_test_and_translate_replace_too(space, common, compared):
    """Translations of ``task=translate`` are the hypotheses of ``task=test``, with a dictionary."""
    run = compared / "0"
    given = [f"checkpoint={run}", "decoding.replace_unknown=dictionary"]
    upper = ["ZERO", "ONE", "TWO", "THREE", "FOUR"]
    words = write(space / "words.tsv", [f"{word.lower()}\t{word}" for word in upper])
    given.append(f"decoding.dictionary={words}")
    tested = [each for each in TESTED if "decoding" not in each and "batching" not in each]
    inside(*common, "task=test", *given, *tested, f"hydra.run.dir={space}/again")
    predictions = read_predictions(space / "again")
    source = write(space / "source", [each.source for each in predictions])
    inside("task=translate", *given, f"input={source}", f"output={space}/target")
    lines = (space / "target").read_text().splitlines()
    assert lines == [each.hypothesis for each in predictions]
    replaced = result_of(space / "again").replaced
    assert replaced is not None
    assert replaced.translated == sum(line.count(word) for line in lines for word in upper) > 0
