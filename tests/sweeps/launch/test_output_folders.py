"""The same command returns to its folder and does only the missing work."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from datamodules.files import locked
from lightning_modules.runs import identity
from lightning_modules.runs.provenance import CodeVersions
from sweeps.launch import jobs
from sweeps.launch.compose import use_hydra_config
from sweeps.launch.folders import Before, CommandFolder, remove_traces
from sweeps.launch.jobs import combinations
from tests.helpers.commands import ROOT, TINY, in_process, inside, mistake, places, write

RUN = ["model=seq2seq", "logger=none", *TINY]
IN_TURN = "hydra/launcher=basic"  # jobs in this process: workers import for seconds


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
        (["claims=cho2014", "rungs=[9]"], r"laptop-cho2014-[0-9a-f]{8}"),
        (["claims=cho2014", "corpora=all"], r"laptop-cho2014-[0-9a-f]{8}"),
        (["claims=cho2014", "register=true", "roots.canlaw=DIR"], "laptop-cho2014"),
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


def test_no_other_folder_is_taken_for_that_of_a_command(folder_of):
    first = folder_of("model=seq2seq")
    stamp = "2026-01-31_12-00-00-000000"
    for end in ("", f"-test-{stamp}", "-mine", "0", f"-{stamp}-test", f"-{stamp[:-1]}x"):
        Path(f"{first}{end}").mkdir(parents=True)
    assert folder_of("model=seq2seq") == first
    Path(f"{first}-{stamp}").mkdir()
    assert folder_of("model=seq2seq") == f"{first}-{stamp}"


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


NO_TEXT = ["data=text", "data.source=en", "data.target=de", "data.root=/nowhere"]
REFUSED = [
    ["task=evaluate"],
    ["task=compare", "runs=[]"],
    ["optimizer.lr=many"],
    NO_TEXT,  # with a lock and a log
    ["-m", "seed=1,2", *NO_TEXT],
    ["-m", "seed=1,x"],
    ["-m", "seed=1,2", "hydra.sweep.subdir=same"],
    ["comparison=quickstart", "scoring.resamples=no"],
]


@pytest.mark.parametrize("given", REFUSED, ids=" ".join)
def test_a_refused_command_leaves_nothing(tmp_path, given):
    mistake(*given, f"outputs={tmp_path}/outputs", "logger=none")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("given", [["optimizer.lr=many"], NO_TEXT], ids=" ".join)
@pytest.mark.parametrize("names", [[], ["notes.txt", "run.log"]])
def test_a_refused_command_leaves_the_users_folder(tmp_path, given, names):
    for name in names:
        (tmp_path / name).write_text("mine")
    mistake(*given, f"hydra.run.dir={tmp_path}", "logger=none")
    assert sorted(path.name for path in tmp_path.iterdir()) == names


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ([], "result.json"),
        ([], "history.csv"),
        ([], "logs"),
        (["task=evaluate"], "report.html"),
        (["task=compare", "runs=."], "bleu_by_length.csv"),
    ],
)
def test_files_of_the_user_are_not_replaced(tmp_path, given, name):
    (tmp_path / name).write_text("mine")
    line = mistake(*given, f"hydra.run.dir={tmp_path}", "logger=none")
    assert f"{tmp_path}: holds {name}, which no command here has written; give another" in line
    assert ("force=true" in line) == (not given)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_files_of_the_user_stay_where_hydra_writes_nothing(tmp_path):
    (tmp_path / "history.csv").write_text("mine")
    given = [f"hydra.run.dir={tmp_path}", "hydra.output_subdir=null", "logger=none"]
    assert "holds history.csv, which no command here has written" in mistake(*given)
    assert [path.name for path in tmp_path.iterdir()] == ["history.csv"]


def test_many_jobs_are_said_to_be_checked(tmp_path, capsys):
    for count in (jobs.MANY_JOBS, jobs.MANY_JOBS + 1):
        given = ["-m", f"seed=range({count})", f"outputs={tmp_path}", "logger=none", *NO_TEXT]
        assert "/nowhere" in mistake(*given)
    assert capsys.readouterr().out == f"checking {count} jobs\n"


@pytest.mark.parametrize("given", [["seed=2"], ["seed=2", "force=true"], ["task=evaluate"]])
def test_a_folder_where_another_command_is_at_work_stays(tmp_path, given):
    """The test is the other command."""
    folder = tmp_path / "run"
    record = folder / ".hydra" / "config.yaml"
    record.parent.mkdir(parents=True)
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        record.write_text(OmegaConf.to_yaml(compose("config", ["seed=1"])))
    (folder / "history.csv").touch()
    with locked(folder / ".lock"):
        before = content_of(folder)
        line = mistake(*given, f"hydra.run.dir={folder}", "logger=none")
        assert f"{folder}: another command is at work there; give another folder" in line
        assert content_of(folder) == before


def test_a_refused_command_leaves_what_another_command_writes_meanwhile(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    before = Before(folder, set(), [folder], "run.log")
    with locked(folder / ".lock"):
        (folder / ".hydra").mkdir()
        monkeypatch.setattr(CommandFolder, "before", before)
        remove_traces()
        assert {path.name for path in folder.iterdir()} == {".hydra", ".lock"}
    monkeypatch.setattr(CommandFolder, "before", before)
    remove_traces()
    assert not folder.exists()


def test_a_page_of_the_user_is_not_replaced_by_several_jobs(tmp_path):
    (tmp_path / "report.html").write_text("mine")
    line = mistake("-m", "seed=1,2", f"hydra.sweep.dir={tmp_path}", "logger=none")
    assert "holds report.html, which no command here has written" in line
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize(
    "where",
    [
        *("outputs=/proc/x", "hydra.run.dir=/proc/x", "outputs=/dev/null", "outputs=FILE"),
        *("outputs=FILE/deeper", "outputs=LINK", f"variant={'x' * 300}", f"outputs={'x' * 300}"),
        *("hydra.run.dir=FILE", "hydra.run.dir=/sys/kernel/x"),
    ],
)
@pytest.mark.parametrize("several", [False, True])
def test_a_place_that_cannot_be_written_is_named(tmp_path, where, several):
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "link")
    given = where.replace("FILE", f"{tmp_path}/file").replace("LINK", f"{tmp_path}/link")
    if several:
        given = given.replace("hydra.run.dir", "hydra.sweep.dir")
        given = given.replace("variant", "comparison_name")
    lists = ["-m", "seed=1,2"] if several else []
    line = mistake(*lists, f"outputs={tmp_path}", given, "logger=none")
    assert "outputs=DIR" in line
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


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


def test_a_run_that_other_code_tested_keeps_its_weights_and_is_tested_again(space, monkeypatch):
    [weight] = weights(space)
    result = weight.parents[1] / "result.json"
    before, made = weights(space), result.stat().st_mtime_ns
    versions = identity.code_versions
    monkeypatch.setattr(
        identity, "code_versions", lambda config: versions(config)._replace(testing="another")
    )
    inside(*RUN, *places(space))
    assert weights(space) == before
    assert result.stat().st_mtime_ns != made


def content_of(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["seed=2"], "holds a finished run with another seed; give another folder"),
        (["decoding.max_extra=4"], "with another decoding.max_extra; give another folder"),
        (["optimizer.lr=many"], "with another optimizer.lr; give another folder"),
        (["keep_memory=maybe"], "keep_memory=maybe: give true or false"),
        (["task=test", "checkpoint=RUN"], "which task=test keeps; give another folder"),
        (["task=evaluate"], "holds a finished run, which this command keeps; give another"),
    ],
)
def test_a_finished_run_in_a_given_folder_stays(space, given, why):
    """Not even Hydra's record of the run is written anew."""
    [weight] = weights(space)
    folder = weight.parents[1]
    before = content_of(folder)
    given = [each.replace("RUN", str(folder)) for each in given]
    run = [] if given[0].startswith("task=") else RUN
    assert why in mistake(*run, *places(space), f"hydra.run.dir={folder}", *given)
    assert content_of(folder) == before


def test_a_finished_run_is_not_replaced_by_several_jobs(space):
    [weight] = weights(space)
    folder = weight.parents[1]
    before = content_of(folder.parent)
    many = ["-m", *RUN, *places(space), "seed=1,2"]
    assert "holds a finished run" in mistake(*many, f"hydra.sweep.dir={folder}")
    names = [f"hydra.sweep.dir={folder.parent}", f"hydra.sweep.subdir='{folder.name}${{seed}}'"]
    for seed in (1, 2):
        shutil.copytree(folder, folder.parent / f"{folder.name}{seed}")
    assert f"{folder}2: holds a finished run with another seed" in mistake(*many, *names)
    for seed in (1, 2):
        shutil.rmtree(folder.parent / f"{folder.name}{seed}")
    assert content_of(folder.parent) == before


@pytest.mark.long
def test_force_replaces_a_finished_run_in_a_given_folder(space, tmp_path):
    [weight] = weights(space)
    folder = tmp_path / "run"
    shutil.copytree(weight.parents[1], folder)
    there = [*RUN, *places(space), f"hydra.run.dir={folder}", "seed=2"]
    inside(*there, "force=true")
    assert json.loads((folder / "result.json").read_text())["seed"] == 2
    before = content_of(folder)
    inside(*there)
    changed = {file.name for file, content in content_of(folder).items() if content != before[file]}
    assert changed == {"run.log"}


@pytest.mark.long
@pytest.mark.usefixtures("quick_reports")
def test_jobs_lie_where_the_command_says(tmp_path):
    names = [f"hydra.sweep.dir={tmp_path}/jobs", "hydra.sweep.subdir='${variant}-${seed}'"]
    inside("-m", *RUN, *places(tmp_path), "seed=1,2", *names, IN_TURN)
    results = sorted((tmp_path / "jobs").glob("*/result.json"))
    assert [file.parent.name for file in results] == ["seq2seq-1", "seq2seq-2"]
    assert [json.loads(file.read_text())["seed"] for file in results] == [1, 2]
    runs = json.loads((tmp_path / "jobs" / "comparison.json").read_text())["runs"]
    assert [run["folder"] for run in runs] == ["seq2seq-1", "seq2seq-2"]


@pytest.mark.long
def test_a_run_with_vectors_is_known_by_their_content(tmp_path, capsys):
    """The content of the corpus works in the same way."""
    file = tmp_path / "vectors.txt"
    command = [*RUN, *places(tmp_path), f"vectors.source={file}", "model.embedding_size=2"]
    for again in (False, True):
        file.write_text("the 1 2")
        inside(*command)
        assert ("finished before" in capsys.readouterr().out) == again
    file.write_text("the 3 4")
    assert "holds a finished run with another vectors.source; give" in mistake(*command)


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
@pytest.mark.usefixtures("quick_reports")
def test_a_multirun_does_what_is_missing(space):
    many = ["-m", *RUN, "seed=1,2", *places(space), IN_TURN]
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


@pytest.mark.long
@pytest.mark.usefixtures("quick_reports")
def test_a_multirun_with_other_data_reports_no_old_results(tmp_path, capsys):
    text = tmp_path / "text"
    text.mkdir()
    lines = [f"the cat number {number} sees a dog" for number in range(60)]
    for part, chosen in {"train": lines[:40], "val": lines[40:50], "test": lines[50:]}.items():
        for language in ("en", "de"):
            write(text / f"{part}.{language}", chosen)
    folder = tmp_path / "jobs"
    given = ["-m", "seed=1,2", "model=seq2seq", "logger=none", "data=text", f"data.root={text}"]
    given += [IN_TURN]
    given += ["data.source=en", "data.target=de", *places(tmp_path), f"hydra.sweep.dir={folder}"]
    given += [each for each in TINY if not each.startswith("data.")]
    assert in_process(*given) == 0
    results = {file: file.read_bytes() for file in folder.glob("*/result.json")}
    assert len(results) == 2
    write(text / "train.en", lines[1:41])
    capsys.readouterr()
    assert in_process(*given) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: no run finished, so there is nothing to compare: ")
    assert error.count("holds a finished run with other data") == 2
    assert len(list(folder.glob("*/failure.json"))) == 2
    assert {file: file.read_bytes() for file in results} == results
    write(text / "train.en", lines[:40])
    assert in_process(*given) == 0
    assert list(folder.glob("*/failure.json")) == []
    assert {file: file.read_bytes() for file in results} == results


@pytest.mark.long
def test_a_run_without_hydras_record_is_not_trained_again(tmp_path, capsys):
    given = [*RUN, *places(tmp_path), f"hydra.run.dir={tmp_path}/run", "hydra.output_subdir=null"]
    inside(*given)
    assert not (tmp_path / "run" / ".hydra").exists()
    inside(*given)
    assert "finished before" in capsys.readouterr().out


def test_an_interpolation_of_a_job_is_that_of_the_job(tmp_path):
    """The command itself has no folder of a job, nor the settings of one."""
    HydraConfig.instance().cfg = None
    written = "+callbacks.own={dirpath: '${hydra:runtime.output_dir}/c'}"
    given = [f"outputs={tmp_path}", "label=${variant}-${seed}", "+hydra.sweeper.params.seed='1,2'"]
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        config = compose("config", [*given, written], return_hydra_config=True)
        first, second = combinations(config)
    read = [OverridesParser.create().parse_override(each) for each in first]
    values: dict[str, Any] = {override.key_or_group: override.value() for override in read}
    assert values["label"] == "${variant}-${seed}"
    assert str(values["callbacks.own"]["dirpath"]) == "${hydra:runtime.output_dir}/c"
    assert {*first} ^ {*second} == {"seed=1", "seed=2"}
