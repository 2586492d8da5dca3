"""Trainings of every kind, from the command line."""

import ast
import json
import re
import shlex
import signal
import subprocess
import sys
from collections import Counter

import pytest

from datamodules import lines
from datamodules.corpus import SPLITS
from datamodules.translation_data import TranslationData
from lightning_modules.runs.files import read_predictions
from tests.helpers.commands import ROOT, TINY, inside, mistake, places, run, write
from tests.helpers.data_settings import grammar_corpus

MULTI30K = ROOT.parent / "shared" / "data" / "multi30k"


def test_early_stopping_and_a_plateau_end_a_hopeless_run(space):
    """Nothing is learned at this rate: validation BLEU stays, and the budget is not spent."""
    folder = space / "stopped"
    inside(
        *TINY, *places(space), "logger=none", "budget.target_tokens=500_000", "optimizer.lr=1e-12",
        "scheduler=plateau", "callbacks=early_stopping", "callbacks.early_stopping.patience=2",
        f"hydra.run.dir={folder}",
    )  # fmt: skip
    result = json.loads((folder / "result.json").read_text())
    assert result["training"]["updates"] == 2 * (1 + 2)


@pytest.mark.long
def test_ctrl_c_ends_with_a_word(space):
    folder = space / "interrupted"
    command = [sys.executable, "run.py", *TINY, *places(space), "logger=none"]
    endless = ["budget.target_tokens=500_000_000", f"hydra.run.dir={folder}"]
    with subprocess.Popen(
        [*command, *endless],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Shells start background jobs deaf to Ctrl-C, and children inherit this setting.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as running:
        try:
            assert running.stdout is not None
            next(line for line in running.stdout if "BLEU" in line)
            running.send_signal(signal.SIGINT)
            _, errors = running.communicate(timeout=60)
        finally:
            running.kill()
    assert running.returncode == 130
    assert errors.strip().splitlines()[-1] == "interrupted"
    assert "Traceback" not in errors
    assert not (folder / "result.json").exists()


@pytest.mark.long
@pytest.mark.exhaustive
def test_sentences_that_a_run_cannot_read_are_not_translated(space):
    folder = space / "location"
    model = ["model=luong_location", "model.attention.max_length=70"]
    inside(*model, *TINY, *places(space), "logger=none", f"hydra.run.dir={folder}")
    done = run("task=translate", f"checkpoint={folder}", stdin="Hi.\n" + "cat " * 99 + ".\n")
    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert "input=-, line 2: has 101 tokens, more than model.attention.max_length=70" in line
    assert "train with model.attention.max_length=101 or more" in line


BPE = ["tokenizer=bpe", "tokenizer.vocabulary_size=300", "tokenizer.dropout=0.1"]


def test_bpe_dropout_asks_for_room_for_characters(space):
    model = ["model=luong_location", "model.attention.max_length=160"]
    line = mistake(*model, *BPE, *TINY, *places(space), "logger=none")
    assert "=160: the longest train (tokenizer.dropout, in characters) source has " in line


@pytest.mark.parametrize(
    "given", [["tokenizer.dropout=1"], ["tokenizer.kind=unigram"], ["tokenizer=words"]]
)
def test_wrong_dropout_is_one_line(space, given):
    assert "error: tokenizer.dropout" in mistake(*BPE, *given, *places(space), "logger=none")


@pytest.mark.exhaustive
@pytest.mark.long
@pytest.mark.real_text
@pytest.mark.skipif(not MULTI30K.is_dir(), reason="../shared/data/multi30k is not there")
def test_real_text_in_subwords(space):
    folder = space / "multi30k"
    inside(
        "data=multi30k", f"data.root={MULTI30K}", "tokenizer=bpe", "tokenizer.vocabulary_size=2000",
        "model=transformer", *TINY[3:], *places(space), "logger=none", "decoding=greedy",
        "decoding.max_ratio=0.5", f"hydra.run.dir={folder}",
    )  # fmt: skip
    result = json.loads((folder / "result.json").read_text())
    assert result["data"]["pairs"] == {"train": 29000, "val": 1014, "test": 1000}
    first = read_predictions(folder)[0]
    assert first.source.startswith("Ein Mann mit einem orangefarbenen Hut")
    assert first.reference.startswith("A man in an orange hat")


VARIANTS = (ROOT / "docs" / "reference" / "variants.md").read_text(encoding="utf-8")
[COMBINED] = re.findall(r"Overrides combine.*?```sh\n(.*?)```", VARIANTS, re.DOTALL)


@pytest.mark.long
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(command, marks=[pytest.mark.exhaustive] if "comparison=" in command else [])
        for command in COMBINED.splitlines()
    ],
)
def test_combined_overrides_train(command, space):
    """A comparison runs two jobs only: other tests train each of its models."""
    words = "".join(f"{word} {'0.1 ' * 300}\n" for word in ("the", "The", "cat"))
    (space / "glove.6B.300d.txt").write_text(words, encoding="utf-8")
    given = command.replace("glove", f"{space}/glove").split("#")[0]
    folder = space / f"combined-{hash(command)}"
    several = "comparison=" in given
    where = [f"hydra.{'sweep' if several else 'run'}.dir={folder}"]
    if several:
        where.append("hydra.sweeper.params.model='luong_multi_head,seq2seq'")
    program, *arguments = shlex.split(given)[1:]
    assert program == "run.py"
    inside(*TINY, *places(space), "logger=none", *arguments, *where)
    assert len(list(folder.rglob("result.json"))) == 1 + several


@pytest.mark.long
def test_everything_at_once_trains(space):
    """Flags of the query, intra-attention, heads, scheduled sampling, tied tables."""
    folder = space / "everything"
    flags = ["query.context=true", "query.last_token=true", "query.state=previous"]
    flags += ["intra_attention={score:general}", "tied=output", "encoder.merge=sum"]
    flags += ["encoder.hidden_size=192", "cell=gru_2014", "layers=2"]
    model = ["model=luong_predictive", "+model.attention.heads=4", "teacher_forcing=scheduled"]
    given = [*model, *(f"model.{flag}" for flag in flags), "scale=0.5"]
    inside(*given, *TINY, *places(space), "logger=none", f"hydra.run.dir={folder}")
    assert json.loads((folder / "result.json").read_text())["scores"]["aer"] > 0


READERS = ("lightning_modules/tasks", "sweeps/tasks", "sweeps/launch")
"""The tasks, and what starts them."""


def test_only_tasks_and_the_launch_read_hydras_configuration():
    for package in ("datamodules", "lightning_modules", "sweeps"):
        for file in (ROOT / package).rglob("*.py"):
            name = str(file.relative_to(ROOT))
            imported = {
                alias.name
                for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
                if isinstance(node, ast.ImportFrom)
                for alias in node.names
            }
            assert "HydraConfig" not in imported or name.startswith(READERS), name


def write_text_corpus(folder):
    folder.mkdir()
    corpus = grammar_corpus(60, 6, 6)
    for split in SPLITS:
        text = corpus.split(split)
        for language, side in (("en", text.source), ("fr", text.target)):
            write(folder / f"{split}.{language}", side)


@pytest.mark.long
@pytest.mark.parametrize(
    "more", [["scale=0.1"], ["scale=1", "match=parameters", "match.variant=seq2seq"]]
)
def test_a_training_reads_text_once(tmp_path, monkeypatch, more):
    write_text_corpus(tmp_path / "text")
    reads: Counter[str] = Counter()
    fingerprints: list[object] = []
    open_file = lines._open
    fingerprint = TranslationData.fingerprint.func  # type: ignore[attr-defined]

    def counted_read(path):
        reads[path.name] += 1
        return open_file(path)

    def counted_fingerprint(data):
        fingerprints.append(data)
        return fingerprint(data)

    monkeypatch.setattr(lines, "_open", counted_read)
    monkeypatch.setattr(TranslationData.fingerprint, "func", counted_fingerprint)
    data = ["data=text", f"data.root={tmp_path}/text", "data.source=en", "data.target=fr"]
    tiny = [setting for setting in TINY if not setting.startswith("data.")]
    inside(*data, *tiny, *places(tmp_path), *more, "logger=none")
    assert set(reads.values()) == {2}  # for the fingerprint, and for the text
    assert len(reads) == 6
    assert len(fingerprints) == 1
