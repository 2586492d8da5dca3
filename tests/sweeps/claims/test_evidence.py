"""Evidence: which runs count for a claim, how they are read, and what is told in place of it."""

import shutil

import numpy as np
import pytest

from datamodules.contrast_pairs import ContrastPair
from lightning_modules.metrics.contrast_choices import PairChoices
from sweeps.claims.evidence import Records, UnusableError
from sweeps.claims.intervals import score_on
from tests.helpers.run_folders import SCORING, TEXT, make_failure, make_run, text
from tests.sweeps.claims.claim_runs import MEASURE, VARIANTS, a_claim, config_of, finished_plan

BLEU = a_claim().measure.metric


def evidence_of(folder, claim=None, scores=("bleu",), **options):
    claim = claim or a_claim()
    plan = finished_plan(folder, claim, **options)
    records = Records(SCORING, scores)
    return records.evidence(claim, plan.of(claim, "en-fr", plan.rungs[claim.name][-1]))


def whole_score(_):
    return score_on(BLEU)


def test_seeds_on_one_test_set_share_its_resamples(tmp_path):
    found = evidence_of(tmp_path)
    assert found.draws is not None
    assert found.values(whole_score, "none").resampled.shape == (3, SCORING.resamples)
    assert len({id(lengths) for lengths in found.lengths.values()}) == 1


def test_seeds_with_test_sets_of_their_own_have_one_score_each(tmp_path):
    found, again = (evidence_of(tmp_path, own=own) for own in (True, False))
    assert found.draws is again.draws is None
    values = found.values(whole_score, "none")
    assert values.resampled is None
    for run, score, counts in zip(
        found.runs["none"], values.observed, found.statistics["none"], strict=True
    ):
        assert score == pytest.approx(BLEU.score(counts.sum(0)))
        assert [*found.lengths[run.seed].words] == [len(s.split()) for s in run.test.sources]


def test_parts_are_those_of_each_seeds_test_set(tmp_path):
    claim = a_claim(measure=MEASURE | {"lengths": [11, None]})
    found = evidence_of(tmp_path, claim, own=True)
    values = found.values(claim.measure.quantity, "none").observed
    for run, score in zip(found.runs["none"], values, strict=True):
        long = [len(source.split()) > 10 for source in run.test.sources]
        assert score == pytest.approx(BLEU.score(run.statistics["bleu"][long].sum(0)))


def test_the_translations_of_a_known_test_set_are_not_read(tmp_path):
    finished_plan(tmp_path, a_claim())
    first = evidence_of(tmp_path)
    for seed in (2, 3):
        (tmp_path / f"attention-{seed}" / "predictions.jsonl").unlink()
    second = evidence_of(tmp_path)
    for system in VARIANTS.keys() & first.runs.keys():
        pairs = zip(first.statistics[system], second.statistics[system], strict=True)
        assert all(np.array_equal(*pair) for pair in pairs)


def test_scores_that_runs_left_out_are_counted(tmp_path):
    claim = a_claim(measure=MEASURE | {"score": "chrf"})
    found = evidence_of(tmp_path, claim, ["chrf"], statistics=False)
    assert found.values(claim.measure.quantity, "none").observed.min() > 0


def test_seeds_are_left_out_of_a_system_or_of_all(tmp_path):
    found = evidence_of(tmp_path)
    assert found.without({"none": [2]}, paired=False).seeds == {
        "attention": [1, 2, 3],
        "none": [1, 3],
    }
    both = found.without({"none": [2]}, paired=True)
    assert both.seeds == {"attention": [1, 3], "none": [1, 3]}
    assert both.statistics["attention"][1] is found.statistics["attention"][2]


def test_one_training_with_several_tests_is_one_training(tmp_path):
    for system, beam in (("attention", 1), ("none", 4)):
        for seed in (1, 2):
            config = config_of("same", seed, decoding={"beam_size": beam})
            make_run(tmp_path / f"{system}-{seed}", "luong", seed, config=config)
    found = evidence_of(tmp_path, seeds=[1, 2])
    assert found.one_training
    assert found.seconds == pytest.approx(2 * 63.2)
    assert not evidence_of(tmp_path / "others", seeds=[1, 2]).one_training


def test_the_floor_is_that_of_the_nearest_copies_on_the_shortest_sentences(tmp_path):
    run, *_ = evidence_of(tmp_path).runs["attention"]
    short = [len(source.split()) <= 10 for source in TEXT.sources]
    assert run.usual_floor == 5.0
    assert run.reached == pytest.approx(BLEU.score(run.statistics["bleu"][short].sum(0)))
    assert run.loss == 2.0
    unknown, *_ = evidence_of(tmp_path / "none", baselines={}, training={}).runs["none"]
    assert unknown.usual_floor is None
    assert np.isnan(unknown.loss)


@pytest.mark.parametrize("own", [False, True])
def test_systems_on_different_sentences_are_not_compared(tmp_path, own):
    make_run(tmp_path / "none-3", "none", 3, text=text(seed=7))
    with pytest.raises(UnusableError, match="were tested on different sentences"):
        evidence_of(tmp_path, own=own)


def test_missing_and_failed_runs_are_named(tmp_path):
    finished_plan(tmp_path, a_claim())
    shutil.rmtree(tmp_path / "none-3")
    with pytest.raises(UnusableError, match="none, seed 3: was not trained"):
        evidence_of(tmp_path, made=False)
    make_failure(tmp_path / "none-3", error="the loss is NaN")
    with pytest.raises(UnusableError, match="none, seed 3: the loss is NaN"):
        evidence_of(tmp_path, made=False)
    with pytest.raises(UnusableError, match="attention: the command has no run of it"):
        Records(SCORING, []).evidence(a_claim(), {})


def test_a_statistic_that_no_run_has_is_named(tmp_path):
    with pytest.raises(UnusableError, match="none has no links"):
        evidence_of(tmp_path, a_claim(measure=MEASURE | {"score": "aer"}), ["aer"])


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
    measure = {
        **{"kind": "agreement", "more": "attention", "less": "none"},
        **{"category": "number", "distances": [11, None]},
    }
    for seed in (1, 2, 3):
        make_run(tmp_path / f"attention-{seed}", "luong", seed, choices=choices(0.95, seed))
        make_run(tmp_path / f"none-{seed}", "none", seed, choices=choices(0.5, seed + 10))
    claim = a_claim(measure=measure)
    found = evidence_of(tmp_path, claim)
    assert found.draws.sentences == 100  # sources with such a pair
    assert {*found.lengths[1].words} == {*range(11, 21, 2)}
    means = [found.values(claim.measure.quantity, key).observed.mean() for key in found.runs]
    assert means == pytest.approx([95, 50], abs=8)


def test_a_run_without_contrastive_pairs_is_named(tmp_path):
    measure = {"kind": "agreement", "more": "attention", "less": "none"}
    with pytest.raises(UnusableError, match="luong was trained without scoring"):
        evidence_of(tmp_path, a_claim(measure=measure))
