"""``sweep=``: a study from the command line, to its best settings trained again."""

import json
import re
import shlex
import zlib
from base64 import b64decode
from contextlib import nullcontext

import optuna
import pytest
from hydra import initialize_config_dir
from optuna.trial import TrialState

from lightning_modules.runs.paths import CONF
from sweeps.launch.resolvers import register
from sweeps.studies.plan import StudyPlan, check_plan, check_trials
from tests.helpers.commands import TINY, inside, mistake, places, succeed
from tests.helpers.refusals import refused
from tests.helpers.wandb_server import WandbServer
from tests.sweeps.studies.test_studies import sweep_of

STUDY = ["sweep=recurrent", "model=bahdanau", "decoding=greedy", *TINY]


@pytest.fixture(scope="module")
def output(space) -> str:
    """Run a tracked study of three trials by two workers; return the output."""
    quick = ["sweep.trials=3", "sweep.warmup_trials=1", "sweep.seeds=[1,2]"]
    return succeed(*STUDY, *quick, *places(space), HOME=str(space))


def study_in(space) -> optuna.Study:
    file = space / "outputs" / "studies" / "recurrent-bahdanau" / "study.db"
    return optuna.load_study(study_name="recurrent-bahdanau", storage=f"sqlite:///{file}")


@pytest.mark.long
def test_every_slot_is_tried_once(output, space):
    # A worker that comes too late for the last trial of the queue leaves one without a slot.
    trials = [trial for trial in study_in(space).trials if "slot" in trial.user_attrs]
    assert sorted(trial.user_attrs["slot"] for trial in trials) == [0, 1, 2]
    assert {trial.state for trial in trials} <= {TrialState.COMPLETE, TrialState.PRUNED}
    for trial in trials:
        if trial.state == TrialState.COMPLETE:
            assert len(trial.user_attrs["by_seed"]) == 2
            assert trial.user_attrs["cost"]["target_tokens"] > 2 * 2500
            assert trial.value == pytest.approx(sum(trial.user_attrs["by_seed"]) / 2)


@pytest.mark.long
def test_the_best_settings_score_the_same_once_more(output, space):
    command = re.findall(r"python run\.py (--config-dir .+)", output)[-1]
    again = [f"hydra.run.dir={space}/again", "logger=none", *places(space)]
    inside(*shlex.split(command), *again)
    result = json.loads((space / "again" / "result.json").read_text())
    finished = study_in(space).get_trials(states=(TrialState.COMPLETE,))
    # Of equal scores, the one of lowest loss is the best, not the first, as in Optuna.
    best = min(finished, key=lambda trial: (-(trial.value or 0.0), trial.user_attrs["loss"]))
    assert result["training"]["val_bleu"] == best.user_attrs["by_seed"][0]
    assert result["config"]["optimizer"]["lr"] == best.params["optimizer.lr"]


@pytest.mark.long
def test_the_test_set_is_left_alone(output, space):
    folder = space / "outputs" / "studies" / "recurrent-bahdanau"
    assert list(folder.rglob("trained.json"))
    assert not list(folder.rglob("result.json"))
    assert not list(folder.rglob("predictions.jsonl"))


@pytest.mark.long
def test_every_training_is_a_tracked_run_of_the_study(output, space):
    runs = list((space / "outputs" / "wandb").glob("offline-run-*/*.wandb"))
    trained = list((space / "outputs").rglob("seed-*/.hydra"))
    assert len(runs) == len(trained)
    kept = b"".join(run.read_bytes() for run in runs)
    assert b"recurrent-bahdanau-0-1" in kept
    assert b"trial/bleu" in kept


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["+sweep.space.model.width={type: int, low: 1, high: 2}"], "sweep.space.model"),
        (
            ["+sweep.space={optimizer.rate: {type: float, low: 0.1, high: 1.0}}"],
            "sweep.space.optimizer.rate: optimizer.rate: no such setting",
        ),
        (
            ["sweep.space={optimizer: {type: categorical, choices: [adam, sgdd]}}"],
            "sweep.space.optimizer: ",
        ),
        (
            ["sweep.space={label_smoothing: {type: float, low: 1.0, high: 0.5}}"],
            "nothing to choose",
        ),
        (
            ["sweep.space={label_smoothing: {type: categorical, choices: [1.5, 2.0]}}"],
            "sweep.space: none of 20 settings drawn from it can be trained, such as label_smoothin",
        ),
        (["sweep.space={model.cell: {type: categorical, choices: [none]}}"], "model.cell=none: "),
        (
            ["sweep.storage=postgresql://me:planted@127.0.0.1:9/x"],
            "sweep.storage=postgresql://me:***",
        ),
    ],
)
def test_mistakes_are_told_before_anything_is_trained(space, arguments, message):
    line = mistake(*STUDY, *arguments, f"outputs={space}/wrong", f"cache_dir={space}/cache")
    assert message in line
    assert "planted" not in line
    assert not list((space / "wrong").rglob("seed-*"))


def test_a_text_that_no_trial_could_score_is_told_before_the_first(tmp_path):
    text = tmp_path / "text"
    text.mkdir()
    for split in ("train", "val", "test"):
        lines = [f"word {'so ' * number}" for number in range(20)]
        (text / f"{split}.en").write_text("\n".join(lines) + "\n", encoding="utf-8")
        words = "今天女人看见一只大狗在河边吃东西\n" if split == "val" else "a b c\n"
        (text / f"{split}.zh").write_text(words * 20, encoding="utf-8")
    data = ["data=text", f"data.root={text}", "data.source=en", "data.target=zh"]
    study = ["sweep=recurrent", "model=bahdanau", "scoring.tokenize.target=13a", "logger=none"]
    line = mistake(*study, *data, *places(tmp_path))
    assert "data=text, val, zh is written without spaces" in line
    assert "give scoring.tokenize.target=zh" in line
    assert not (tmp_path / "outputs").exists()


@pytest.mark.exhaustive
@pytest.mark.long
def test_tuned_variants_are_compared_on_fresh_seeds(space):
    """Two variants, two trials each, and one report of both."""
    left_out = [f"~tuned.variants.{name}" for name in ("luong_local", "luong_global", "bahdanau")]
    quick = ["sweep.trials=2", "tuned.seeds=[11,12]", *TINY]
    succeed("comparison=tuned", *left_out, *quick, *places(space), "logger=none")
    folder = space / "outputs" / "comparisons" / "tuned"
    comparison = json.loads((folder / "comparison.json").read_text())
    runs = [(run["label"], run["seed"]) for run in comparison["runs"]]
    assert runs == [("seq2seq", 11), ("seq2seq", 12), ("transformer", 11), ("transformer", 12)]
    [tuning] = [each for each in comparison["conditions"] if each["name"] == "tuning"]
    assert tuning["holds"]
    assert tuning["text"].startswith("2 trials, ")
    best = json.loads((folder / "tables" / "studies.json").read_text())["rows"]
    assert [row["study"] for row in best] == ["tuned-transformer", "tuned-seq2seq"]
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "What it is expected to find" in page
    [letters] = re.findall(r'id="figures">"(.+?)"<', page)
    figures = json.loads(zlib.decompress(b64decode(letters)))
    for study in ("tuned-transformer", "tuned-seq2seq"):
        assert f'data-figure="{study}-slices"' in page
        assert figures[f"{study}-slices"]["$schema"]
    # Once more, there is nothing left to train; tracked this time.
    before = {file: file.stat().st_mtime_ns for file in folder.rglob("*.ckpt")}
    again = ["comparison=tuned", *left_out, *quick, *places(space), "logger=wandb"]
    with WandbServer() as server:
        succeed(*again, "logger.finish_seconds=60", HOME=str(space), **server.environment)
    assert {file: file.stat().st_mtime_ns for file in folder.rglob("*.ckpt")} == before
    [published] = server.reports.values()
    report = published["spec"]
    assert report.count('"Parallel Coordinates Plot"') == 2
    assert report.count('"Parameter Importance"') == 2
    for key in ("config:optimizer.value.lr", "summary:trial/bleu"):
        assert key in report
    assert '"tuned-transformer"' in report


@pytest.mark.exhaustive
@pytest.mark.long
def test_a_trial_of_two_ranks_is_pruned_on_both(tmp_path):
    good = "{optimizer.lr: 0.01, label_smoothing: 0.0, model.dropout: 0.0}"
    bad = "{optimizer.lr: 0.0003, label_smoothing: 0.2, model.dropout: 0.4}"
    study = ["sweep=recurrent", "sweep.name=ranks", "sweep.trials=2", "sweep.workers=1"]
    study += ["sweep.warmup_trials=1", "sweep.objectives=[loss]", f"sweep.known=[{good},{bad}]"]
    succeed(*study, "trainer=ddp_cpu", *TINY, *places(tmp_path), "logger=none")
    file = tmp_path / "outputs" / "studies" / "ranks" / "study.db"
    first, second = optuna.load_study(study_name="ranks", storage=f"sqlite:///{file}").trials
    assert (first.state, second.state) == (TrialState.COMPLETE, TrialState.PRUNED)
    tokens = [trial.user_attrs["cost"]["target_tokens"] for trial in (first, second)]
    assert tokens[0] > tokens[1] > 0


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("model.dropout=0.2", "model.dropout"),
        ("+model.attention.heads=2", "+model.attention.heads"),
    ],
)
def test_a_value_that_the_study_searches_is_refused(tmp_path, given, name):
    """Each trial would replace it."""
    sweep = sweep_of(space={name: {"type": "categorical", "choices": [1, 2]}})
    plan = StudyPlan("bahdanau", sweep, ["model=bahdanau", given], "version", tmp_path, ())
    with refused(f"{given}: {sweep.name} searches its value; leave it out, or give '~sweep.space."):
        check_plan(plan)


@pytest.mark.parametrize(("values", "fits"), [([5, 7, 11, 8], True), ([5, 7, 11], False)])
def test_a_space_is_refused_unless_a_part_of_it_fits_together(tmp_path, values, fits):
    sweep = sweep_of(space={"model.heads": {"type": "categorical", "choices": values}})
    plan = StudyPlan("transformer", sweep, ["model=transformer"], "version", tmp_path, ())
    register()
    told = nullcontext() if fits else refused("sweep.space", "must divide model.width=")
    with initialize_config_dir(str(CONF), version_base="1.3"), told:
        check_trials(plan)
