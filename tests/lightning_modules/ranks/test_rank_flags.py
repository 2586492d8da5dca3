"""Ranks exchange their flags every so many updates, and at least every two seconds."""

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from torch import distributed

from lightning_modules.ranks import updates as exchange
from lightning_modules.ranks.updates import RankFlags


def exchanges(monkeypatch: Any, pace: float, updates: int, ranks: int = 2) -> list[int]:
    """Return before which updates two ranks exchange, at a pace in seconds for each update."""
    flags, found, clock = RankFlags(), [], [0.0]
    trainer: Any = SimpleNamespace(
        world_size=ranks, global_step=0, accumulate_grad_batches=1, log_every_n_steps=20
    )
    monkeypatch.setattr(exchange.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(distributed, "all_reduce", lambda *_: found.append(trainer.global_step))
    flags.add("save", lambda: True)
    flags.on_train_start(trainer, None)  # type: ignore[arg-type]
    raised = []
    for update in range(updates):
        trainer.global_step = update
        flags.on_train_batch_start(trainer, None, None, update)  # type: ignore[arg-type]
        raised += [update] if flags["save"] else []
        clock[0] += pace
    assert raised == (found if ranks > 1 else list(range(updates)))
    return found


@pytest.mark.parametrize(
    ("pace", "between"), [(0.001, 20), (0.01, 20), (0.1, 10), (0.3, 3), (0.9, 1), (5.0, 1)]
)
def test_ranks_exchange_at_the_pace_of_their_updates(monkeypatch, pace, between):
    found = exchanges(monkeypatch, pace, 100)
    assert found[:2] == [0, 1]  # the pace is known after the first update
    assert {after - before for before, after in pairwise(found[1:])} == {between}
    assert between * pace <= 2 or between == 1


def test_a_single_rank_asks_before_every_update_and_sends_nothing(monkeypatch):
    assert exchanges(monkeypatch, 0.001, 50, ranks=1) == []
