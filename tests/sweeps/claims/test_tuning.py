"""Learning rates of claims: equally many trials of every system, and the best of each."""

import pytest
import yaml

from datamodules.errors import UserError
from sweeps.claims.claim import all_claims
from sweeps.claims.plan import Plan
from sweeps.claims.planned_runs import RATE, Need, PlannedRun, Systems, key_of_system, plan_runs
from sweeps.claims.selection import FACTORS, read_rates, trial_runs, tuned_systems, write_rates
from tests.helpers.commands import ROOT
from tests.helpers.run_folders import make_run, result
from tests.sweeps.claims.claim_runs import SYSTEMS, a_claim

SHORT = ["budget.target_tokens=1000", "data.train_size=50"]
ATTENTION, NONE = "tier=laptop model=bahdanau", "tier=laptop model=seq2seq"


@pytest.fixture(scope="module")
def systems(hydra_of_conf):
    return Systems("laptop", SHORT)


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
    trials = trial_runs([a_claim(), other], systems)
    assert len(trials) == 2 * len(FACTORS)
    assert {run.overrides[-1] for run in trials} == {"seed=0"}
    assert overridden(trials, "bahdanau") == ["optimizer.lr=0.002", None, "optimizer.lr=0.008"]
    assert overridden(trials, "seq2seq") == ["optimizer.lr=0.0025", None, "optimizer.lr=0.01"]


def test_a_recorded_rate_is_that_of_all_seeds(systems):
    runs = plan_runs([a_claim()], systems, rates={ATTENTION: 0.008, NONE: 0.005})
    assert overridden(runs, "bahdanau") == ["optimizer.lr=0.008"] * 3
    alone = plan_runs([a_claim()], Systems("laptop", [*SHORT, "optimizer.lr=0.008"]))
    identities = [run.identity for run in alone if "model=bahdanau" in run.overrides]
    assert [run.identity for run in runs if "model=bahdanau" in run.overrides] == identities


def test_the_rate_of_the_files_makes_the_same_runs(systems):
    """A tuned system whose own rate was best is not trained again."""
    untuned = plan_runs([a_claim()], systems)
    tuned = plan_runs([a_claim()], systems, rates={ATTENTION: 0.008, NONE: 0.005})
    shared = {run.identity for run in untuned} & {run.identity for run in tuned}
    assert shared == {run.identity for run in untuned if "model=seq2seq" in run.overrides}


def trials_of(folder, system, bleu):
    """Finished trials of a system with these scores by rate, and with None a failed trial."""
    wanted = []
    for rate, score in bleu.items():
        place = folder / f"{system}-{rate}"
        need = Need("paper.one", system, 0)
        wanted.append(PlannedRun(place.name, place.name, (), place, system, {}, [need]))
        if score is not None:
            made = result("bahdanau", 0)
            make_run(
                place,
                seed=0,
                config=made["config"] | {"optimizer": {"lr": rate}},
                training=made["training"] | {"val_bleu": score},
            )
    return wanted


def test_the_highest_validation_bleu_chooses_the_rate(tmp_path):
    wanted = [
        *trials_of(tmp_path, "attention", {2e-3: 11.0, 4e-3: 12.5, 8e-3: 12.0}),
        *trials_of(tmp_path, "none", {2.5e-3: 3.0, 5e-3: 2.0, 1e-2: None}),
    ]
    finished = {run.identity: run.folder for run in wanted if run.folder.is_dir()}
    tuned, missing = tuned_systems(Plan([a_claim()], [], wanted, finished, {}), "laptop")
    assert missing == [NONE]
    [attention] = tuned
    assert (attention.system, attention.rate, attention.at_the_edge) == (ATTENTION, 4e-3, False)
    write_rates(tuned, tmp_path / "rates.yaml")
    assert read_rates(tmp_path / "rates.yaml") == {ATTENTION: 4e-3}


def test_a_best_rate_beyond_which_none_was_tried_is_at_the_edge(tmp_path):
    wanted = trials_of(tmp_path, "attention", {2e-3: 11.0, 4e-3: 12.5, 8e-3: 13.0})
    finished = {run.identity: run.folder for run in wanted}
    [attention], _ = tuned_systems(Plan([a_claim()], [], wanted, finished, {}), "laptop")
    assert attention.at_the_edge


def test_the_recorded_rates_are_those_of_every_system_of_the_tier():
    """After a change of a claim's systems: claims=all tier=laptop tune=true."""
    systems = {
        key_of_system(claim, system, "laptop")
        for claim in all_claims().values()
        if claim.why_not("laptop") is None
        for system in claim.systems
    }
    assert read_rates(ROOT / "docs" / "learning_rates_laptop.yaml").keys() == systems


@pytest.mark.parametrize(
    "content",
    [
        "[1, 2]",
        "{a: fast}",
        "{a: -1}",
        "{a: true}",
        "{a: .nan}",
        "{a: .inf}",
        "{a: [",
        b"\xe4",
        None,
    ],
)
def test_a_file_without_rates_is_refused_in_one_line(tmp_path, content):
    file = tmp_path / "rates.yaml"
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UserError, match="learning_rates=") as error:
        read_rates(file)
    assert "\n" not in str(error.value)


def test_the_file_is_yaml_of_plain_numbers(tmp_path):
    write_rates([], tmp_path / "none.yaml")
    assert yaml.safe_load((tmp_path / "none.yaml").read_text()) == {}
