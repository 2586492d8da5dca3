"""Plans: corpora, rungs, runs once, those that exist, time, and the chance of a verdict."""

import json
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from lightning_modules.runs.provenance import environment
from sweeps.claims.claim import TIERS, all_claims
from sweeps.claims.corpora import choose_corpora, corpora_of, suited_corpora
from sweeps.claims.forecast import assume_spread, family, plan_table, prospects
from sweeps.claims.intervals import pair_spread
from sweeps.claims.job_time import LEAST_SECONDS, TESTED, gpu_speeds, job_time, speeds_of
from sweeps.claims.plan import Choices, ClaimsPlan, FinishedRuns, Systems, plan_runs
from sweeps.tasks.claims import job_of, ladders_of
from tests.helpers.refusals import refused
from tests.helpers.run_folders import result
from tests.sweeps.claims.claim_runs import EN_FR, SYSTEMS, WORKLOAD, a_claim, plan_of

HERE, UNMADE = environment(), FinishedRuns({}, {})
SHARED = ["data.train_size=50"]
RUNGS = (1000, 2000)
REAL = corpora_of("bench")["multi30k"]


def planned(*claims, shared=SHARED, corpora=(EN_FR,), tier="laptop", **choices):
    """The plan of claims on the same corpora, with two rungs."""
    given = Choices(**{"rungs": RUNGS} | choices)
    on = {claim.name: corpora for claim in claims}
    runs, rungs = plan_runs(claims, on, Systems(tier, shared), given)
    return ClaimsPlan(tier, claims, [], runs, on, rungs, UNMADE)


@pytest.fixture(scope="module")
def plan(hydra_of_conf):
    other = a_claim(
        "other",
        systems={"without": SYSTEMS["none"]},
        measure={"kind": "slope", "system": "without"},
    )
    return planned(a_claim(), other)


def test_claims_share_runs(plan):
    assert len(plan.runs) == 12  # two systems with two rungs and three seeds
    assert len({run.identity for run in plan.runs}) == len({run.folder for run in plan.runs}) == 12
    assert len({run.trunk for run in plan.runs}) == 6
    without = [run for run in plan.runs if "model=seq2seq" in run.overrides]
    assert {need.claim for run in without for need in run.needs} == {"paper.one", "paper.other"}
    assert {run.overrides[-1] for run in plan.runs} == {"seed=1", "seed=2", "seed=3"}
    assert {(run.kind, run.amount) for run in plan.runs} == {
        ("target_tokens", 1000),
        ("target_tokens", 2000),
    }


def test_the_runs_of_a_claim_are_found_by_corpus_and_rung(plan):
    claim = plan.claims[0]
    found = plan.of(claim, "en-fr", 2000)
    assert {system: [seed for seed, _ in of] for system, of in found.items()} == {
        "attention": [1, 2, 3],
        "none": [1, 2, 3],
    }
    folders = {folder for of_system in found.values() for _, folder in of_system}
    assert folders == {run.folder for run in plan.runs if run.amount == 2000}
    assert plan.of(claim, "en-de", 2000) == plan.of(claim, "en-fr", 3000) == {}
    assert plan.seeds_of(claim, "en-fr") == [1, 2, 3]


def test_the_rungs_of_a_system_are_one_job(plan):
    ladders = ladders_of(plan.missing)
    assert [[run.amount for run in ladder] for ladder in ladders] == [[1000, 2000]] * 6
    job = job_of(ladders[0])
    assert job.folder == ladders[0][-1].folder
    assert "budget.target_tokens=2000" in job.overrides
    assert [*job.overrides[-2:]] == ["budget.rungs=[1000]", "budget.rung_checkpoints=false"]
    again = job_of(ladders[0], [ladders[0][0].training])  # in another search
    assert again.overrides[-1] == "budget.rung_checkpoints=true"
    assert "budget.rungs=[]" in job_of(ladders[0][:1]).overrides


def test_a_schedule_that_ends_makes_each_rung_a_training_of_its_own(hydra_of_conf):
    plan = planned(a_claim(), shared=[*SHARED, "scheduler=linear"], seeds=[1])
    assert [len(ladder) for ladder in ladders_of(plan.missing)] == [1] * 4


def test_the_last_rung_is_that_of_the_tier_or_twice_it_for_a_contested_claim(hydra_of_conf):
    systems = Systems("laptop", SHARED)
    tier = [200_000, 400_000, 800_000]
    assert systems.ladder(a_claim(), EN_FR) == tier
    assert systems.ladder(a_claim(contested=True), EN_FR) == [*tier, 1_600_000]
    of_file = a_claim(contested=True, tiers={"laptop": {"rungs": [5, 10]}})
    assert systems.ladder(of_file, EN_FR) == [5, 10]
    assert systems.ladder(of_file, EN_FR, [1000]) == [1000]
    flops = a_claim(tiers={"laptop": {"overrides": ["budget=flops", "budget.flops=2e12"]}})
    assert systems.ladder(flops, EN_FR, [1000]) == [2e12]  # the command counts target tokens


def test_a_system_with_its_own_budget_counts_at_every_rung(hydra_of_conf):
    claim = with_none("model=seq2seq", "budget.target_tokens=4000")
    plan = planned(claim, seeds=[1])
    assert [run.amount for run in plan.runs] == [1000, 2000, 4000]
    [longer] = [run for run in plan.runs if run.amount == 4000]
    assert [need.rung for need in longer.needs] == [1000, 2000]


def test_a_longer_run_of_the_same_system_is_the_last_rung_of_its_job(hydra_of_conf):
    longer = [*SYSTEMS["attention"], "budget.target_tokens=4000"]
    plan = planned(a_claim(systems={"attention": longer, "none": SYSTEMS["attention"]}), seeds=[1])
    assert [[run.amount for run in ladder] for ladder in ladders_of(plan.missing)] == [
        [1000, 2000, 4000]
    ]


def test_other_seeds_replace_those_of_the_file(hydra_of_conf):
    runs = planned(a_claim(), seeds=range(11, 16), rungs=[1000]).runs
    assert sorted(run.overrides[-1] for run in runs if "model=bahdanau" in run.overrides) == [
        f"seed={seed}" for seed in range(11, 16)
    ]


def test_a_random_corpus_has_one_training_of_each_system(hydra_of_conf):
    draws = [each for each in corpora_of("laptop").values() if each.seeds is not None]
    assert len(draws) == 8
    plan = planned(a_claim(), corpora=draws[:2], seeds=[1, 2], rungs=[1000])
    assert [run.overrides[-1] for run in plan.runs] == ["seed=1"] * 2 + ["seed=2"] * 2
    first, second = plan.runs[0].overrides, plan.runs[2].overrides
    assert {*first} ^ {*second}
    assert corpora_of("laptop")["draw-3"] == draws[2]  # the same in every command


def test_a_claim_keeps_the_knobs_that_it_fixes(hydra_of_conf):
    draw = corpora_of("laptop")["draw-1"]
    fixed = a_claim(tiers={"laptop": {"overrides": ["data.ambiguity=0.9"]}})
    system = Systems("laptop", SHARED).on(fixed, "none", draw)
    assert system.config.data.ambiguity == 0.9
    assert system.config.data.vocabulary == draw.knobs["vocabulary"]
    overrides = [each for each in system.overrides if each.startswith("data.ambiguity")]
    assert overrides[-1] == "data.ambiguity=0.9"  # of two, the later counts in a job


def test_corpora_of_a_claim():
    def names(claim, chosen=None, every=False):
        return [each.name for each in choose_corpora(claim, "laptop", chosen, every)]

    german = a_claim(tiers={"laptop": {"corpora": ["en-de"]}})
    assert names(a_claim()) == ["en-fr"]
    assert names(german) == names(german, every=True) == ["en-de"]
    assert names(a_claim(), every=True) == ["en-fr", "en-de"]
    assert names(a_claim(), ["en-de"]) == ["en-de"]
    assert names(german, ["en-fr"]) == []
    draws = [f"draw-{number}" for number in range(1, 9)]
    assert names(a_claim(contested=True), every=True) == ["en-fr", "en-de", *draws]
    suited = suited_corpora(german, "laptop")
    assert {each.languages for each in suited} == {("en", "de")}
    asks = a_claim(tiers={"laptop": {"overrides": ["data.target=de"]}})
    assert names(asks, ["en-fr"]) == []
    unknown = a_claim(tiers={"laptop": {"corpora": ["en-nl"]}})
    with refused("claim paper.one: corpora=en-nl: no corpus of tier=laptop; give all, draws for"):
        names(unknown)


def test_text_of_a_paper_in_local_files_has_its_languages(hydra_of_conf):
    paper = a_claim(
        tiers={"paper": {"overrides": ["data=wmt14_en_de", "budget.target_tokens=1000"]}}
    )
    [own] = corpora_of("paper").values()
    local = ["data=text", "data.root=here", "data.source=en"]
    [first, *_] = planned(
        paper, shared=[*local, "data.target=de"], corpora=[own], tier="paper"
    ).runs
    assert "data=text" in first.overrides
    assert "data=wmt14_en_de" not in first.overrides
    with refused(
        "claim paper.one: asks for en to de, and data=text is en to fr; give data.source="
    ):
        planned(paper, shared=[*local, "data.target=fr"], corpora=[own], tier="paper")


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
        (UNDROPPED, ["data.target=de"], "leave data.target=de out"),
    ],
)
def test_a_plan_that_cannot_be_trained_is_refused(hydra_of_conf, claim, shared, message):
    with refused("claim paper.one", message):
        planned(claim, shared=shared)


def test_a_budget_is_given_as_rungs(hydra_of_conf):
    with refused("budget.target_tokens=5: claims are judged at rungs; give rungs="):
        planned(a_claim(), shared=["budget.target_tokens=5"])


@pytest.mark.long
@pytest.mark.parametrize("tier", TIERS)
def test_every_claim_has_systems_that_can_be_trained_and_differ(hydra_of_conf, tier):
    runnable = [claim for claim in all_claims().values() if claim.why_not(tier) is None]
    on = {claim.name: choose_corpora(claim, tier, None, every=False) for claim in runnable}
    assert all(on.values())
    systems = Systems(tier, [], {"multi30k": "here"} if tier == "bench" else {})
    runs, rungs = plan_runs(runnable, on, systems, Choices(seeds=[1]))
    assert {*rungs} == {*on}
    assert all(run.amount > 0 for run in runs)


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
    twice = [run._replace(amount=2000) for run in missing]
    assert job_time(twice, rates).seconds == pytest.approx(2 * needed.seconds)
    assert job_time(missing, {}) == (0.0, 6)
    assert job_time([twice[0]._replace(kind="own", amount=1)], rates) == (0.0, 1)


def test_a_training_of_a_second_tells_no_speed(tmp_path):
    """The first updates take longer than the others."""
    short = {**result()["training"], "seconds": LEAST_SECONDS - 0.1}
    plan = plan_of(tmp_path, a_claim(), environment=HERE, training=short)
    assert speeds_of(plan.finished.runs) == {}


def test_a_trunk_is_trained_once_and_from_its_last_finished_run_on(tmp_path):
    plan = plan_of(tmp_path, a_claim(), made=False, seeds=[1], rungs=(1000, 2000, 4000))
    rates = {(WORKLOAD, "target_tokens"): 100.0}
    whole = job_time(plan.runs, rates).seconds
    assert whole == pytest.approx(2 * (4000 + 3 * TESTED * 1000) / 100)
    [first, *later] = [run for run in plan.runs if run.trunk == plan.runs[0].trunk]
    assert job_time(later, rates, [first]).seconds == pytest.approx(
        (3000 + 2 * TESTED * 2000) / 100
    )


def test_hours_of_published_sizes_come_from_measured_gpus(tmp_path, hydra_of_conf):
    systems = {"attention": ["model=rnnsearch"], "none": ["model=rnnencdec"]}
    overrides = ["data=wmt14_en_fr", "budget.target_tokens=3600"]
    claim = a_claim(systems=systems, tiers={"paper": {"overrides": overrides, "seeds": [1]}})
    plan = planned(
        claim, shared=[], corpora=[*corpora_of("paper").values()], tier="paper", rungs=None
    )
    assert gpu_speeds(plan.runs, tmp_path) == {}
    for place, speed in (("slow", 1.0), ("fast", 2.0)):
        figure = {"variant": "RNNsearch", "size": "published", "kind": "auto"}
        (tmp_path / place).mkdir()
        figures = {"figures": [figure | {"tokens_per_second": speed}]}
        (tmp_path / place / "item.json").write_text(json.dumps(figures))
    speeds = gpu_speeds(plan.runs, tmp_path)
    assert [*speeds.values()] == [2.0]
    assert job_time(plan.runs, speeds) == (pytest.approx(1800 * (1 + TESTED)), 1)


def test_runs_that_differ_in_their_search_are_one_training(hydra_of_conf):
    searches = {name: ["model=bahdanau", f"decoding={name}"] for name in ("greedy", "beam")}
    claim = a_claim(
        systems=searches, measure={"kind": "difference", "more": "beam", "less": "greedy"}
    )
    plan = planned(claim, rungs=[1000])
    assert len({run.identity for run in plan.runs}) == 6
    assert [[run.overrides[-1] for run in runs] for runs in plan.missing_by_training] == [
        [f"seed={seed}"] * 2 for seed in (1, 2, 3)
    ]
    rates = {(run.workload, "target_tokens"): 100.0 for run in plan.runs}
    alone = job_time(plan.runs[:3], rates).seconds  # one search
    assert alone == pytest.approx(3 * (1 + TESTED) * 1000 / 100)
    assert job_time(plan.runs, rates).seconds == pytest.approx(alone + 3 * TESTED * 10)
    trained = [run.training for run in plan.runs]
    assert job_time(plan.runs, rates, (), trained).seconds == pytest.approx(6 * TESTED * 10)


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
        planned(claim, shared=[*SHARED, *more], seeds=[1], rungs=[1000]).runs
        for more in ([], [changed])
    )
    rates = {(run.workload, "target_tokens"): 100.0 for run in runs}
    shared = [*SHARED, "model.dropout=0.1"]
    alike = planned(a_claim(), shared=shared, seeds=[1], rungs=[1000]).runs
    assert job_time(alike, rates) == (pytest.approx((1 + TESTED) * 2 * 1000 / 100), 0)
    assert job_time(others, rates) == (0.0, 2)
    assert job_time([*alike, *others], rates).text(2) == "≥ 13 s"
    assert job_time(others, rates).text() == "unknown"


def test_the_table_has_a_row_for_every_claim(tmp_path):
    plan = plan_of(tmp_path, a_claim(), a_claim("two"), made=False)
    table = plan_table(plan, prospects(plan), 2)
    assert table.row_count == 2
    title = "claims: 2, corpora: 1, rungs: 1, seeds: 3, runs: 6, missing: 6 (6 training runs); job "
    assert str(table.title).startswith(title)
    assert list(table.columns[0].cells) == ["paper.one", "paper.two"]


@pytest.mark.parametrize(
    ("on_slurm", "words"),
    [(False, "with 2 at a time"), (True, "in all; SLURM starts up to 2 jobs at a time")],
)
def test_the_table_says_how_many_jobs_run_at_a_time(tmp_path, on_slurm, words):
    plan = plan_of(tmp_path, a_claim(), made=False)
    assert str(plan_table(plan, {}, 2, on_slurm).title).endswith(words)


def test_the_table_keeps_its_titles_in_80_columns(tmp_path):
    """What differs between claims has a column, and long names are folded."""
    claims = a_claim("a_name_that_is_longer_than_a_column_can_be"), a_claim("two")
    plan = plan_of(tmp_path, *claims, made=False)
    plan = replace(plan, rungs={**plan.rungs, "paper.two": [500, 1000]})
    written = StringIO()
    Console(width=80, file=written).print(plan_table(plan, prospects(plan), 2))
    titles = "claim rungs seeds runs missing job time decides for 80%"
    assert titles in [" ".join(line.split()) for line in written.getvalue().splitlines()]


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
    effect = claim.measure.differences.effect(assume_spread(claim, EN_FR).means)
    assert effect == pytest.approx(3.0)
    values = {"attention": 30.0, "none": 19.0, "transformer": 12.0}
    values = {system: values[system] for system in claim.systems}
    published = {"unit": "BLEU", "flavour": "sacrebleu", "data": "a corpus", "values": values}
    reported = a_claim(measure=measure, published=published)
    expected = {"difference": 11.0, "level": 1.0, "order": 1.0, "optimum": -11.0}[measure["kind"]]
    assert reported.measure.differences.effect(
        assume_spread(reported, EN_FR).means
    ) == pytest.approx(expected)


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
        plan = planned(claim, rungs=[1000])
        assert plan.is_one_training(claim) == (systems is of_searches)
        chances.append(prospects(plan)[claim.name])
    one, two = chances
    assert int(one.chance.rstrip("%")) > 90 > int(two.chance.rstrip("%"))
    assert one.seeds == "3"


def test_a_paired_spread_is_that_of_pairs_that_were_drawn():
    """The test draws scores of two systems that share their seeds, with the assumed deviations."""
    claim, rng, seeds, times = a_claim(), np.random.default_rng(1), 4, 40_000
    spread, differences = assume_spread(claim, REAL), claim.measure.differences
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


def test_chances_are_those_after_the_correction_within_the_paper(tmp_path):
    claims = [a_claim(name) for name in ("one", "two", "three", "four")]
    answers = {question: question != "paper" for question in claims[0].answers("laptop")}
    extension = a_claim("five", fidelity=answers | {"why": "Nobody said it."})
    alone = prospects(plan_of(tmp_path, claims[0], made=False))["paper.one"]
    together = plan_of(tmp_path, *claims, extension, made=False)
    assert family(claims[0], together) == claims
    assert family(extension, together) == [extension]
    corrected = prospects(together)
    assert int(corrected["paper.one"].chance.rstrip("%")) < int(alone.chance.rstrip("%"))
    assert int(corrected["paper.one"].seeds) > int(alone.seeds)
    assert corrected["paper.five"] == alone
