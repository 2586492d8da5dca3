"""Tasks that use a trained run start from its own settings: data, tokenizer, decoding, scoring."""

import json
import pickle
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import torch

from lightning_modules.runs.files import read_predictions, read_result
from lightning_modules.runs.paths import checkpoint_file
from lightning_modules.runs.schema import Result
from lightning_modules.runs.settings import is_read_by
from lightning_modules.tasks.score import OF_THE_TEST, OF_THE_TEXT
from sweeps.launch import run_record
from sweeps.launch.run_record import GROUPS, VALUES
from tests.helpers.commands import ROOT, in_process, inside, mistake, places, write

SOURCE = [
    f"the {colour} {thing} is {place}"
    for colour in ("red", "blue", "small", "old")
    for thing in ("cat", "boat", "lamp", "chair")
    for place in ("here", "there", "away")
]
TARGET = [" ".join(reversed(line.split())) for line in SOURCE]
SETTINGS = [
    *("data=text", "data.source=en", "data.target=xx", "tokenizer=characters"),
    *("decoding=greedy", "decoding.max_extra=3", "scoring.metrics=[bleu,exact]"),
    *("scoring.unit=source_tokens", "batching.max_tokens=600", "val_sentences=6"),
    *("budget.target_tokens=2500", "trainer.val_check_interval=4", "scale=0.25", "logger=none"),
    "report.run_page=null",
]


def write_text(root: Path) -> Path:
    root.mkdir(parents=True)
    rows = {"train": slice(0, 32), "val": slice(32, 40), "test": slice(40, 48)}
    for split, part in rows.items():
        write(root / f"{split}.en", SOURCE[part])
        write(root / f"{split}.xx", TARGET[part])
    return root


@pytest.fixture(scope="module")
def trained(space):
    root = write_text(space / "text")
    inside(*SETTINGS, f"data.root={root}", *places(space), f"hydra.run.dir={space}/trained")
    return space / "trained"


def retest(trained: Path, folder: Path, *given: str) -> Result:
    place = [f"cache_dir={trained.parent}/cache", f"hydra.run.dir={folder}"]
    inside("task=test", f"checkpoint={trained}", *place, *given)
    result = read_result(folder)
    assert result is not None
    return result


def test_the_checkpoint_alone_repeats_the_test(trained, tmp_path):
    before, result = read_result(trained), retest(trained, tmp_path / "again")
    assert before is not None
    assert read_predictions(tmp_path / "again") == read_predictions(trained)
    for part in ("scores", "intervals", "overrides", "data", "training", "variant"):
        assert getattr(result, part) == getattr(before, part)
    assert result.config["test_sets"] is None
    same = before.config.keys() - {"model"}  # whose parts may lie on devices of that machine
    assert {key: result.config[key] for key in same} == {key: before.config[key] for key in same}


@pytest.mark.parametrize(
    ("given", "search", "wanted"),
    [
        (["decoding.max_extra=1"], "GreedySearch", {"max_extra": 1, "max_ratio": 1.5}),
        (["decoding=beam", "decoding.beam_size=2"], "BeamSearch", {"beam_size": 2}),
        (["scoring.resamples=100"], "GreedySearch", {"max_extra": 3}),
    ],
)
def test_what_the_command_gives_wins(trained, tmp_path, given, search, wanted):
    result = retest(trained, tmp_path / "again", *given)
    assert result.decoding["search"] == search
    assert wanted.items() <= result.decoding.items()
    assert result.config["scoring"]["unit"] == "source_tokens"
    assert set(given) < set(result.overrides)
    assert ("decoding=greedy" in result.overrides) == (search == "GreedySearch")


def test_a_setting_of_another_search_names_the_search(trained):
    line = mistake("task=test", f"checkpoint={trained}", "decoding.beam_size=5")
    assert (
        line
        == "error: decoding.beam_size: no such setting; choose decoding=beam or decoding=diverse"
    )


@pytest.mark.parametrize("given", ["model=transformer", "model.dropout=0.5", "optimizer.lr=1"])
@pytest.mark.parametrize("task", ["test", "translate", "align", "contrast", "explore"])
def test_what_cannot_change_any_more_is_refused(trained, tmp_path, task, given):
    key = given.partition("=")[0]
    line = mistake(f"task={task}", f"checkpoint={trained}", given, f"outputs={tmp_path}")
    assert f"{given}: task={task} does not read {key}" in line


@pytest.mark.usefixtures("quick_reports")
def test_each_job_of_a_list_of_runs_starts_from_its_own_run(trained, space, tmp_path):
    beam = [*SETTINGS, "decoding=beam", "decoding.beam_size=2", "seed=2"]
    beam.remove("decoding=greedy")
    root = f"data.root={space}/text"
    inside(*beam, root, *places(space), f"hydra.run.dir={tmp_path}/beam")
    inside(
        "-m", "task=test", f"checkpoint={trained},{tmp_path}/beam", "logger=none", *places(space),
        f"hydra.sweep.dir={tmp_path}/both", "hydra/launcher=basic",
        "scoring.resamples=100",
    )  # fmt: skip
    results = [read_result(tmp_path / "both" / job) for job in "01"]
    assert [result and result.decoding["search"] for result in results] == [
        "GreedySearch", "BeamSearch",
    ]  # fmt: skip
    assert [result and result.seed for result in results] == [1, 2]


def test_the_same_text_elsewhere_is_the_same(trained, tmp_path):
    shutil.copytree(trained.parent / "text", tmp_path / "moved")
    result = retest(trained, tmp_path / "again", f"data.root={tmp_path}/moved")
    before = read_result(trained)
    assert before is not None
    assert result.data == before.data
    assert result.overrides == before.overrides


def test_text_of_another_training_is_refused_before_it_is_encoded(trained, tmp_path):
    given = ["data=grammar_tiny", f"cache_dir={tmp_path}/cache", f"outputs={tmp_path}/outputs"]
    line = mistake("task=test", f"checkpoint={trained}", *given)
    assert "was trained on text (" in line
    assert "another test set is test_sets=[NAME]" in line
    assert not list(tmp_path.glob("cache/*"))


def test_another_test_set_needs_no_training_text(trained, tmp_path):
    source, target = SOURCE[:5], TARGET[:5]
    write(tmp_path / "talks.en", source)
    write(tmp_path / "talks.xx", target)
    given = [f"test_sets=[{tmp_path}/talks]", f"cache_dir={tmp_path}/cache"]
    shutil.move(trained.parent / "text", tmp_path / "gone")
    try:
        result = retest(trained, tmp_path / "other", *given)
        named = retest(trained, tmp_path / "named", f"test_sets={tmp_path}/talks.xx", *given[1:])
    finally:
        shutil.move(tmp_path / "gone", trained.parent / "text")
    predictions = read_predictions(tmp_path / "other")
    assert [each.source for each in predictions] == source
    assert [each.reference for each in predictions] == target
    assert result.data.test_sets == ["talks"]
    assert result.data.pairs == {"train": 32, "val": 8, "test": 5}
    before = read_result(trained)
    assert before is not None
    assert result.data.fingerprint not in (None, before.data.fingerprint)
    assert result.data.fingerprint == named.data.fingerprint
    assert given[0] in result.overrides
    assert not list(tmp_path.glob("cache/text-*"))


def test_sets_of_one_name_are_named_with_their_folders(trained, tmp_path):
    for number, folder in enumerate(("talks", "news")):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / "test.en", SOURCE[number : number + 2])
        write(tmp_path / folder / "test.xx", TARGET[number : number + 2])
    sets = f"test_sets=[{tmp_path}/talks/test,{tmp_path}/news/test]"
    result = retest(trained, tmp_path / "other", sets)
    assert result.data.test_sets == ["talks-test", "news-test"]
    twice = f"test_sets=[{tmp_path}/news/test,{tmp_path}/news/test]"
    line = mistake("task=test", f"checkpoint={trained}", twice, f"outputs={tmp_path}/outputs")
    assert line == "error: test_sets: the test set news-test is given twice"


def test_what_a_test_may_change_starts_from_the_record():
    changed = {*OF_THE_TEST, *OF_THE_TEXT}
    assert changed - {"test_sets"} == {*GROUPS, *VALUES} - {"seed"}
    read = changed - {"seeds"} | {"seeds.decoding"}
    assert all(is_read_by(key, "test") for key in read)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("test_sets=[]", "names no test set"),
        ("test_sets=[nothing]", "no test set nothing, neither as files nor in sacreBLEU"),
        ("test_sets=[wmt14]", "wmt14 is not there for en-xx"),
    ],
)
def test_a_test_set_that_cannot_be(trained, tmp_path, given, words):
    line = mistake("task=test", f"checkpoint={trained}", given, f"outputs={tmp_path}/outputs")
    assert words in line
    assert line.startswith(f"error: {given.partition('=')[0]}")


@pytest.mark.parametrize(
    ("task", "given", "words"),
    [
        ("test", ["test_sets=/nowhere/talks"], "no test set /nowhere/talks"),
        ("contrast", [], "pairs=null: text writes no contrastive pairs; give pairs=FILE"),
    ],
)
def test_text_that_is_missing_is_refused_before_torch_is_imported(
    trained, tmp_path, task, given, words
):
    program = (
        "import sys, run; from sweeps.launch.errors import run_main\n"
        "try: run_main(run.program)\n"
        "finally: print(*{'torch', 'scipy'} & sys.modules.keys())"
    )
    arguments = [f"task={task}", f"checkpoint={trained}", *given, f"outputs={tmp_path}/outputs"]
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stdout == "\n"
    assert not (tmp_path / "outputs").exists()


def test_settings_are_read_as_torch_reads_them(trained):
    file = checkpoint_file(trained)
    whole = torch.load(file, weights_only=True)["hyper_parameters"]
    run_record._relocate(whole["data"], whole["cache_dir"])
    assert run_record._recorded(file) == whole


def test_a_hostile_checkpoint_starts_nothing(tmp_path):
    class Hostile:
        def __reduce__(self):
            return Path.touch, (tmp_path / "touched",)

    with zipfile.ZipFile(tmp_path / "run.ckpt", "w") as archive:
        archive.writestr("run/data.pkl", pickle.dumps({"hyper_parameters": Hostile()}))
    assert run_record._recorded(tmp_path / "run.ckpt") == {}
    assert not (tmp_path / "touched").exists()


def test_a_missing_checkpoint_is_refused_before_anything_is_composed(tmp_path):
    for task in ("test", "translate", "align", "contrast", "explore"):
        line = mistake(f"task={task}", f"checkpoint={tmp_path}/none", f"outputs={tmp_path}/out")
        assert "does not exist; give the folder of a finished run" in line
    assert not (tmp_path / "out").exists()


def test_a_training_that_has_not_ended_is_translated_with_but_not_tested(trained, tmp_path, capsys):
    run = shutil.copytree(trained, tmp_path / "run")
    (run / "result.json").unlink()
    for runs in (["task=test", f"checkpoint={run}"],
                 ["-m", "task=test", f"checkpoint={trained},{run}", "logger=none"]):  # fmt: skip
        line = mistake(*runs, f"outputs={tmp_path}/outputs")
        assert f"checkpoint={run}: its training has not ended" in line
        assert "give the training command again" in line
    assert not (tmp_path / "outputs").exists()
    source = write(tmp_path / "in", SOURCE[:2])
    inside("task=translate", f"checkpoint={run}", f"input={source}", f"output={tmp_path}/out")
    assert f"checkpoint={run}: its training has not ended" in capsys.readouterr().err


def test_the_record_of_a_run_is_no_choice(trained):
    line = mistake("task=test", f"checkpoint={trained}", "decoding=zzz")
    choices = "beam, diverse, greedy, mbr, mbr_n_best, sampling"
    assert line.endswith(f"decoding=zzz: no such choice; give one of {choices}")


def test_options_of_hydra_with_a_value_stand_before_the_overrides(trained, tmp_path, capsys):
    given = [f"--config-dir={tmp_path}", "--cfg=job", "task=test", f"checkpoint={trained}"]
    assert in_process(*given) == 0
    assert "GreedySearch" in capsys.readouterr().out


def test_cfg_job_shows_the_settings_of_the_run(trained, capsys):
    assert in_process("--cfg", "job", "task=test", f"checkpoint={trained}") == 0
    shown = capsys.readouterr().out
    assert "GreedySearch" in shown
    assert json.dumps(str(trained.parent / "text"))[1:-1] in shown
