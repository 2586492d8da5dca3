"""What makes a run another run: settings, data and code, each as far as it affects the results."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf

from lightning_modules.runs import provenance
from lightning_modules.runs.files import read_result
from lightning_modules.runs.identity import Identity, another
from lightning_modules.runs.provenance import CodeVersions, code_versions
from lightning_modules.runs.settings import settings
from lightning_modules.training.factories import build_data
from tests.helpers.commands import ROOT, TINY, inside, mistake, places
from tests.helpers.variants import configuration
from tests.test_rooms import imports_of

CODE = CodeVersions("trains", "tests")
RUN = ["model=seq2seq", "logger=none", *TINY]


@pytest.fixture(scope="module")
def recorded():
    """The configuration of a run as a plain dictionary."""
    config = configuration("model=luong_predictive", "callbacks=early_stopping")
    return OmegaConf.to_container(config)


def identity(config) -> Identity:
    return Identity(config, CODE, "data", {"source": "vectors"})


def changed(config, key: str):
    """Return a configuration with another value of a key."""
    other = OmegaConf.create(config)
    OmegaConf.update(other, key, "another value", force_add=True)
    return OmegaConf.to_container(other)


@pytest.mark.long
@pytest.mark.parametrize("key", [key for key, each in settings().items() if not each.is_group])
def test_a_key_changes_the_identity_exactly_as_the_table_says(key, recorded):
    before, after = identity(recorded), identity(changed(recorded, key))
    setting = settings()[key]
    counts = "nothing" if setting.by_fingerprint else setting.affects
    assert (before.difference(after, ["weights"]) is not None) == (counts == "weights")
    assert (before.difference(after) is not None) == (counts in ("weights", "test"))
    assert (before.digest() != after.digest()) == (counts in ("weights", "test"))


@pytest.mark.parametrize(
    ("change", "weights"),
    [
        ({"data": "other"}, True), ({"files": {"init_from": "other"}}, True),
        ({"files": {}}, True), ({"code": CodeVersions("other", "tests")}, True),
        ({"code": CodeVersions("trains", "other")}, False),
    ],
)  # fmt: skip
def test_data_vectors_and_code_are_parts_of_the_identity(change, weights, recorded):
    before = identity(recorded)
    after = replace(before, **change)
    assert before.difference(after) is not None
    assert (before.difference(after, ["weights"]) is not None) == weights


GRAMMAR = {
    "data.train_size": 50, "data.val_size": 9, "data.test_size": 9, "data.seed": 7,
    "data.train_max_words": 20, "data.disjoint": "clauses", "data.vocabulary": 70, "data.zipf": 0.3,
    "data.longest": 70, "data.short_share": 0.1, "data.embedding": 0.1, "data.distance": 0.1,
    "data.attractors": 0.1, "data.ambiguity": 0.1, "data.reordering": 0.1,
    "data.fronting": 0.3, "data.coordination": 0.1, "data.relatives": 0.1, "data.pronouns": 0.1,
    "data.moods": 0.1, "data.passives": 0.3, "data.perfects": 0.1, "data.questions": 0.1,
    "data.comparatives": 0.1, "data.separable": 0.1, "data.open_words": 0.1,
    "data.verbosity": 0.1, "data.paraphrase": 0.1, "data.noise": 0.1, "tokenizer.kind": "bpe",
    "tokenizer.vocabulary_size": 900, "tokenizer.min_frequency": 3, "tokenizer.shared": True,
    "tokenizer.sample_pairs": 5, "cleaning.unicode": True, "cleaning.punctuation": True,
    "cleaning.ratio": 2.5, "cleaning.copies": True, "cleaning.language": 0.5,
    "cleaning.held_out": True, "cleaning.duplicates": True,
}  # fmt: skip


@pytest.mark.parametrize(
    "key", [key for key in settings() if key.startswith(("data.", "cleaning.", "tokenizer."))]
)
def test_settings_of_the_data_change_its_fingerprint(key, tmp_path):
    """The fingerprint stands for settings that the table counts by fingerprint."""
    text = ["data=text", f"data.root={tmp_path}", "data.source=en", "data.target=fr"]
    hub = ["data=huggingface", f"data.path={tmp_path}/hub", "data.source=en", "data.target=fr"]
    hub += ["data.columns={source: en, target: fr}", f"cache_dir={tmp_path}/cache"]
    mixed = ["data=mixture", "~data.corpora.captions", "~data.corpora.news"]
    mixed += [f"+data@data.corpora.{name}=grammar_tiny" for name in ("one", "other")]
    values = GRAMMAR | {
        "data.test_max_words": 3, "data.skip_empty": True, "data.source": "fr", "data.target": "en",
        "data.name": "other", "data.root": tmp_path / "other", "data.files": {"test": "train"},
        "data.cache_dir": tmp_path / "digests", "data.columns": {"source": "en", "target": "fr"},
        "data.test_sets": ["val"], "data.test_sets_folder": tmp_path / "other",
        "data.alignments": {"test": tmp_path / "links"}, "data.limit": 1,
    }  # fmt: skip
    of_hub = {
        "data.path": f"{tmp_path}/other hub", "data.configuration": "default",
        "data.folder": "part", "data.revision": "v2", "data.splits": {"test": "train"},
    }  # fmt: skip
    of_mixture = {
        "data.corpora": {"other": {"seed": 3}}, "data.temperature": 3.0, "data.size": 30,
        "data.weights": {"one": 1, "other": 2},
    }  # fmt: skip
    of_bpe = {"tokenizer.dropout": 0.1}
    write_text(tmp_path)
    if key == "tokenizer.models":
        # Another kind alone reads models: tests/datamodules/tokenization/test_sentencepiece.py.
        return
    if key.endswith("_target_"):
        return  # another class has other sentences, or the same data
    commands: Sequence[tuple[dict[str, Any], list[str]]]
    of_kinds = ((of_hub, hub), (of_mixture, mixed), (of_bpe, ["tokenizer=bpe"]))
    commands = ((GRAMMAR, []), *of_kinds, (values, text))
    values |= of_hub | of_mixture | of_bpe
    command = next(command for keys, command in commands if key in keys)
    config = configuration(*command)
    before = build_data(config).fingerprint
    OmegaConf.update(config, key, values[key], force_add=True)
    if key in ("data.source", "data.target"):  # both languages change places
        config.data.source, config.data.target = "fr", "en"
    same = key in SAME_SENTENCES
    assert (build_data(config).fingerprint == before) == same


def test_the_share_of_dropout_changes_the_weights_but_no_prepared_file():
    bpe = "tokenizer=bpe"
    configs = [configuration(bpe, f"tokenizer.dropout={share}") for share in (0.1, 0.2)]
    assert len({build_data(config).fingerprint for config in configs}) == 1
    few, many = (identity(OmegaConf.to_container(config)) for config in configs)
    assert few.difference(many, ["weights"]) == "tokenizer.dropout"


SAME_SENTENCES = (
    *("data.name", "data.root", "data.cache_dir", "data.path", "data.test_sets_folder"),
    "data.revision",  # of a folder, which has none
)


def write_text(folder: Path) -> None:
    """Write a corpus of text files, as lines and as tables, and the same in another folder."""
    for place in (folder, folder / "other"):
        place.mkdir(exist_ok=True)
        for split in ("train", "val", "test"):
            for language in ("en", "fr"):
                (place / f"{split}.{language}").write_text(f"{split} {language}\n")
            (place / f"{split}.jsonl").write_text(f'{{"en": "{split} EN", "fr": "{split} FR"}}\n')
    for part in (folder / "hub/part", folder / "other hub/part"):
        part.mkdir(parents=True)
    for split in ("train", "validation", "test"):
        line = f'{{"en": "{split} EN", "fr": "{split} FR"}}\n'
        for name in ("hub", "hub/part", "other hub", "other hub/part"):
            (folder / name / f"{split}.jsonl").write_text(line)
    (folder / "links").write_text("0-0\n")


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """A copy of the code, whose versions count instead of those of the checkout."""
    root = tmp_path / "checkout"
    for package in ("datamodules", "lightning_modules", "sweeps"):
        shutil.copytree(
            ROOT / package, root / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    monkeypatch.setattr(provenance, "ROOT", root)
    provenance.code_version.cache_clear()
    yield root
    provenance.code_version.cache_clear()


def edit(place: Path) -> None:
    """Add a line to a file, or to one file of a room."""
    file = place if place.is_file() else sorted(place.rglob("*.py"))[-1]
    file.write_text(f"{file.read_text(encoding='utf-8')}# one line more\n", encoding="utf-8")
    provenance.code_version.cache_clear()


TRAIN = ["kernels", "variants", "attention", "training", "decoding", "ranks"]
SHOW = ["figures", "tracking", "tasks", "runs"]


@pytest.mark.parametrize(
    ("room", "trains", "tests"),
    [
        ("datamodules", True, False),
        *((f"lightning_modules/{room}", True, False) for room in TRAIN),
        ("lightning_modules/testing", False, True),
        ("lightning_modules/metrics/chosen_metrics.py", False, True),
        ("lightning_modules/metrics/words.py", True, True),  # of the BLEU that decides ties
        *((f"lightning_modules/{room}", False, False) for room in SHOW),
        *((f"sweeps/{room}", False, False) for room in ("report", "studies", "tasks", "launch")),
    ],
)
def test_code_counts_by_what_trains_or_tests(room, trains, tests, copied):
    config = OmegaConf.create()
    before = code_versions(config)
    edit(copied / room)
    after = code_versions(config)
    assert (after.training != before.training, after.testing != before.testing) == (trains, tests)


@pytest.mark.parametrize("filters", [["{}"], [{"_target_": "{}", "least": 1}]])
def test_classes_of_a_user_count_in_lists_and_mappings(filters, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    name = f"filters_of_mine_{len(str(filters))}"
    given = json.loads(json.dumps(filters).replace("{}", f"{name}.Short"))
    config = OmegaConf.create({"data": {"filters": given}})
    versions = set()
    for content in ("class Short: pass", "class Short: longest = 3"):
        (tmp_path / f"{name}.py").write_text(content)
        versions.add(code_versions(config).training)
    assert len(versions) == 2


def test_all_code_behind_a_training_counts():
    """Code that trains imports nothing of the harness that does not count, but for records."""
    counted = [ROOT / place for place in provenance.TRAINING_CODE]
    free = [ROOT / "lightning_modules/runs"]  # records what happens, decides nothing
    for file in (file for place in counted for file in provenance.code_files(place)):
        if file.suffix != ".py":
            continue
        for name in imports_of(file):
            module = ROOT / Path(*name.split(".")).with_suffix(".py")
            if module.is_file():
                assert any(module.is_relative_to(place) for place in counted + free), (file, name)


def test_a_class_of_the_user_is_code_too(tmp_path, monkeypatch):
    package = tmp_path / "my_plugs"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "scores.py").write_text("class Mine: ...")
    (package / "helpers.py").write_text("")
    (tmp_path / "my_metric.py").write_text("class Mine: ...")
    monkeypatch.syspath_prepend(tmp_path)
    score = {"model": {"attention": {"score": "my_plugs.scores.Mine"}}}
    metric = {"scoring": {"metrics": ["bleu", "my_metric.Mine"]}}
    plain = code_versions(OmegaConf.create({"optimizer": {"_target_": "torch.optim.Adam"}}))
    first = code_versions(OmegaConf.create(score | metric))
    assert first.training.startswith(f"{plain.training}+")
    assert first.testing.startswith(f"{plain.testing}+")
    assert "+" not in "".join(plain)
    (package / "helpers.py").write_text("x = 1")
    second = code_versions(OmegaConf.create(score | metric))
    assert second.training != first.training
    assert second.testing == first.testing
    (tmp_path / "my_metric.py").write_text("class Mine: x = 1")
    assert code_versions(OmegaConf.create(score | metric)).testing != second.testing


@pytest.fixture(scope="module")
def space(tmp_path_factory) -> Path:
    space = tmp_path_factory.mktemp("identity")
    inside(*RUN, *places(space), f"hydra.run.dir={space}/run")
    return space


def again(space: Path, capsys, *overrides: str) -> str:
    """Give the same command again for the same folder; return what the command says."""
    capsys.readouterr()
    inside(*RUN, *places(space), f"hydra.run.dir={space}/run", *overrides)
    return capsys.readouterr().out


def replaced(space: Path, capsys, why: str, *overrides: str) -> str:
    """Insist on a refusal, which says what differs; then give up the finished run."""
    place = [*places(space), f"hydra.run.dir={space}/run"]
    assert f"holds a finished run with {another(why)};" in mistake(*RUN, *place, *overrides)
    (space / "run" / "result.json").unlink()
    return again(space, capsys, *overrides)


@pytest.mark.parametrize("part", ["data", "code (weights)", "scoring"])
def test_what_cannot_be_counted_is_other(part):
    assert another(part) == f"other {part}"
    assert another("data.root") == "another data.root"


@pytest.mark.long
def test_a_command_again_does_only_what_its_change_asks_for(space, capsys, copied):
    edit(copied / "lightning_modules/figures")
    edit(copied / "lightning_modules/tracking")
    edit(copied / "sweeps/report")
    harmless = ["callbacks.resume_checkpoint.minutes=9", "keep_memory=false", "threads=1"]
    # The run was made by the checkout, whose code the unchanged copy has.
    assert "finished before" in again(space, capsys, *harmless, "callbacks.examples.count=0")
    tested = replaced(space, capsys, "decoding.max_ratio", "decoding.max_ratio=1")
    assert "training continues after update" in tested
    assert "finished before" in again(space, capsys, "decoding.max_ratio=1")
    edit(copied / "lightning_modules/testing")
    assert "training continues after update" in again(space, capsys, "decoding.max_ratio=1")
    for room in ("datamodules", *(f"lightning_modules/{room}" for room in TRAIN[:2])):
        edit(copied / room)
        said = replaced(space, capsys, "code (weights)", "decoding.max_ratio=1")
        assert "other code (weights): this training starts over" in said
    other = ["decoding.max_ratio=1", "optimizer.lr=0.003"]
    said = replaced(space, capsys, "optimizer.lr", *other)
    assert "another optimizer.lr: this training starts over" in said


@pytest.mark.long
def test_a_training_goes_on_in_a_folder_that_was_moved(space, capsys):
    inside(*RUN, *places(space), f"hydra.run.dir={space}/first_place")
    before = read_result(space / "first_place")
    moved = (space / "first_place").rename(space / "second_place")
    (moved / "result.json").unlink()
    capsys.readouterr()
    inside(*RUN, *places(space), f"hydra.run.dir={moved}")
    assert "training continues after update" in capsys.readouterr().out
    after = read_result(moved)
    assert before is not None
    assert after is not None
    assert (after.scores, after.training.val_bleu) == (before.scores, before.training.val_bleu)
    assert after.training.val_bleu is not None


@pytest.mark.long
def test_settings_that_affect_no_result_change_no_weight(space):
    """All of them at once."""
    overrides = [
        "keep_memory=false", "devices.jobs_per_gpu=2", "comparison_name=other", "force=true",
        "callbacks.resume_checkpoint.minutes=0", "callbacks.examples.count=0",
        "trainer.log_every_n_steps=1", "trainer.enable_model_summary=true", "logger=none",
        f"cache_dir={space}/other", f"outputs={space}/others",
    ]  # fmt: skip
    inside(*RUN, *places(space), f"hydra.run.dir={space}/first")
    inside(*RUN, f"hydra.run.dir={space}/second", *overrides)
    first, second = (
        torch.load(space / name / "checkpoints" / "best.ckpt", weights_only=True)["state_dict"]
        for name in ("first", "second")
    )
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)
