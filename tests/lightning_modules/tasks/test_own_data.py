"""Corpora and tokenizers of the user: examples of ``docs/how_to/extend``, sources, mistakes."""

import json

import pytest

from datamodules.tokenization import TokenizerSettings
from lightning_modules.training.checkpoints import load_trained
from tests.helpers.commands import TESTED, TINY, example, inside, mistake, places, succeed

CORPUS = """
from datamodules.corpus import Corpus, ParallelText

class Mine(Corpus):
    name, source, target, given = "mine", "en", "fr", []

    def __init__(self, **settings):
        pass

    def split(self, name):
        return ParallelText(["a b c"] * 9, ["x y z"] * 9)
"""
TOKENIZER = """
from datamodules.tokenization import MARKER, Tokenizer

class Mine(Tokenizer):
    @classmethod
    def train(cls, lines, vocabulary_size, min_frequency):
        words = {word for line in lines for word in line.split()}
        return cls(sorted(MARKER + word for word in words))

    def encode(self, lines):
        return [[self.numbers.get(MARKER + word, 3) for word in line.split()] for line in lines]
"""


@pytest.fixture
def space(tmp_path, monkeypatch):
    """A folder of the user's, from which Python imports."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.long
@pytest.mark.exhaustive
def test_a_corpus_of_ones_own_trains(space):
    [command] = example("corpus", space)
    command[command.index("my_conf")] = str(space / "my_conf")
    folder = space / "run"
    given = [*command, *TINY, *places(space), "logger=none"]
    inside(*given, f"hydra.run.dir={folder}")
    result = json.loads((folder / "result.json").read_text())
    assert result["data"]["name"] == "reversed"
    assert result["data"]["pairs"] == {"train": 300, "val": 12, "test": 24}
    assert result["scores"]["aer"] > 0
    first = json.loads((folder / "predictions.jsonl").read_text().splitlines()[0])
    assert first["reference"].split() == first["source"].split()[::-1]
    # Another process finds the corpus again, with equal sentences.
    found = [f"checkpoint={folder}", f"hydra.run.dir={space / 'again'}"]
    given = [*command, *TESTED, *places(space), "task=test", *found]
    assert "test BLEU" in succeed(*given, PYTHONPATH=str(space))


@pytest.mark.long
def test_a_tokenizer_of_ones_own_trains_translates_and_aligns(space):
    *_, command = example("tokenizer", space)
    folder = space / "run"
    given = [*command, *TINY, *places(space), "batching.max_tokens=3000", "logger=none"]
    inside(*given, f"hydra.run.dir={folder}")
    result = json.loads((folder / "result.json").read_text())
    assert result["scores"]["aer"] > 0
    trained = load_trained(folder)
    [ids] = trained.tokenizers.source.encode(["The cat"])
    assert [trained.tokenizers.source.surfaces[token] for token in ids] == ["", *"The", "", *"cat"]
    arguments = ["task=translate", f"checkpoint={folder}"]
    assert succeed(*arguments, stdin="The cat sleeps.\n", PYTHONPATH=str(space)).count("\n") == 1
    inside("task=align", f"checkpoint={folder}", f"hydra.run.dir={space / 'aligned'}")
    alignment = json.loads((space / "aligned" / "alignment.json").read_text())
    assert alignment["variant"] == "bahdanau"


def test_encoded_text_depends_on_the_tokenizers_code(space):
    file = space / "changing.py"
    file.write_text(TOKENIZER)
    settings = TokenizerSettings("changing.Mine", 100, 1, shared=False)
    before = settings.identity
    assert settings.identity == before
    file.write_text(TOKENIZER + "# changed\n")
    assert settings.identity != before


def refused(space, key, path, code, expected):
    """A training refuses the class at ``path`` of a new module ``mine`` in a line."""
    module = f"mine{abs(hash(expected))}"
    (space / f"{module}.py").write_text(code)
    named = path.replace("mine", module) if path.startswith("mine") else path
    line = mistake(f"{key}={named}", *TINY, *places(space), "logger=none")
    assert expected in line.replace(module, "mine")


TARGETS = '["x y z"] * 9'
LINKS = '["x y z"] * 9, ["0-0 1-7"] * 9'


@pytest.mark.parametrize(
    ("path", "old", "new", "expected"),
    [
        ("mine", "", "", "data._target_=mine: give a dotted path"),
        ("mine.Other", "", "", "data._target_=mine.Other: cannot be imported; give the dotted "),
        ("hashlib.sha256", "", "", "data._target_=hashlib.sha256: is not derived from datamodules"),
        ("mine.Mine", "def split", "def splits", "data._target_=mine.Mine: Mine lacks split"),
        ("mine.Mine", "**settings", "", "Mine.__init__() got an unexpected keyword argument"),
        ("mine.Mine", '"mine", "en"', '7, "en"', "data._target_=mine.Mine: Mine.name is 7, but a "),
        ("mine.Mine", "return ParallelText", "return ", "Mine.split('train') returns tuple, but "),
        ("mine.Mine", TARGETS, '["x"] * 8', "has 9 source but 8 target sentences"),
        ("mine.Mine", TARGETS, "[7] * 9", "has a target that is not a list of texts"),
        ("mine.Mine", " * 9", " * 0", "Mine.split('train') has no sentences"),
        ("mine.Mine", TARGETS, LINKS, "data=mine, train: gold alignments, line 1: 1-7"),
        (
            *("mine.Mine", TARGETS, f'{LINKS} if name == "test" else None'),
            "data=mine, test: gold alignments, line 1: 1-7",
        ),
        ("mine.Mine", "given =", "fingerprint =", "Mine.fingerprint is [], but a text is needed"),
    ],
)
def test_a_corpus_that_is_none_is_refused_in_a_line(space, path, old, new, expected):
    refused(space, "data._target_", path, CORPUS.replace(old, new), expected)


@pytest.mark.parametrize(
    ("path", "old", "new", "expected"),
    [
        ("letters", "", "", "tokenizer.kind=letters: give one of words, bpe, unigram, "),
        ("mine.Other", "", "", "tokenizer.kind=mine.Other: cannot be imported; choose one of "),
        ("hashlib.sha256", "", "", "tokenizer.kind=hashlib.sha256: is not derived from "),
        ("mine.Mine", "def encode", "def code", "tokenizer.kind=mine.Mine: Mine lacks encode"),
        ("mine.Mine", "return cls(sorted", "return (sorted", "Mine.train returns list, but "),
        ("mine.Mine", "in lines]\n", "in lines[1:]]\n", "returns 19 lists for 20"),
        ("mine.Mine", ", 3)", ", 0) + 10_000", "Mine.encode gives the token 10"),
        ("mine.Mine", "return [[", "return [[3][:len(lines) > 1] + [", "differently when each"),
        ("mine.Mine", "MARKER + word", "word", "Mine decodes"),
    ],
)
def test_a_tokenizer_that_is_none_is_refused_in_a_line(space, path, old, new, expected):
    refused(space, "tokenizer.kind", path, TOKENIZER.replace(old, new), expected)


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
