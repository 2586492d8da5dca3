"""The same command returns to its folder and does only the missing work."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from omegaconf import OmegaConf

from datamodules.files import locked
from lightning_modules.runs import identity
from lightning_modules.runs.provenance import CodeVersions
from sweeps.launch.compose import use_hydra_config
from sweeps.launch.resolvers import remove_unused
from tests.helpers.commands import ROOT, TINY, in_process, inside, places

RUN = ["model=seq2seq", "logger=none", *TINY]


@pytest.fixture
def folder_of(tmp_path):
    """A function that returns the folder of a command's run."""
    HydraConfig.instance().cfg = None

    def run_folder(*overrides: str) -> str:
        config = compose("config", [f"outputs={tmp_path}", *overrides], return_hydra_config=True)
        with use_hydra_config(config):
            return str(config.hydra.run.dir)

    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        yield run_folder


def test_a_folder_is_known_by_settings_and_code(folder_of, monkeypatch):
    first = folder_of("model=seq2seq", "optimizer.lr=0.01")
    assert Path(first).name.startswith("seq2seq-1-")
    assert folder_of("optimizer.lr=1e-2", "model=seq2seq") == first
    for other in ("optimizer.lr=0.02", "scheduler=constant", "seeds.dropout=5", "variant=other"):
        assert folder_of("model=seq2seq", "optimizer.lr=0.01", other) != first
    versions = CodeVersions("another", "another")
    monkeypatch.setattr(identity, "code_versions", lambda config: versions)
    assert folder_of("model=seq2seq", "optimizer.lr=0.01") != first


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (["claims=all"], "laptop"),
        (["claims=all", "workers=4", "plan=true", "logger=none", "tune=true"], "laptop"),
        (["claims=bahdanau2015"], "laptop-bahdanau2015"),
        (["claims=[bahdanau2015,cho2014]"], r"laptop-[0-9a-f]{8}"),
        (["claims=all", "seed_count=5"], r"laptop-[0-9a-f]{8}"),
        (["claims=cho2014", "budget.target_tokens=9"], r"laptop-cho2014-[0-9a-f]{8}"),
        (["claims=cho2014", "comparison_name=mine"], "mine"),
    ],
)
def test_scoreboards_of_different_claims_do_not_replace_each_other(tmp_path, given, name):
    HydraConfig.instance().cfg = None
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        command = ["task=claims", "tier=laptop", f"outputs={tmp_path}", *given]
        config = compose("config", command, return_hydra_config=True)
    folder = Path(config.hydra.run.dir)
    assert folder.parent == tmp_path / "claims"
    assert re.fullmatch(name, folder.name)
    settings = OmegaConf.masked_copy(config, ["comparison_name", "claims"])  # as a task gets them
    with use_hydra_config(config):
        assert settings.comparison_name == folder.name


def test_force_makes_a_folder_that_the_same_command_then_comes_back_to(folder_of):
    first = folder_of("model=seq2seq")
    Path(first).mkdir(parents=True)
    forced = folder_of("model=seq2seq", "force=true")
    assert forced.startswith(f"{first}-")
    Path(forced).mkdir()
    assert folder_of("model=seq2seq") == forced
    assert folder_of("model=seq2seq", "force=true") > forced


def test_other_tasks_begin_anew(folder_of):
    asked = ["task=test", "checkpoint=x"]
    assert folder_of(*asked) != folder_of(*asked)


@pytest.mark.parametrize(
    "checkpoint", ["there/transformer-3", "there/transformer-3/checkpoints/best.ckpt"]
)
def test_a_test_is_named_after_its_run(folder_of, checkpoint):
    folder = Path(folder_of("task=test", f"checkpoint={checkpoint}"))
    assert folder.parent.name == "tests"
    assert folder.name.startswith("transformer-3-20")


def test_the_folder_of_a_refused_command_is_removed(tmp_path):
    assert in_process("task=evaluate", f"outputs={tmp_path}", "logger=none") == 2
    assert in_process("task=compare", "runs=[]", f"outputs={tmp_path}", "logger=none") == 2
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert list(tmp_path.glob("*/*")) == []


def test_a_folder_with_work_is_not_removed(tmp_path):
    hydra = tmp_path / "run" / ".hydra"
    hydra.mkdir(parents=True)
    (hydra / "config.yaml").write_text("")
    (tmp_path / "run" / "run.log").write_text("encoding the corpus")
    remove_unused(tmp_path / "run")
    assert hydra.is_dir()
    (tmp_path / "run" / "run.log").write_text("")
    remove_unused(tmp_path / "run")
    assert not hydra.is_dir()


@pytest.fixture(scope="module")
def space(tmp_path_factory) -> Path:
    space = tmp_path_factory.mktemp("again")
    inside(*RUN, *places(space))
    return space


def weights(space: Path) -> dict[Path, int]:
    return {file: file.stat().st_mtime_ns for file in space.rglob("best.ckpt")}


def test_a_finished_run_is_not_trained_again(space, capsys):
    before = weights(space)
    assert len(before) == 1
    inside(*RUN, *places(space), "cache_dir=elsewhere")
    assert "finished before" in capsys.readouterr().out
    assert weights(space) == before


def test_a_run_with_other_scoring_keeps_its_weights_and_is_tested_again(space):
    [weight] = weights(space)
    folder = weight.parent.parent
    made = (folder / "result.json").stat().st_mtime_ns
    before = weights(space)
    inside(*RUN, *places(space), f"hydra.run.dir={folder}", "decoding.max_extra=4")
    assert weights(space) == before
    assert (folder / "result.json").stat().st_mtime_ns != made
    inside(*RUN, *places(space), f"hydra.run.dir={folder}")  # as the tests below expect the run


@pytest.mark.long
def test_a_run_with_vectors_is_known_by_their_content(tmp_path, capsys):
    """The content of the corpus works in the same way."""
    file = tmp_path / "vectors.txt"
    command = [*RUN, *places(tmp_path), f"vectors.source={file}", "model.embedding_size=2"]
    for content, again in (("the 1 2", False), ("the 1 2", True), ("the 3 4", False)):
        file.write_text(content)
        inside(*command)
        output = capsys.readouterr().out
        assert ("finished before" in output) == again
    assert "is of a training with another vectors.source: this training starts over" in output


@pytest.mark.long
def test_a_run_that_another_process_is_at_work_on_is_waited_for(space, tmp_path):
    """The test is the other process: it ends with the result of an equal run."""
    [weight] = weights(space)
    folder = tmp_path / "run"
    given = [*RUN, *places(space), f"hydra.run.dir={folder}"]
    with locked(folder / ".lock"):
        process = subprocess.Popen(
            [sys.executable, "run.py", *given], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert any("waiting for another process" in line for line in process.stdout)
        held = shutil.ignore_patterns(".lock")
        shutil.copytree(weight.parent.parent, folder, dirs_exist_ok=True, ignore=held)
    output, _ = process.communicate(timeout=200)
    assert process.returncode == 0
    assert "finished before" in output


@pytest.mark.long
def test_a_multirun_does_what_is_missing(space):
    many = ["-m", *RUN, "seed=1,2", *places(space)]
    inside(*many)
    [sweep] = (space / "outputs" / "comparisons").iterdir()
    first = weights(sweep)
    assert len(first) == 2
    (sweep / "1" / "result.json").unlink()
    (sweep / "1" / "checkpoints" / "last.ckpt").unlink()
    inside(*many)
    assert [sweep] == list((space / "outputs" / "comparisons").iterdir())
    changed = {
        file.parent.parent.name for file, made in weights(sweep).items() if made != first[file]
    }
    assert changed == {"1"}
    assert (sweep / "report.html").is_file()
