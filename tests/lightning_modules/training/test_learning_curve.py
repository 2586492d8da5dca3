"""The learning curve: its ladder, the errors of its changes, and what it says about a training."""

import math
from itertools import count, pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from datamodules.batching import EncodedPairs, Sequences
from lightning_modules.runs.files import read_history, read_learning_curve, read_result
from lightning_modules.runs.schema import Convergence, HistoryPoint
from lightning_modules.training import learning_curve
from lightning_modules.training.learning_curve import (
    FIRST,
    PER_DOUBLING,
    LossCurve,
    Measurement,
    bleu_gained,
    fall,
    is_flat,
    is_rung,
    last_fall,
    loss_points,
    nats_at,
    unbegun,
    with_other_sources,
)
from tests.helpers.commands import TINY, in_process, inside, mistake, places

RANDOM = np.random.default_rng(7)


def test_the_ladder_has_four_rungs_a_doubling_whatever_the_budget():
    rungs = [update for update in range(1, 4097) if is_rung(update)]
    assert rungs[:10] == [1, 2, 3, 4, 5, 6, 7, 8, 10, 11]
    assert {2**power for power in range(13)} <= set(rungs)
    for power in range(3, 12):
        inside_doubling = [rung for rung in rungs if 2**power <= rung < 2 ** (power + 1)]
        assert len(inside_doubling) == PER_DOUBLING
    for low, high in pairwise(rungs[20:]):
        assert high / low == pytest.approx(2 ** (1 / PER_DOUBLING), rel=0.03)


def test_the_error_of_a_fall_is_that_of_resampled_sentences():
    tokens = RANDOM.integers(3, 40, 200).astype(float)
    before = tokens * RANDOM.normal(4, 0.8, 200)
    after = 0.9 * before + tokens * RANDOM.normal(0, 0.2, 200)
    change = fall(before, after)
    assert change.share == pytest.approx(1 - after.sum() / before.sum())
    draws = RANDOM.integers(200, size=(4000, 200))
    resampled = 1 - after[draws].sum(1) / before[draws].sum(1)
    assert change.error == pytest.approx(resampled.std(), rel=0.1)
    [_, point] = loss_points(curve((1, 100, before), (2, 200, after)), tokens)
    assert (point.fall, point.fall_error) == change
    levels = after[draws].sum(1) / tokens[draws].sum(1)
    assert point.error == pytest.approx(levels.std(), rel=0.1)
    assert change.error is not None
    assert change.error < levels.std() / point.val_loss / 2


def test_a_single_sentence_has_no_error():
    assert fall(np.array([4.0]), np.array([3.0])) == (0.25, None)
    [point] = loss_points(curve((1, 10, [6.0])), np.array([2.0]))
    assert (point.val_loss, point.error, point.fall) == (3.0, None, None)


def curve(*points) -> list[Measurement]:
    """Updates, target tokens and losses of each point."""
    return [
        Measurement(updates, tokens, 1.0, 0.1, np.array(nats, float))
        for updates, tokens, nats in points
    ]


def test_losses_between_points_are_linear_in_the_logarithm_of_the_tokens():
    found = curve((1, 100, [8.0, 2.0]), (2, 400, [4.0, 2.0]))
    for tokens, nats in ((100, [8, 2]), (200, [6, 2]), (400, [4, 2])):
        assert nats_at(tokens, found) == pytest.approx(np.array(nats))
    assert nats_at(99, found) is None
    assert nats_at(401, found) is None
    assert nats_at(1, []) is None
    assert last_fall(found, 0.5) == fall(np.array([6.0, 2.0]), found[1].nats)
    assert last_fall(found, 0.2) is None
    assert last_fall([], 0.5) is None
    broken = curve((1, 100, [8.0, 2.0]), (2, 400, [math.nan, 2.0]))
    assert last_fall(broken, 0.5) is None


def point(tokens: int, bleu: float) -> HistoryPoint:
    return HistoryPoint(target_tokens=tokens, seconds=1, train_loss=1, val_loss=1, val_bleu=bleu)


def test_the_share_of_the_last_bleu_that_the_last_fifth_gained():
    assert bleu_gained([point(800, 15.0), point(1000, 20.0)]) == pytest.approx(0.25)
    assert bleu_gained([point(400, 10.0), point(1600, 20.0)]) == pytest.approx(
        0.5 * math.log(1.25) / math.log(4)
    )
    assert bleu_gained([point(900, 15.0), point(1000, 20.0)]) is None
    assert bleu_gained([point(100, 0.0), point(1000, 0.0)]) is None
    assert bleu_gained([]) is None


@given(st.floats(-0.5, 0.9), st.floats(0, 0.2))
def test_a_loss_still_falls_above_two_percent_and_two_errors(share, error):
    found = Convergence(fall=share, fall_error=error)
    assert found.still_falls == (share > 0.02 and share > 2 * error)
    assert ("train longer" in str(found.sentence)) == found.still_falls


def test_the_judgement_in_words():
    assert Convergence().sentence is None
    assert Convergence(fall=0.061, fall_error=0.008).sentence == (
        "validation loss still falls 6.1% ± 0.8% a doubling: train longer"
    )
    flat = Convergence(fall=0.004, fall_error=0.006, last_fifth_fall=0.001, last_fifth_bleu=0.02)
    assert flat.sentence == (
        "validation loss fell 0.4% ± 0.6% with the last doubling (the last fifth took 0.1% off "
        "the loss and brought 2.0% of the last BLEU)"
    )
    rising = flat.model_copy(update={"fall": -0.07})
    assert str(rising.sentence).startswith("validation loss rose 7.0% ± 0.6% with the last")
    worse = flat.model_copy(update={"last_fifth_fall": -0.013, "last_fifth_bleu": -0.02})
    assert str(worse.sentence).endswith(" (the last fifth added 1.3% to the loss)")


def test_a_training_that_ignores_its_source_has_not_begun():
    assert Convergence().began
    assert Convergence(source_gain=0.2, source_gain_error=0.02).began
    assert not Convergence(source_gain=0.2, source_gain_error=0.11).began
    low = Convergence(source_gain=0.03, source_gain_error=0.001)
    assert not low.began
    [line] = unbegun(low)
    assert "does not translate yet" in line
    assert [*unbegun(Convergence())] == []


def test_each_reference_gets_the_source_of_the_sentence_before():
    pairs = EncodedPairs(None, Sequences.of([[5], [6, 7], [8]]), Sequences.of([[9, 9], [4], [3]]))
    own, other = pairs[np.arange(3)], with_other_sources(pairs[np.arange(3)])
    assert torch.equal(other.src, own.src[[2, 0, 1]])
    assert torch.equal(other.src_mask, own.src_mask[[2, 0, 1]])
    assert other.lengths[0].tolist() == [2, 2, 3]
    assert torch.equal(other.tgt_out, own.tgt_out)
    assert other.lengths[1].tolist() == own.lengths[1].tolist()


def test_a_curve_is_flat_where_a_doubling_takes_less_off_beyond_its_error():
    rising = curve((1, 100, [4.0, 4.0]), (2, 200, [3.9, 3.9]))
    assert is_flat(rising, 0.03)
    assert not is_flat(rising, 0.02)
    unsure = curve((1, 100, [4.0, 4.0]), (2, 200, [3.0, 4.8]))
    assert not is_flat(unsure, 0.03)  # 2.5%, but the two sentences do not agree
    assert not is_flat(rising[:1], 0.5)


RUN = [*TINY, "logger=none", "scheduler=constant", "batching.max_tokens=300", "seed=3"]
RUN += ["trainer.val_check_interval=5", "budget=updates", "decoding=greedy", "val_sentences=8"]


@pytest.fixture(scope="module")
def run(space):
    def trained(updates: int, *overrides: str):
        folder = space / "-".join([str(updates), *overrides])
        given = [f"budget.updates={updates}", f"hydra.run.dir={folder}"]
        inside(*(each for each in RUN if "target_tokens" not in each), *places(space), *given)
        return folder

    return trained


def test_a_run_has_a_point_at_each_rung_and_at_its_end(run):
    folder = run(21)
    points, history = read_learning_curve(folder), read_history(folder)
    updates = [each.updates for each in points]
    assert updates[-1] == 21
    assert updates[:-1] == [rung for rung in range(updates[0], 21) if is_rung(rung)]
    assert len(updates) > 4
    assert points[-1].val_loss == pytest.approx(history[-1].val_loss, rel=1e-5)
    assert points[-1].target_tokens == history[-1].target_tokens
    result = read_result(folder)
    assert result is not None
    learned = result.training.convergence
    assert (learned.fall, learned.fall_error) == (points[-1].fall, points[-1].fall_error)
    assert learned.source_gain is not None
    log = (folder / "run.log").read_text(encoding="utf-8")
    assert learned.sentence in log


def test_a_larger_budget_has_the_same_points(run):
    short, long = (read_learning_curve(run(updates)) for updates in (21, 30))
    shared = [each.model_copy(update={"seconds": 0.0}) for each in short[:-1]]
    assert [each.model_copy(update={"seconds": 0.0}) for each in long[: len(shared)]] == shared


def plateau(space, name: str, share: float = 0.9) -> list[str]:
    """Return a command that ends where a doubling takes less than a share off the loss."""
    given = [each for each in RUN if "budget" not in each and "scheduler" not in each]
    given += ["budget=plateau", "budget.target_tokens=20000", f"budget.plateau={share}"]
    return [*given, *places(space), f"hydra.run.dir={space / name}"]


def account(folder) -> tuple:
    """What two equal trainings share, besides the folder."""
    points = [each.model_copy(update={"seconds": 0.0}) for each in read_learning_curve(folder)]
    result = read_result(folder)
    assert result is not None
    training = result.training
    return points, training.data_order, training.ended_by, training.convergence, result.scores


def test_a_plateau_ends_a_training_also_one_that_was_interrupted(space, monkeypatch):
    inside(*plateau(space, "whole"))
    whole = account(space / "whole")
    points, _, ended_by, *_ = whole
    assert [each.fall is not None for each in points] == [False] * (len(points) - 1) + [True]
    assert ended_by == "budget.plateau=0.9"
    result = read_result(space / "whole")
    assert result is not None
    assert not result.training.ended_early
    assert not any("ended the training" in each for each in result.training.suspicions)
    for place in (2, len(points)):
        with monkeypatch.context() as patched:
            measure, calls = LossCurve._measure, count(1)

            def interrupted(*arguments: Any, measure=measure, calls=calls, place=place) -> Any:
                if next(calls) == place:
                    raise KeyboardInterrupt
                return measure(*arguments)

            patched.setattr(LossCurve, "_measure", interrupted)
            assert in_process(*plateau(space, f"cut-{place}"))
        inside(*plateau(space, f"cut-{place}"))
        assert account(space / f"cut-{place}") == whole


def test_a_training_that_reaches_no_plateau_spends_the_most(space):
    inside(*plateau(space, "most", share=1e-6), "budget.target_tokens=3000")
    result = read_result(space / "most")
    assert result is not None
    assert result.training.ended_by is None
    assert (result.training.target_tokens or 0) >= 3000


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["budget.plateau=1.5"], "budget.plateau=1.5: "),
        (["scheduler=linear"], "budget.plateau=0.9: does not fix the number of updates"),
        (["teacher_forcing=scheduled"], "give teacher_forcing.total_updates=N"),
        (["~callbacks.learning_curve"], "budget.plateau=0.9: needs callbacks.learning_curve"),
        (["+trainer.limit_val_batches=0"], "leave out trainer.limit_val_batches=0"),
    ],
)
def test_a_plateau_that_cannot_be_is_refused(space, given, told):
    assert told in mistake(*plateau(space, "refused"), *given)


@pytest.mark.parametrize(
    ("tokens", "updates", "limit", "measures"),
    [
        (FIRST * 100 - 1, 16, 1.0, False),  # so early that it would cost much
        (FIRST * 100, 17, 1.0, False),  # no rung
        (FIRST * 100, 16, 0, False),  # no validation is wanted
        (FIRST * 100, 16, 1.0, True),
    ],
)
def test_the_points_cost_little(monkeypatch, tokens, updates, limit, measures):
    monkeypatch.setattr(LossCurve, "_measure", lambda *_: "measured")
    monkeypatch.setattr(LossCurve, "_write", lambda *_: None)
    wanted = SimpleNamespace(plateau=None)
    budget = SimpleNamespace(cost={"target_tokens": tokens}, budget=wanted)
    monkeypatch.setattr(learning_curve, "budget_of", lambda _: budget)
    data = SimpleNamespace(validation_pairs=SimpleNamespace(tokens=100))
    trainer: Any = SimpleNamespace(
        datamodule=data, global_step=updates, limit_val_batches=limit, should_stop=False
    )
    nothing: Any = None
    callback = LossCurve("nowhere")
    callback.on_update_end(trainer, nothing, nothing)
    assert bool(callback.rungs) == measures
