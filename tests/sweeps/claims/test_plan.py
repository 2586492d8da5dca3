"""Plans: runs once, those that exist, time, and the chance of a verdict."""

from dataclasses import replace

import numpy as np
import pytest

from lightning_modules.runs.provenance import environment
from lightning_modules.training.validations import Validation
from sweeps.claims.claim import TIERS, all_claims
from sweeps.claims.forecast import assume_spread, plan_table, prospects
from sweeps.claims.intervals import pair_spread
from sweeps.claims.plan import (
    RATE,
    TESTED,
    ClaimsPlan,
    FinishedRuns,
    Need,
    PlannedRun,
    Systems,
    job_time,
    key_of_system,
    plan_runs,
    speeds_of,
)
from sweeps.tasks.claims import (
    FACTORS,
    RateSearch,
    read_rates,
    trial_runs,
    tuned_systems,
    write_rates,
)
from tests.helpers.commands import ROOT
from tests.helpers.refusals import refused
from tests.helpers.run_folders import make_run, result
from tests.sweeps.claims.claim_runs import SYSTEMS, WORKLOAD, a_claim, plan_of

HERE, UNMADE = environment(), FinishedRuns({}, {})
SHARED = ["budget.target_tokens=1000", "data.train_size=50"]


@pytest.fixture(scope="module")
def wanted(hydra_of_conf):
    other = a_claim(
        "other",
        systems={"without": SYSTEMS["none"]},
        measure={"kind": "slope", "system": "without"},
    )
    return plan_runs([a_claim(), other], Systems("laptop", SHARED))


def test_claims_share_runs(wanted):
    assert len(wanted) == 6  # two systems with three seeds
    assert len({run.identity for run in wanted}) == len({run.folder for run in wanted}) == 6
    needs = {need.claim for run in wanted for need in run.needs if "model=seq2seq" in run.overrides}
    assert needs == {"paper.one", "paper.other"}
    assert {run.overrides[-1] for run in wanted} == {"seed=1", "seed=2", "seed=3"}
    assert all(run.budget == {"target_tokens": 1000} for run in wanted)


def test_other_seeds_replace_those_of_the_file(hydra_of_conf):
    runs = plan_runs([a_claim()], Systems("laptop", SHARED), seeds=range(1, 6))
    assert sorted(run.overrides[-1] for run in runs if "model=bahdanau" in run.overrides) == [
        f"seed={seed}" for seed in range(1, 6)
    ]


def with_none(*overrides):
    return a_claim(systems=SYSTEMS | {"none": [*overrides]})


def of_agreement(category):
    measure = {"kind": "agreement", "more": "attention", "less": "none", "category": category}
    return a_claim(measure=measure)


UNDROPPED = with_none("model=bahdanau", "model.dropout=0.0")


@pytest.mark.parametrize(
    ("claim", "shared", "message"),
    [
        (with_none("model=seq2seq", "+budget.flops=1e9"), [], ", system none: budget"),  # two kinds
        (
            with_none("model=luong_global", "model.encoder.bidirectional=false"),
            [],
            ", system none: model.",  # sizes that do not fit
        ),
        (of_agreement("number"), [], ": kind agreement needs scoring.contrastive=true"),
        (of_agreement("plural"), ["scoring.contrastive=true"], ": category=plural: give one of "),
        (UNDROPPED, [], ": its systems attention and none are the same run;"),
        (UNDROPPED, ["model=luong_global"], "leave model=luong_global out"),
        (UNDROPPED, ["data=multi30k"], "leave data=multi30k out"),
        (UNDROPPED, ["model.dropout=0.5"], "leave model.dropout=0.5 out"),
    ],
)
def test_a_plan_that_cannot_be_trained_is_refused(hydra_of_conf, claim, shared, message):
    with refused("claim paper.one", message):
        plan_runs([claim], Systems("laptop", shared))


@pytest.mark.long
@pytest.mark.parametrize("tier", TIERS)
def test_every_claim_has_systems_that_can_be_trained_and_differ(hydra_of_conf, tier):
    runnable = [claim for claim in all_claims().values() if claim.why_not(tier) is None]
    given = ["data.root=here"] if tier == "bench" else []
    for run in plan_runs(runnable, Systems(tier, given)):
        assert len(run.budget) == 1


def test_time_follows_from_the_rates_of_finished_runs(tmp_path):
    plan = plan_of(tmp_path, a_claim(), environment=HERE)  # 1,500,000 target tokens in 63.2 seconds
    rates = speeds_of(plan.finished.runs)
    assert rates == {(WORKLOAD, "target_tokens"): pytest.approx(1_500_000 / 63.2),
                     (WORKLOAD, "updates"): pytest.approx(1200 / 63.2),
                     (WORKLOAD, "seconds"): 1.0}  # fmt: skip
    assert plan.missing == []
    missing = replace(plan, finished=UNMADE).missing
    assert len(missing) == 6
    needed = job_time(missing, rates)
    assert needed.unknown == 0
    twice = [run._replace(budget={"target_tokens": 2000}) for run in missing]
    assert job_time(twice, rates).seconds == pytest.approx(2 * needed.seconds)
    assert job_time(missing, {}) == (0.0, 6)
    assert job_time([twice[0]._replace(budget={"own": 1})], rates) == (0.0, 1)


def test_runs_that_differ_in_their_search_are_one_training(hydra_of_conf):
    searches = {name: ["model=bahdanau", f"decoding={name}"] for name in ("greedy", "beam")}
    claim = a_claim(
        systems=searches, measure={"kind": "difference", "more": "beam", "less": "greedy"}
    )
    plan = ClaimsPlan([claim], [], plan_runs([claim], Systems("laptop", SHARED)), UNMADE)
    assert len({run.identity for run in plan.runs}) == 6
    assert [[run.overrides[-1] for run in runs] for runs in plan.missing_by_training] == [
        [f"seed={seed}"] * 2 for seed in (1, 2, 3)
    ]
    rates = {(run.workload, "target_tokens"): 100.0 for run in plan.runs}
    alone = job_time(plan.runs[:3], rates).seconds  # one search
    assert alone == pytest.approx(3 * TESTED * 1000 / 100)
    assert job_time(plan.runs, rates).seconds == pytest.approx(alone + 3 * (TESTED - 1) * 10)
    trained = [run.training for run in plan.runs]
    assert job_time(plan.runs, rates, trained).seconds == pytest.approx(6 * (TESTED - 1) * 10)
    assert len(trial_runs([claim], Systems("laptop", SHARED))) == len(FACTORS)


def test_a_rate_is_of_this_machine(tmp_path):
    elsewhere = HERE | {"device": "another GPU"}
    assert speeds_of(plan_of(tmp_path, a_claim(), environment=elsewhere).finished.runs) == {}


@pytest.mark.parametrize(
    "changed",
    ["model.encoder.hidden_size=200", "tokenizer.vocabulary_size=500", "batching.max_tokens=4000"],
)
def test_a_rate_is_not_that_of_another_size(hydra_of_conf, changed):
    """A finished run of a small model says nothing of the hours of a large one."""
    claim = a_claim(systems=SYSTEMS | {"none": ["model=seq2seq", "label_smoothing=0"]})
    runs, others = (
        plan_runs([claim], Systems("laptop", [*SHARED, *more]), [1]) for more in ([], [changed])
    )
    rates = {(run.workload, "target_tokens"): 100.0 for run in runs}
    alike = plan_runs([a_claim()], Systems("laptop", [*SHARED, "model.dropout=0.1"]), [1])
    assert job_time(alike, rates) == (pytest.approx(TESTED * 2 * 1000 / 100), 0)
    assert job_time(others, rates) == (0.0, 2)
    assert job_time([*alike, *others], rates).text(2) == "≥ 13 s"
    assert job_time(others, rates).text() == "unknown"


def test_the_table_has_a_row_for_every_claim(tmp_path):
    plan = plan_of(tmp_path, a_claim(), a_claim("two"), made=False)
    table = plan_table(plan, prospects(plan), 2)
    assert table.row_count == 2
    assert "claims: 2, runs: 6, missing: 6; job time unknown with 2 at a time" in str(table.title)
    assert list(table.columns[0].cells) == ["paper.one", "paper.two"]


def test_the_promised_seeds_decide_with_80_percent(tmp_path):
    def prospect(seeds, **changes):
        plan = plan_of(tmp_path, a_claim(**changes), seeds=range(seeds), made=False)
        return prospects(plan)["paper.one"]

    assert prospect(2).chance == "never with 2"
    promised = int(prospect(3).seeds)
    assert int(prospect(promised).chance.rstrip("%")) >= 80
    assert int(prospect(promised - 1).chance.rstrip("%")) < 83  # the promise has some room
    values = {"attention": 2.0, "none": 1.0}  # published: an effect at the margin is never decided
    published = {"unit": "BLEU", "flavour": "sacrebleu", "data": "a corpus", "values": values}
    assert prospect(3, published=published).seeds == "> 100"


@pytest.mark.parametrize(
    "measure",
    [
        {"kind": "difference", "more": "attention", "less": "none"},
        {"kind": "level", "system": "none", "below": 20.0},
        {"kind": "order", "order": ["attention", "none", "transformer"]},
        {"kind": "optimum", "rungs": ["attention", "none", "transformer"], "best": "none"},
    ],
)
def test_the_assumed_effect_is_three_margins_unless_published(measure):
    claim = a_claim(measure=measure)
    effect = claim.measure.differences.effect(assume_spread(claim).means)
    assert effect == pytest.approx(3.0)
    values = {"attention": 30.0, "none": 19.0, "transformer": 12.0}
    values = {system: values[system] for system in claim.systems}
    published = {"unit": "BLEU", "flavour": "sacrebleu", "data": "a corpus", "values": values}
    reported = a_claim(measure=measure, published=published)
    expected = {"difference": 11.0, "level": 1.0, "order": 7.0, "optimum": -11.0}[measure["kind"]]
    assert reported.measure.differences.effect(assume_spread(reported).means) == pytest.approx(
        expected
    )


def test_searches_of_one_training_are_planned_within_their_seeds(hydra_of_conf):
    """A seed's deviation is no noise of their difference, so that few seeds decide."""
    measure = {"kind": "difference", "more": "attention", "less": "none"}
    of_searches = {
        "attention": ["model=bahdanau", "decoding=beam"],
        "none": ["model=bahdanau", "decoding=greedy"],
    }
    of_models = SYSTEMS
    chances = []
    for systems in (of_searches, of_models):
        claim = a_claim(systems=systems, measure=measure)
        wanted = plan_runs([claim], Systems("laptop", SHARED))
        plan = ClaimsPlan([claim], [], wanted, UNMADE)
        assert plan.is_one_training(claim) == (systems is of_searches)
        chances.append(prospects(plan)[claim.name])
    one, two = chances
    assert int(one.chance.rstrip("%")) > 90 > int(two.chance.rstrip("%"))
    assert one.seeds == "3"


def test_a_paired_spread_is_that_of_pairs_that_were_drawn():
    """The test draws scores of two systems that share their seeds, with the assumed deviations."""
    claim, rng, seeds, times = a_claim(), np.random.default_rng(1), 4, 40_000
    spread, differences = assume_spread(claim), claim.measure.differences
    alone, own = pair_spread(replace(spread, seeds=np.full(2, seeds)), differences)
    of_seed = rng.normal(scale=1.0, size=(times, seeds, 1))
    of_both = rng.normal(scale=np.sqrt(spread.both), size=(times, seeds, 2))
    of_sentences = rng.multivariate_normal([0, 0], spread.sentences, size=(times, 1))
    scores = spread.means + of_seed + of_both + of_sentences
    drawn = scores[..., 0] - scores[..., 1]
    assert own.effect(alone.means) == pytest.approx(differences.effect(spread.means))
    assert drawn.var(axis=1, ddof=1).mean() == pytest.approx(alone.between_seeds[0], rel=0.02)
    expected = alone.sentences[0, 0] + alone.both[0] / seeds
    assert drawn.mean(axis=1).var() == pytest.approx(expected, rel=0.03)


ATTENTION, NONE = "tier=laptop model=bahdanau", "tier=laptop model=seq2seq"


@pytest.fixture(scope="module")
def systems(hydra_of_conf):
    return Systems("laptop", SHARED)


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
    alone = plan_runs([a_claim()], Systems("laptop", [*SHARED, "optimizer.lr=0.008"]))
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
                training=made["training"] | {"val_bleu": score, "val_loss": 2 - 10 * rate},
            )
    return wanted


def test_the_highest_validation_bleu_chooses_the_rate(tmp_path):
    wanted = [
        *trials_of(tmp_path, "attention", {2e-3: 11.0, 4e-3: 12.5, 8e-3: 12.0}),
        *trials_of(tmp_path, "none", {2.5e-3: 3.0, 5e-3: 2.0, 1e-2: None}),
    ]
    finished = {run.identity: run.folder for run in wanted if run.folder.is_dir()}
    plan = ClaimsPlan([a_claim()], [], wanted, FinishedRuns(finished, {}))
    tuned, missing = tuned_systems(plan, "laptop")
    assert missing == [NONE]
    [attention] = tuned
    assert (attention.system, attention.rate, attention.at_the_edge) == (ATTENTION, 4e-3, False)
    assert RateSearch("x", {2e-3: Validation(2, 11), 4e-3: Validation(2, 13)}).at_the_edge
    tie = {2e-3: Validation(2.5, 0), 4e-3: Validation(2.1, 0), 8e-3: Validation(2.3, 0)}
    assert RateSearch("x", tie).rate == 4e-3
    write_rates(tuned, tmp_path / "rates.yaml")
    assert read_rates(tmp_path / "rates.yaml") == {ATTENTION: 4e-3}


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
    "content", ["[1, 2]", "{a: fast}", "{a: -1}", "{a: true}", "{a: .nan}", "{a: [", None]
)
def test_a_file_without_rates_is_refused_in_one_line(tmp_path, content):
    file = tmp_path / "rates.yaml"
    if content is not None:
        file.write_text(content)
    with refused("learning_rates="):
        read_rates(file)
