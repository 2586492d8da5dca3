"""Judgement: gates in their order, ladders, several corpora, and measures, on made runs."""

import shutil
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU

from lightning_modules.runs.files import read_predictions
from sweeps.claims.judgement import judge_all
from sweeps.claims.scoreboard import Scale
from sweeps.claims.verdict import Outcome
from tests.helpers.made_text import corrupted
from tests.helpers.run_folders import SCORING, TEXT, make_failure, make_run, text
from tests.sweeps.claims.claim_results import said_of
from tests.sweeps.claims.claim_runs import (
    LEARNED,
    MEASURE,
    SYSTEMS,
    VARIANTS,
    a_claim,
    config_of,
    finished_plan,
)

SCORES = BLEU()
SWAPPED = {"kind": "difference", "more": "none", "less": "attention"}
SUPPORTED, REVERSED, UNDECIDED = Outcome.SUPPORTED, Outcome.REVERSED, Outcome.UNDECIDED


def judged(folder, *claims, **options) -> list[Any]:
    return of_plan(finished_plan(folder, *claims, **options))


def of_plan(plan, scoring=SCORING) -> list[Any]:
    return judge_all(plan, scoring)


def made(place, system, seed, wrong, rng=5, of=TEXT, **changes):
    """Make a run with a share of wrong words."""
    lines = corrupted(of.references, wrong, np.random.default_rng([rng, seed]))
    given = {"config": config_of(VARIANTS[system], seed)} | LEARNED
    make_run(place, VARIANTS[system], seed, text=of, hypotheses=lines, **given | changes)


def test_a_claim_is_supported_and_with_swapped_systems_reversed(tmp_path):
    first, second = judged(tmp_path, a_claim(), a_claim("swapped", measure=SWAPPED))
    assert first.verdict.outcome is SUPPORTED
    assert second.verdict.outcome is REVERSED
    assert first.verdict.effect == pytest.approx(-second.verdict.effect)
    [corpus] = first.corpora
    values = corpus.rungs[-1].values
    expected = values["attention"].mean() - values["none"].mean()
    assert first.verdict.effect == pytest.approx(expected)
    assert corpus.rungs[-1].improvement == 1.0
    assert corpus.rungs[-1].middle == pytest.approx(expected, abs=2)


def test_seeds_with_own_test_sets_are_compared_by_their_scores(tmp_path):
    [one] = judged(tmp_path, a_claim(), own=True, seeds=range(1, 6))
    assert one.verdict.outcome is SUPPORTED
    assert one.verdict.seeds == 5
    assert one.corpora[0].rungs[-1].evidence.draws is None


def test_a_verdict_does_not_depend_on_other_claims(tmp_path):
    others = [a_claim(f"other{number}", measure=SWAPPED) for number in range(8)]
    [alone] = judged(tmp_path, a_claim())
    together = judged(tmp_path, *others, a_claim())[-1]
    assert alone.verdict == together.verdict
    assert alone.corrected.p < together.corrected.p


def test_a_control_below_its_floor_makes_no_fair_test(tmp_path):
    high = {"nearest copy": {"scores": {}, "by_length": {"1–10": {"bleu": 60.0}}}}
    [one] = judged(tmp_path, a_claim(), baselines=high)
    assert one.verdict.outcome is Outcome.NOT_FAIR
    assert one.verdict.reason.startswith("“none” has not learned to translate: ")
    assert one.verdict.reason.endswith("BLEU on sentences of 1–10 words, and its floor is 60.0")
    assert one.corpora[0].floors == {"attention": 60.0, "none": 60.0}
    assert one.corpora[0].reached["none"] < 60 < one.corpora[0].reached["attention"]
    spared = a_claim(floors={"systems": {"none": None}, "why": "it translates nothing by design"})
    [other] = judged(tmp_path, spared)
    assert other.verdict.outcome is SUPPORTED
    assert other.corpora[0].floors == {"attention": 60.0}


def test_a_floor_that_nobody_knows_is_asked_for(tmp_path):
    [one] = judged(tmp_path, a_claim(), baselines={})
    assert one.failure == "attention: no run without a model tells its floor; give the claim floors"
    given = a_claim(floors={"systems": {"attention": 3.0, "none": 2.0}, "why": "guessed"})
    assert judged(tmp_path, given)[0].verdict.outcome is SUPPORTED


@pytest.mark.parametrize(
    ("seeds", "lost", "outcome", "why"),
    [
        (5, [4], SUPPORTED, None),
        (5, [1, 2, 4], UNDECIDED, "attention: seeds 1, 2 and 4 of 5 collapsed, which leaves fewer"),
        (3, [2], UNDECIDED, "attention: seed 2 collapsed, and 3 seeds are too few"),
    ],
)
def test_collapsed_trainings_are_left_out_at_all_rungs(tmp_path, seeds, lost, outcome, why):
    for seed in lost:
        made(tmp_path / f"attention-{seed}", "attention", seed, 0.8)
    [one] = judged(tmp_path, a_claim(), seeds=range(1, seeds + 1))
    [corpus] = one.corpora
    assert corpus.collapsed == {"attention": lost}
    assert one.verdict.outcome is outcome
    assert why is None or one.verdict.reason.startswith(why)
    healthy = [seed for seed in range(1, seeds + 1) if seed not in lost]
    assert all(rung.seeds["attention"] == healthy for rung in corpus.rungs)
    assert corpus.rungs[-1].values["attention"].min() > 60


def test_an_effect_that_still_moves_is_undecided_with_its_way(tmp_path):
    shares = {1000: (0.6, 0.35), 2000: (0.3, 0.35), 4000: (0.05, 0.35)}
    for seed in (1, 2, 3):
        for rung, by_system in shares.items():
            for system, wrong in zip(SYSTEMS, by_system, strict=True):
                made(tmp_path / f"{system}-{seed}-{rung}", system, seed, wrong)
    [one] = judged(tmp_path, a_claim(), made=False)
    [corpus] = one.corpora
    assert [rung.verdict.outcome for rung in corpus.rungs[::2]] == [REVERSED, SUPPORTED]
    assert one.verdict.outcome is UNDECIDED
    assert one.verdict.p == 1
    assert one.verdict.effect == corpus.trajectory.effects[-1]
    assert "; it moved by +" in one.verdict.reason
    said = said_of(one, Scale("laptop"))
    assert said.index("may not have settled") < said.index("rises from −")
    assert ", crosses 0 near 1," in said


def test_losses_that_still_fall_leave_a_claim_undecided(tmp_path):
    for rung, loss in ((1000, 3.0), (2000, 2.5), (4000, 2.4)):
        for seed in (1, 2, 3):
            training = LEARNED["training"] | {"val_loss": loss}
            made(tmp_path / f"none-{seed}-{rung}", "none", seed, 0.35, training=training)
    [one] = judged(tmp_path, a_claim())
    assert one.verdict.outcome is UNDECIDED
    said = said_of(one, Scale("laptop"))
    assert said.startswith(
        "Undecided at laptop scale on a synthetic corpus, although at every budget so far the "
        "effect is large enough to count: “none” was still learning when training ended, so the "
        "effect may still change; its validation loss fell by 4.0% with"
    )
    assert one.corpora[0].rungs[-1].losses["none"] == pytest.approx([2.4] * 3)


def test_a_single_rung_is_judged_at_the_papers_scale_alone(tmp_path):
    plan = finished_plan(tmp_path, a_claim(), rungs=[4000.0])
    [one] = of_plan(plan)
    assert one.verdict.outcome is UNDECIDED
    tiers: dict[str, Any] = {"laptop": {}, "paper": {}}
    plan = finished_plan(tmp_path, a_claim(tiers=tiers), rungs=[4000.0])
    [one] = of_plan(replace(plan, tier="paper"))
    assert one.verdict.outcome is SUPPORTED


def test_an_extension_is_corrected_apart(tmp_path):
    fidelity = dict.fromkeys(("systems", "measure", "lengths", "paper"), True)
    why = "Nothing overfits."
    extension = a_claim("extension", fidelity=fidelity | {"regime": False, "why": why})
    first, second = judged(tmp_path, a_claim(), extension)
    assert first.extension is None
    assert second.extension == why
    assert second.corrected.p == second.verdict.p


def make_searches(folder, *trainings):
    """Make runs of two systems whose seeds differ much, and the systems little."""
    for system, training, more in zip(SYSTEMS, trainings, (0.0, 0.02), strict=True):
        for seed, share in {1: 0.1, 2: 0.14, 3: 0.18}.items():
            make_run(
                folder / f"{system}-{seed}",
                seed=seed,
                hypotheses=corrupted(TEXT.references, share + more, np.random.default_rng(5)),
                config=config_of(training, seed, decoding={"beam_size": len(system)}),
                **LEARNED,
            )


def test_one_training_with_two_searches_is_compared_within_its_seeds(tmp_path):
    """The seeds of both systems are the same trainings: good seeds are no noise of the search."""
    widths = {}
    for name, trainings in (("one", ["same"] * 2), ("two", ["first", "second"])):
        make_searches(tmp_path / name, *trainings)
        [one] = judged(tmp_path / name, a_claim())
        low, high = one.verdict.interval
        widths[name] = high - low
        assert one.corpora[0].rungs[-1].improvement == (1.0 if name == "one" else 6 / 9)
    assert widths["one"] < widths["two"] / 3


def test_one_seed_decides_nothing(tmp_path):
    [one] = judged(tmp_path, a_claim(), seeds=[1])
    assert one.verdict.outcome is UNDECIDED
    assert one.verdict.interval is None


def test_a_failed_system_ends_its_claims_alone(tmp_path):
    other = a_claim("other", measure={"kind": "difference", "more": "transformer", "less": "none"})
    plan = finished_plan(tmp_path, a_claim(), other)
    shutil.rmtree(tmp_path / "attention-2")
    make_failure(tmp_path / "attention-2", error="the loss is NaN")
    first, second = of_plan(plan)
    assert first.failure == "attention, seed 2: the loss is NaN"
    assert first.verdict is first.corrected is None
    assert second.verdict.outcome is SUPPORTED


def whole(run):
    return bleu(run, 0, 1000)


def bleu(run, low, high):
    """BLEU of a run on the sentences of some lengths, by sacreBLEU."""
    lengths = [len(source.split()) for source in run.test.sources]
    kept = [place for place, length in enumerate(lengths) if low <= length <= high]
    lines = [each.hypothesis for each in read_predictions(run.folder)]
    references = [run.test.references[place] for place in kept]
    return SCORES.corpus_score([lines[place] for place in kept], [references]).score


def kept(run):
    return bleu(run, 11, 1000) / bleu(run, 1, 10)


def tau(of):
    """Kendall's τ of the order transformer, attention, none in each seed, mean over seeds."""
    seeds = zip(*(of[key] for key in ("transformer", "attention", "none")), strict=True)
    signs = [np.sign([a - b, a - c, b - c]).mean() for a, b, c in seeds]
    return np.mean(signs)


LONG, SHORT = [11, None], [1, 10]


@pytest.mark.parametrize(
    ("measure", "score", "effect"),
    [
        ({"kind": "kept_difference", "more": "attention", "less": "none", "long": LONG,
          "short": SHORT},
         kept, lambda of: np.mean(of["attention"]) - np.mean(of["none"])),
        ({"kind": "kept", "system": "none", "below": 1.5, "long": LONG, "short": SHORT},
         kept, lambda of: 1.5 - np.mean(of["none"])),
        ({"kind": "order", "order": ["transformer", "attention", "none"]}, whole, tau),
        ({"kind": "level", "system": "none", "above": 20}, whole,
         lambda of: np.mean(of["none"]) - 20),
        ({"kind": "optimum", "rungs": ["none", "attention", "transformer"], "best": "attention"},
         whole, lambda of: min(np.mean(of["attention"]) - np.mean(of["none"]),
                               np.mean(of["attention"]) - np.mean(of["transformer"]))),
    ],
)  # fmt: skip
@pytest.mark.parametrize("own", [False, True])
def test_effects_are_those_of_the_scores(tmp_path, measure, score, effect, own):
    [one] = judged(tmp_path, a_claim(measure=measure), own=own)
    runs = one.corpora[0].rungs[-1].evidence.runs
    scores = {system: [*map(score, of)] for system, of in runs.items()}
    assert one.verdict.effect == pytest.approx(effect(scores))
    low, high = one.verdict.interval
    assert low <= one.verdict.effect <= high


def test_the_fall_of_bleu_is_told_beside_a_measure_without_a_floor(tmp_path):
    measure = {"kind": "slope_difference", "more": "attention", "less": "none"}
    plain = a_claim("plain", measure=measure)
    log = a_claim("log", measure=measure | {"log": True})
    first, second = judged(tmp_path, plain, log)
    assert first.corpora[0].rungs[-1].beside is None
    beside = second.corpora[0].rungs[-1].beside
    assert beside.value == pytest.approx(first.verdict.effect)
    assert (beside.low, beside.high) == pytest.approx(first.verdict.interval)


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (MEASURE | {"lengths": [50, 60]}, "no test sentence has 50 to 60 words"),
        ({"kind": "slope", "system": "none"}, "a slope needs two length buckets with enough "),
    ],
)
def test_lengths_without_a_sentence_are_told_in_words(tmp_path, measure, message):
    one_bucket = SCORING.model_copy(update={"edges": [100]})
    given = LEARNED["baselines"]["nearest copy"] | {"by_length": {"1–100": {"bleu": 5.0}}}
    plan = finished_plan(tmp_path, a_claim(measure=measure), baselines={"nearest copy": given})
    assert of_plan(plan, one_bucket)[0].failure.startswith(message)


DRAWS = [f"draw-{number}" for number in range(1, 9)]


def make_draws(folder, lost=()):
    """Make a training of each system on each draw, in whose texts the systems are much alike."""
    for draw in range(1, 9):
        of = text(draw)
        base = folder if draw == 1 else folder / f"draw-{draw}"
        hard = 0.05 * (draw % 4)
        for system, wrong in (("attention", 0.05), ("none", 0.15)):
            convergence = {"source_gain": 0.0 if (system, draw) in lost else 0.5}
            training = LEARNED["training"] | {"convergence": convergence}
            place = base / f"{system}-{draw}"
            made(place, system, draw, wrong + hard, of=of, training=training)


def test_random_corpora_are_one_row_whose_unit_is_the_draw(tmp_path):
    make_draws(tmp_path)
    [one] = judged(tmp_path, a_claim(), corpora=DRAWS)
    [row] = one.corpora
    assert row.corpus == "draws"
    assert row.verdict.seeds == 8
    last = row.rungs[-1]
    differences = last.values["attention"] - last.values["none"]
    assert row.verdict.effect == pytest.approx(differences.mean())
    low, high = row.verdict.interval
    half = 2.365 * differences.std(ddof=1) / 8**0.5 * (1 + 0.12 / 7)
    assert (high - low) / 2 == pytest.approx(half, rel=1e-3)
    assert last.improvement == (differences > 0).mean()
    [pooled] = one.pooled
    assert pooled.scale == "share of the attention effect"
    assert [each.corpus for each in pooled.corpora] == DRAWS
    assert pooled.effect == pytest.approx(differences.mean() / 10)


def test_a_draw_whose_training_never_began_is_left_out(tmp_path):
    make_draws(tmp_path, lost=[("none", 3)])
    [one] = judged(tmp_path, a_claim(), corpora=DRAWS)
    [row] = one.corpora
    assert row.collapsed == {"none": [3]}
    assert row.rungs[-1].seeds["attention"] == [1, 2, 4, 5, 6, 7, 8]
    assert row.verdict.seeds == 7


def test_synthetic_and_real_corpora_are_pooled_apart(tmp_path):
    corpora = ["en-fr", "en-de", "multi30k", "canlaw"]
    [one] = judged(tmp_path, a_claim(), corpora=corpora)
    assert [row.corpus for row in one.corpora] == corpora
    synthetic, real = one.pooled
    assert (synthetic.real, real.real) == (False, True)
    assert {synthetic.scale, real.scale} == {"log ratio"}  # of canlaw attention's share is unknown
    values = one.corpora[0].rungs[-1].values
    expected = np.log(values["attention"]).mean() - np.log(values["none"]).mean()
    assert synthetic.effect == pytest.approx(expected)
    assert synthetic.margin is None
    shares = {"value": 0.05, "unit": "attention", "why": "a twentieth", "written": "2026-11-25"}
    [two] = judged(tmp_path, a_claim(margin=shares), corpora=corpora[:2])
    assert two.pooled[0].margin.size == 0.05
    assert two.pooled[0].outcome is UNDECIDED  # two corpora say little of a third
    assert [row.margin.size for row in two.corpora] == [1.0, 0.5]
    [unknown] = judged(tmp_path / "canlaw", a_claim(margin=shares), corpora=["canlaw"])
    assert "its margin is a share of what attention brings" in unknown.failure


def test_an_unfair_corpus_is_not_pooled(tmp_path):
    high = {"nearest copy": {"scores": {}, "by_length": {"1–10": {"bleu": 60.0}}}}
    finished_plan(tmp_path, a_claim(), baselines=high)
    [one] = judged(tmp_path, a_claim(), corpora=["en-fr", "en-de"])
    assert one.corpora[0].verdict.outcome is Outcome.NOT_FAIR
    assert one.corpora[1].verdict.outcome is SUPPORTED
    assert one.pooled == []
