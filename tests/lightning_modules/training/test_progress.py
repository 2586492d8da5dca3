"""What a training prints at its validations: one line, and other examples each time."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from datamodules.corpus import ParallelText
from lightning_modules.training.progress import ExampleTranslations, ProgressLines
from tests.lightning_modules.training.test_training import module

SENTENCES = 20


class Validated:
    """A trainer that has just validated, as far as the callbacks look at it."""

    is_global_zero = True
    text = ParallelText([f"s{n}" for n in range(SENTENCES)], [f"t{n}" for n in range(SENTENCES)])

    def __init__(self) -> None:
        self.datamodule = SimpleNamespace(text=lambda split: self.text)
        self.callback_metrics = {"val/loss": torch.tensor(12.3456), "val/bleu": torch.tensor(100.0)}
        self.callbacks: list[Any] = []


def shown(callback, validations, caplog):
    """Return the hypotheses that so many validations show."""
    trained = module()
    trained.validated = {number: f"h{number}" for number in range(SENTENCES)}
    caplog.clear()
    with caplog.at_level(logging.INFO):
        for _ in range(validations):
            callback.on_validation_end(Validated(), trained)
    return [message.split()[1] for message in caplog.messages if "hypothesis" in message]


def test_each_validation_shows_another_sentence_of_all_places(caplog):
    ten = shown(ExampleTranslations(1), 10, caplog)
    assert len(set(ten)) == 10
    places = sorted(int(each[1:]) for each in ten)
    assert places[0] < 3
    assert places[-1] >= SENTENCES - 3
    lines = [message.split() for message in caplog.messages[:3]]
    number = lines[2][1][1:]
    assert lines == [["source", f"s{number}"], ["reference", f"t{number}"], lines[2]]


def test_a_training_that_goes_on_shows_further_sentences(caplog):
    whole = shown(ExampleTranslations(2), 4, caplog)
    begun, continued = ExampleTranslations(2), ExampleTranslations(2)
    first = shown(begun, 2, caplog)
    continued.load_state_dict(begun.state_dict())
    assert first + shown(continued, 2, caplog) == whole


@pytest.mark.parametrize("count", [0, SENTENCES + 5])
def test_no_more_are_shown_than_there_are(caplog, count):
    assert len(shown(ExampleTranslations(count), 1, caplog)) == min(count, SENTENCES)


def test_the_line_of_a_validation_fits_80_columns(caplog, monkeypatch):
    budget = SimpleNamespace(share=1.0, seconds_left=3_599.0)
    monkeypatch.setattr("lightning_modules.training.progress.budget_of", lambda trainer: budget)
    monkeypatch.setattr("lightning_modules.training.progress.mean_loss", lambda trainer: 12.3456)
    with caplog.at_level(logging.INFO):
        lines: Any = ProgressLines("luong_global seed 1")
        lines.on_validation_end(Validated(), module())
    [line] = caplog.messages
    assert line.startswith("luong_global seed 1  100%  loss 12.346  val loss 12.346  BLEU 100.00")
    assert line.endswith("59:59 left")
    assert len(line) <= 80
