"""A task reads Hydra's configuration once, and prepares its data once."""

import ast
from collections import Counter

import pytest

from datamodules import lines
from datamodules.corpus import SPLITS
from datamodules.grammar import GrammarCorpus
from datamodules.translation_data import TranslationData
from lightning_modules.training.settings import TrainingSettings
from tests.helpers.commands import ROOT, TINY, inside, places

READERS = ("lightning_modules/tasks", "sweeps/tasks", "sweeps/launch", "sweeps/studies/worker.py")
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
    corpus = GrammarCorpus(train_size=60, val_size=6, test_size=6, seed=1)
    for split in SPLITS:
        text = corpus.split(split)
        for language, side in (("en", text.source), ("fr", text.target)):
            (folder / f"{split}.{language}").write_text("\n".join(side) + "\n")


@pytest.mark.long
@pytest.mark.parametrize(
    "more", [["scale=0.1"], ["scale=1", "match=parameters", "match.variant=seq2seq"]]
)
def test_a_training_reads_text_and_settings_once(tmp_path, monkeypatch, more):
    write_text_corpus(tmp_path / "text")
    reads: Counter[str] = Counter()
    parsed: list[object] = []
    fingerprints: list[object] = []
    open_file, validate = lines._open, TrainingSettings.model_validate
    fingerprint = TranslationData.fingerprint.func  # type: ignore[attr-defined]

    def counted_read(path):
        reads[path.name] += 1
        return open_file(path)

    def counted_parse(values):
        parsed.append(values)
        return validate(values)

    def counted_fingerprint(data):
        fingerprints.append(data)
        return fingerprint(data)

    monkeypatch.setattr(lines, "_open", counted_read)
    monkeypatch.setattr(TrainingSettings, "model_validate", counted_parse)
    monkeypatch.setattr(TranslationData.fingerprint, "func", counted_fingerprint)
    data = ["data=text", f"data.root={tmp_path}/text", "data.source=en", "data.target=fr"]
    tiny = [setting for setting in TINY if not setting.startswith("data.")]
    inside(*data, *tiny, *places(tmp_path), *more, "logger=none")
    assert set(reads.values()) == {2}  # for the fingerprint, and for the text
    assert len(reads) == 6
    assert len(parsed) == len(fingerprints) == 1
