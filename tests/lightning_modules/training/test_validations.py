"""The one order of validations, and what follows it: tested weights, early end, learning rate."""

from math import inf, nan
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lightning_modules.runs.files import read_history, read_result
from lightning_modules.runs.schema import Training
from lightning_modules.training import module
from lightning_modules.training.schedules import plateau
from lightning_modules.training.validations import Validation, count_improvements, doubts
from tests.helpers.commands import TINY, inside, places

NUMBERS = st.lists(st.builds(Validation, st.sampled_from([0.5, 1.0, 2.0]), st.sampled_from([0, 9])))


@given(NUMBERS)
def test_improvements_rise_with_each_validation_that_is_the_best_so_far(validations):
    counts = [count_improvements(validations[:n]) for n in range(len(validations) + 1)]
    for number, validation in enumerate(validations):
        better = all(validation.order < before.order for before in validations[:number])
        assert counts[number + 1] - counts[number] == better


def test_a_tie_of_one_number_is_decided_by_the_other():
    falling = [Validation(3.0, 0.0), Validation(2.0, 0.0), Validation(1.0, 0.0)]
    assert [count_improvements(falling[:n]) for n in range(4)] == [0, 1, 2, 3]
    assert count_improvements([Validation(1.0, 3.0), Validation(1.0, 5.0)]) == 2
    assert count_improvements([Validation(1.0, 3.0), Validation(0.99999, 3.0)]) == 1
    assert count_improvements([Validation(1.0, 5.0), Validation(1.0, 5.0)]) == 1


@pytest.mark.parametrize("loss", [inf, nan])
def test_a_loss_that_is_not_finite_is_never_the_best(loss):
    broken, good = Validation(loss, 5.0), Validation(1.0, 5.0)
    assert count_improvements([broken]) == 0
    assert count_improvements([broken, good, broken]) == 1
    assert [*doubts(good, [broken, good])] == []
    assert [*doubts(broken, [broken])] == []
    [line] = doubts(broken, [broken, good])
    assert f"is {loss:.4f}, and 1.0000 in another validation" in line


def test_a_plateau_lowers_the_rate_only_where_validations_stop_getting_better():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule, rates = plateau(optimizer, factor=0.5, patience=1), []
    for improvements in (0, 1, 2, 3, 3, 3, 4, 4, 4):
        schedule.step(float(improvements))
        rates.append(optimizer.param_groups[0]["lr"])
    assert rates == [1, 1, 1, 1, 1, 0.5, 0.5, 0.5, 0.25]


def test_doubts_name_a_bleu_of_zero_a_lower_loss_and_a_missing_validation():
    zero, lower, good = Validation(2.0, 0.0), Validation(1.5, 3.0), Validation(2.0, 20.0)
    assert [*doubts(good, [good])] == []
    [line] = doubts(zero, [zero])
    assert "validation BLEU of the tested weights is 0" in line
    [line] = doubts(good, [good, lower])
    assert "is 2.0000, and 1.5000 in another validation" in line
    [line] = doubts(None, [])
    assert "no validation took place" in line


@pytest.fixture
def always_zero(monkeypatch):
    """Validation BLEU is 0, as for Chinese or for targets of one word."""
    monkeypatch.setattr(module, "corpus_bleu", lambda *texts: 0.0)


RUN = [*TINY, "logger=none", "trainer.val_check_interval=4", "budget.target_tokens=6000"]
RUN += ["decoding=greedy"]


def trained(space, *overrides: str) -> Any:
    folder = space / str(len([*space.iterdir()]))
    inside(*RUN, *places(space), f"hydra.run.dir={folder}", *overrides)
    return folder


def training_of(folder) -> Training:
    result = read_result(folder)
    assert result is not None
    return result.training


def test_the_weights_that_learned_are_tested_though_validation_bleu_is_0(tmp_path, always_zero):
    folder = trained(tmp_path, "callbacks=early_stopping", "callbacks.early_stopping.patience=1")
    history, training = read_history(folder), training_of(folder)
    losses = [point.val_loss for point in history]
    assert len(losses) > 2
    assert losses[-1] < losses[0]
    assert training.val_loss == pytest.approx(min(losses))
    best = torch.load(folder / "checkpoints" / "best.ckpt", weights_only=True)
    assert len(best["validations"]) == losses.index(min(losses)) + 1
    warning = "validation BLEU of the tested weights is 0"
    assert any(warning in line for line in training.suspicions)
    assert warning in (folder / "run.log").read_text(encoding="utf-8")


def test_a_run_whose_loss_fell_after_the_tested_weights_says_so(tmp_path, monkeypatch):
    scores = iter(range(90, 0, -1))
    monkeypatch.setattr(module, "corpus_bleu", lambda *texts: float(next(scores)))
    by_bleu = ["callbacks.checkpoint.monitor=val/bleu", "callbacks.checkpoint.mode=max"]
    folder = trained(tmp_path, *by_bleu)
    training = training_of(folder)
    assert training.val_bleu == 90
    assert "in another validation" in (folder / "run.log").read_text(encoding="utf-8")
    assert "in another validation" in training.suspicions[0]
