"""Learning rates of the systems of claims."""

import pytest

from lightning_modules.training.validations import Validation
from sweeps.claims.plan import (
    RATE,
    Choices,
    ClaimsPlan,
    FinishedRuns,
    Need,
    PlannedRun,
    Systems,
    plan_runs,
)
from sweeps.claims.tuning import (
    FACTORS,
    RateSearch,
    read_rates,
    trial_runs,
    tuned_systems,
    write_rates,
)
from tests.helpers.refusals import refused
from tests.helpers.run_folders import make_run, result
from tests.sweeps.claims.claim_runs import EN_FR, SYSTEMS, a_claim

SHARED = ["data.train_size=50"]
RUNGS = (1000, 2000)
ATTENTION, NONE = "tier=laptop model=bahdanau", "tier=laptop model=seq2seq"
RATES = {ATTENTION: 0.008, NONE: 0.005}


@pytest.fixture(scope="module")
def systems(hydra_of_conf):
    return Systems("laptop", SHARED)


def runs_of(systems, **choices):
    given = Choices(rungs=RUNGS, **choices)
    return plan_runs([a_claim()], {"paper.one": [EN_FR]}, systems, given)[0]


def overridden(runs, variant):
    return [
        next((each for each in run.overrides if each.startswith(RATE)), None)
        for run in runs
        if f"model={variant}" in run.overrides
    ]


def test_every_system_gets_the_same_trials_once(systems):
    other = a_claim(
        "other", systems={"x": SYSTEMS["none"]}, measure={"kind": "slope", "system": "x"}
    )
    on = {"paper.one": [EN_FR], "paper.other": [EN_FR]}
    rungs = dict.fromkeys(on, RUNGS)
    trials = trial_runs([a_claim(), other], on, rungs, systems)
    assert len(trials) == 2 * len(FACTORS)
    assert {run.overrides[-1] for run in trials} == {"seed=0"}
    assert {run.amount for run in trials} == {1000}  # the first rung
    assert overridden(trials, "bahdanau") == ["optimizer.lr=0.002", None, "optimizer.lr=0.008"]
    assert overridden(trials, "seq2seq") == ["optimizer.lr=0.0025", None, "optimizer.lr=0.01"]


def test_a_recorded_rate_is_that_of_all_seeds_and_rungs(systems):
    runs = runs_of(systems, rates=RATES)
    assert overridden(runs, "bahdanau") == ["optimizer.lr=0.008"] * 6
    alone = runs_of(Systems("laptop", [*SHARED, "optimizer.lr=0.008"]))
    identities = [run.identity for run in alone if "model=bahdanau" in run.overrides]
    assert [run.identity for run in runs if "model=bahdanau" in run.overrides] == identities


def test_the_rate_of_the_files_makes_the_same_runs(systems):
    """A tuned system whose own rate was best is not trained again."""
    untuned, tuned = runs_of(systems), runs_of(systems, rates=RATES)
    shared = {run.identity for run in untuned} & {run.identity for run in tuned}
    assert shared == {run.identity for run in untuned if "model=seq2seq" in run.overrides}


def trials_of(folder, system, bleu):
    """Finished trials of a system with these scores by rate, and with None a failed trial."""
    wanted = []
    for rate, score in bleu.items():
        place = folder / f"{system}-{rate}"
        need = Need("paper.one", "en-fr", 1000, system, 0)
        name = place.name
        run = PlannedRun(name, name, name, (), place, system, "target_tokens", 1000, [need])
        wanted.append(run)
        if score is not None:
            made = result("bahdanau", 0)
            make_run(
                place,
                seed=0,
                config=made["config"] | {"optimizer": {"lr": rate}},
                training=made["training"] | {"val_bleu": score, "val_loss": 2 - 10 * rate},
            )
    return wanted


def test_the_highest_validation_bleu_chooses_the_rate(tmp_path):
    wanted = [
        *trials_of(tmp_path, "attention", {2e-3: 11.0, 4e-3: 12.5, 8e-3: 12.0}),
        *trials_of(tmp_path, "none", {2.5e-3: 3.0, 5e-3: 2.0, 1e-2: None}),
    ]
    finished = {run.identity: run.folder for run in wanted if run.folder.is_dir()}
    claim, runs = a_claim(), FinishedRuns(finished, {})
    plan = ClaimsPlan("laptop", [claim], [], wanted, {claim.name: [EN_FR]}, {}, runs)
    tuned, missing = tuned_systems(plan)
    assert missing == [NONE]
    [attention] = tuned
    assert (attention.system, attention.rate, attention.at_the_edge) == (ATTENTION, 4e-3, False)
    assert RateSearch("x", {2e-3: Validation(2, 11), 4e-3: Validation(2, 13)}).at_the_edge
    tie = {2e-3: Validation(2.5, 0), 4e-3: Validation(2.1, 0), 8e-3: Validation(2.3, 0)}
    assert RateSearch("x", tie).rate == 4e-3
    write_rates(tuned, tmp_path / "rates.yaml")
    assert read_rates(tmp_path / "rates.yaml") == {ATTENTION: 4e-3}


@pytest.mark.parametrize(
    "content", ["[1, 2]", "{a: fast}", "{a: -1}", "{a: true}", "{a: .nan}", "{a: [", None]
)
def test_a_file_without_rates_is_refused_in_one_line(tmp_path, content):
    file = tmp_path / "rates.yaml"
    if content is not None:
        file.write_text(content)
    with refused("learning_rates="):
        read_rates(file)
