"""Claims on finished runs: verdicts, and the reason where a claim has no verdict."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU

from datamodules.contrast_pairs import ContrastPair
from lightning_modules.metrics.contrast_choices import PairChoices
from sweeps.claims.evidence import judge_all
from sweeps.claims.verdict import Outcome
from tests.helpers.made_text import corrupted
from tests.helpers.run_folders import SCORING, TEXT, make_failure, make_run, text
from tests.sweeps.claims.claim_runs import MEASURE, SYSTEMS, VARIANTS, a_claim, config_of, plan_of

SCORES = BLEU()
SWAPPED = {"kind": "difference", "more": "none", "less": "attention"}


def judged(folder, *claims, **options):
    return judge_all(plan_of(folder, *claims, **options), SCORING)


def test_a_claim_holds_and_with_swapped_systems_does_not(tmp_path):
    claim, swapped = a_claim(), a_claim("swapped", measure=SWAPPED)
    first, second = judged(tmp_path, claim, swapped)
    assert first.verdict.outcome is Outcome.HELD
    assert second.verdict.outcome is Outcome.FAILED
    assert first.verdict.effect == pytest.approx(-second.verdict.effect)
    assert first.verdict.effect == pytest.approx(first.means[0] - first.means[1])


def make_searches(folder, *trainings):
    """Make runs of two systems whose seeds differ much, and the systems little."""
    for system, training, more in zip(SYSTEMS, trainings, (0.0, 0.02), strict=True):
        for seed, share in {1: 0.1, 2: 0.3, 3: 0.5}.items():
            make_run(
                folder / f"{system}-{seed}",
                seed=seed,
                hypotheses=corrupted(TEXT.references, share + more, np.random.default_rng(5)),
                config=config_of(training, seed, decoding={"beam_size": len(system)}),
            )


def test_the_order_of_the_runs_changes_nothing(tmp_path):
    """Another claim may want the seeds of a system in another order."""
    make_searches(tmp_path, "same", "same")
    plan = plan_of(tmp_path, a_claim())
    shuffled = replace(plan, runs=[plan.runs[place] for place in (2, 0, 1, 3, 4, 5)])
    [one], [other] = judge_all(plan, SCORING), judge_all(shuffled, SCORING)
    assert one.evidence
    assert one.evidence.one_training
    assert one.verdict == other.verdict


def test_a_verdict_does_not_depend_on_other_claims(tmp_path):
    claim = a_claim()
    others = [a_claim(f"other{number}", measure=SWAPPED) for number in range(8)]
    [alone] = judged(tmp_path, claim)
    together = judged(tmp_path, *others, claim)[-1]
    assert alone.verdict == together.verdict
    assert alone.corrected.p < together.corrected.p or alone.corrected.p == 1


def test_one_training_with_two_searches_is_compared_within_its_seeds(tmp_path):
    """The seeds of both systems are the same trainings: good seeds are no noise of the search."""
    widths = {}
    for name, trainings in (("one", ["same"] * 2), ("two", ["first", "second"])):
        make_searches(tmp_path / name, *trainings)
        [one] = judged(tmp_path / name, a_claim())
        assert one.verdict.effect == pytest.approx(one.means[0] - one.means[1])
        low, high = one.verdict.interval
        widths[name] = high - low
    assert widths["one"] < widths["two"] / 5


def test_one_seed_decides_nothing(tmp_path):
    [one] = judged(tmp_path, a_claim(), seeds=[1])
    assert one.verdict.outcome is Outcome.UNDECIDED
    assert one.verdict.interval is None
    assert one.requirement.seeds == 3


def test_a_failed_system_ends_its_claims_alone(tmp_path):
    claim = a_claim()
    other = a_claim("other", measure={"kind": "difference", "more": "transformer", "less": "none"})
    plan = plan_of(tmp_path, claim, other)
    shutil.rmtree(tmp_path / "attention-2")
    make_failure(tmp_path / "attention-2", error="the loss is NaN")
    first, second = judge_all(plan, SCORING)
    assert first.failure == "attention, seed 2: the loss is NaN"
    assert first.verdict is first.corrected is None
    assert second.verdict
    assert second.verdict.outcome is Outcome.HELD


def test_a_run_that_is_missing_is_named(tmp_path):
    plan = plan_of(tmp_path, a_claim())
    shutil.rmtree(tmp_path / "none-3")
    assert judge_all(plan, SCORING)[0].failure == "none, seed 3: was not trained"
    unplanned = replace(plan, runs=[])
    assert judge_all(unplanned, SCORING)[0].failure == "attention: the command has no run of it"


def test_systems_on_different_sentences_are_not_compared(tmp_path):
    make_run(tmp_path / "none-3", "none", 3, text=text(seed=7))
    [one] = judged(tmp_path, a_claim())
    assert one.failure == "its systems were tested on different sentences"


@pytest.mark.parametrize(
    ("measure", "outcome"),
    [
        (MEASURE | {"lengths": [11, None]}, Outcome.HELD),
        (MEASURE | {"score": "aer"}, None),  # "none" has no alignments
        ({"kind": "level", "system": "none", "above": 90}, Outcome.FAILED),
        ({"kind": "level", "system": "none", "below": 90}, Outcome.HELD),
        ({"kind": "optimum", "rungs": ["none", "attention", "transformer"], "best": "none"},
         Outcome.FAILED),
    ],
)  # fmt: skip
def test_measures_of_finished_runs(tmp_path, measure, outcome):
    [one] = judged(tmp_path, a_claim(measure=measure))
    if outcome is None:
        assert "has no links" in one.failure
    else:
        assert one.verdict.outcome is outcome


LONG = SCORING.edges[0]


def bleu(run, low, high):
    """BLEU of a run on the sentences of some lengths, by sacreBLEU."""
    lengths = [len(source.split()) for source in run.test.sources]
    kept = [place for place, length in enumerate(lengths) if low <= length <= high]
    hypotheses = [run.output.hypotheses[place] for place in kept]
    references = [run.test.references[place] for place in kept]
    return SCORES.corpus_score(hypotheses, [references]).score


def left(run):
    return bleu(run, LONG + 1, 1000) / bleu(run, 0, LONG)


@pytest.mark.parametrize(
    ("measure", "effect"),
    [
        ({"kind": "beyond", "more": "attention", "less": "none"},
         lambda of: of["attention"](left) - of["none"](left)),
        ({"kind": "left_beyond", "system": "none", "below": 1.5},
         lambda of: 1.5 - of["none"](left)),
        ({"kind": "left_beyond", "system": "none", "above": 0.5},
         lambda of: of["none"](left) - 0.5),
        ({"kind": "order", "order": ["transformer", "attention", "none"]},
         lambda of: min(of["transformer"](whole) - of["attention"](whole),
                        of["attention"](whole) - of["none"](whole))),
    ],
)  # fmt: skip
def test_effects_are_those_of_the_scores(tmp_path, measure, effect):
    [one] = judged(tmp_path, a_claim(measure=measure), train_max_words=LONG)
    means = {
        system: lambda score, runs=runs: np.mean([score(run) for run in runs])
        for system, runs in one.evidence.runs.items()
    }
    assert one.verdict.effect == pytest.approx(effect(means))
    low, high = one.verdict.interval
    assert low <= one.verdict.effect <= high


def whole(run):
    return bleu(run, 0, 1000)


def test_a_slope_falls_where_long_sentences_are_worse(tmp_path):
    """All runs translate short sentences without a mistake, and the long ones of `none` badly."""
    for system in SYSTEMS:
        for seed in (1, 2, 3):
            share = 0.5 if system == "none" else 0.05
            bad = corrupted(TEXT.references, share, np.random.default_rng(seed))
            hypotheses = [
                wrong if len(source.split()) > LONG else right
                for source, right, wrong in zip(TEXT.sources, TEXT.references, bad, strict=True)
            ]
            make_run(tmp_path / f"{system}-{seed}", VARIANTS[system], seed, hypotheses=hypotheses)
    fall = {"kind": "slope", "system": "none", "sign": -1}
    steeper = {"kind": "slope_difference", "more": "attention", "less": "none"}
    claims = [a_claim("fall", measure=fall), a_claim("steeper", measure=steeper)]
    assert all(one.verdict.outcome is Outcome.HELD for one in judged(tmp_path, *claims))
    [rise] = judged(tmp_path, a_claim(measure=fall | {"sign": 1}))
    assert rise.verdict.outcome is Outcome.FAILED


BEYOND = {"kind": "beyond", "more": "attention", "less": "none"}


@pytest.mark.parametrize(
    ("measure", "trained", "message"),
    [
        (MEASURE | {"lengths": [50, 60]}, 50, "no test sentence has 50 to 60 words"),
        ({"kind": "slope", "system": "none"}, 50, "a slope needs two length buckets with enough "),
        (BEYOND, 50, "no test sentence has 51 words or more"),
        (BEYOND, None, "the lengths of the training sentences are not known"),
    ],
)
def test_lengths_without_a_sentence_are_told_in_words(tmp_path, measure, trained, message):
    plan = plan_of(tmp_path, a_claim(measure=measure), train_max_words=trained)
    one_bucket = SCORING.model_copy(update={"edges": [100]})
    assert str(judge_all(plan, one_bucket)[0].failure).startswith(message)


def test_a_score_of_translations_that_runs_left_out_is_counted(tmp_path):
    [one] = judged(tmp_path, a_claim(measure=MEASURE | {"score": "chrf"}), statistics=False)
    assert one.verdict.outcome is Outcome.HELD


def test_a_score_on_the_lengths_of_training_is_judged_beside(tmp_path):
    [one] = judged(tmp_path, a_claim(), train_max_words=10)
    within = one.evidence.lengths.words <= 10
    assert 0 < within.sum() < len(within)
    with_attention, without = (
        np.mean([bleu(run, 0, 10) for run in one.evidence.runs[system]])
        for system in ("attention", "none")
    )
    assert one.on_trained.effect == pytest.approx(with_attention - without)
    assert one.on_trained.effect != one.verdict.effect


def test_trained_lengths_are_those_of_every_system(tmp_path):
    plan = plan_of(tmp_path, a_claim(), made=False)
    for system, limit in (("attention", 10), ("none", 13)):
        for seed in (1, 2, 3):
            make_run(tmp_path / f"{system}-{seed}", VARIANTS[system], seed, train_max_words=limit)
    [one] = judge_all(plan, SCORING)
    [alike] = judged(tmp_path / "alike", a_claim(), train_max_words=10)
    assert one.evidence
    assert one.on_trained
    assert one.on_trained.effect == pytest.approx(alike.on_trained.effect)
    assert one.evidence.lengths.longest_trained == 13


@pytest.mark.parametrize(
    ("measure", "limit"),
    [
        (MEASURE, 1000),  # no longer sentences
        (MEASURE, None),  # lengths that are not known
        (MEASURE, 1),  # longer sentences only
        (MEASURE | {"lengths": [11, None]}, 10),  # lengths that the claim names
        ({"kind": "slope", "system": "none", "sign": -1}, 10),
        (BEYOND, 10),
    ],
)
def test_no_verdict_stands_beside_claims_about_lengths(tmp_path, measure, limit):
    [one] = judged(tmp_path, a_claim(measure=measure), train_max_words=limit)
    assert one.verdict is not None
    assert one.on_trained is None


def choices(share, seed):
    pairs = [
        ContrastPair(
            f"a {n // 2}", f"b {n}", f"c {n}", ("number", "gender")[n % 2], 1 + n % 20, False
        )
        for n in range(400)
    ]
    wrong = np.random.default_rng(seed).random(400) > share
    return PairChoices.of(pairs, np.ones(400) + 2 * wrong, np.full(400, 2.0))


def test_right_choices_of_a_category_and_distance_are_compared(tmp_path):
    claim = a_claim(
        measure={"kind": "agreement", "more": "attention", "less": "none",
                 "category": "number", "distances": [11, None]},
    )  # fmt: skip
    for seed in (1, 2, 3):
        make_run(tmp_path / f"attention-{seed}", "luong", seed, choices=choices(0.95, seed))
        make_run(tmp_path / f"none-{seed}", "none", seed, choices=choices(0.5, seed + 10))
    [one] = judged(tmp_path, claim)
    assert one.verdict.outcome is Outcome.HELD
    assert one.evidence.draws.sentences == 100  # sources with such a pair
    assert set(one.evidence.lengths.words) == {*range(11, 21, 2)}


def test_a_run_without_contrastive_pairs_is_named(tmp_path):
    measure = {"kind": "agreement", "more": "attention", "less": "none"}
    [one] = judged(tmp_path, a_claim(measure=measure))
    assert one.failure == "luong was trained without scoring.contrastive=true"
