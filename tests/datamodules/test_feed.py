"""The feed: every pair of an epoch exactly once, whatever ranks, threads and interruptions do."""

import threading
import time
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import Dataset, SequentialSampler

from datamodules.batching import Feed, LengthBatchSampler, Pieces, PieceSampler, Place
from datamodules.batching import sampler as sampler_module
from tests.datamodules.samples import random_pairs

repeatable = settings(derandomize=True, deadline=None, database=None, max_examples=60)


def updates_of(pairs, place, *, workers=0, skipped=0, epoch=0, stop=None):
    """Return the sentences of each piece that a rank computes, piece by piece."""
    batches = LengthBatchSampler(pairs, 40, seed=7, shuffle=True)
    batches.set_epoch(epoch)
    batches.skip(skipped)
    feed = Feed(Pieces(pairs), PieceSampler(batches, place), workers)
    found = []
    for batch in feed:
        found.append(batch.ids.tolist() if batch.weight else [])
        if len(found) == stop:
            break
    return found


@repeatable
@given(
    count=st.integers(1, 120),
    ranks=st.sampled_from([1, 2, 3, 4]),
    accumulated=st.sampled_from([1, 2]),
    workers=st.sampled_from([0, 1, 3]),
    cut=st.floats(0, 1),
    epoch=st.integers(0, 2),
)
def test_every_pair_of_an_epoch_is_seen_exactly_once(
    count, ranks, accumulated, workers, cut, epoch
):
    """Some ranks are cut off after some updates; another number of ranks goes on."""
    pairs = random_pairs(count, 12, seed=count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampler_module, "POOL", 50)
        updates = len(LengthBatchSampler(pairs, 40, seed=7, shuffle=True))
        done = int(cut * updates)
        seen = []
        for rank in range(ranks if done else 0):
            place = Place(rank, ranks, ranks * accumulated)
            stop = done * accumulated
            seen += updates_of(pairs, place, workers=workers, epoch=epoch, stop=stop)
        later = 5 - ranks
        for rank in range(later):
            place = Place(rank, later, later)
            seen += updates_of(pairs, place, workers=workers, skipped=done, epoch=epoch)
    assert sorted(number for ids in seen for number in ids) == list(range(count))


@repeatable
@given(st.integers(1, 120), st.sampled_from([1, 2, 4]))
def test_any_number_of_ranks_makes_the_same_updates(count, ranks):
    pairs = random_pairs(count, 12, seed=count)
    whole = updates_of(pairs, Place())
    by_rank = [updates_of(pairs, Place(rank, ranks, ranks)) for rank in range(ranks)]
    assert [
        sorted(number for ids in update for number in ids) for update in zip(*by_rank, strict=True)
    ] == [sorted(update) for update in whole]


@pytest.mark.long
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_threads_change_no_batch_and_no_order(workers):
    pairs = random_pairs(2000, 12)

    def batches(threads):
        order = LengthBatchSampler(pairs, 60, seed=1, shuffle=True)
        return list(Feed(Pieces(pairs), PieceSampler(order, Place()), threads))

    for one, other in zip(batches(0), batches(workers), strict=True):
        assert all(
            torch.equal(a, b) if isinstance(a, torch.Tensor) else np.array_equal(a, b)
            for a, b in zip(one, other, strict=True)
        )


def test_threads_end_with_the_pass_and_with_a_pass_that_is_left():
    pairs, before = random_pairs(5000, 12), threading.active_count()
    feed = Feed(
        Pieces(pairs), PieceSampler(LengthBatchSampler(pairs, 60, shuffle=True), Place()), 3
    )
    for _ in feed:
        break
    list(feed)
    until = time.monotonic() + 10
    while threading.active_count() > before:
        assert time.monotonic() < until
        time.sleep(0.01)


class Slow(Dataset[Any]):
    """Items that take 10 ms to build; the fourth cannot be built."""

    def __getitem__(self, number):
        time.sleep(0.01)
        if number == 3:
            raise ZeroDivisionError
        return number


@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_comes_where_its_batch_would_be(workers):
    items = iter(Feed(Slow(), SequentialSampler(range(9)), workers))
    assert [next(items) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ZeroDivisionError):
        next(items)


class Pinned(int):
    """An item that counts as a batch in pinned memory."""

    def pin_memory(self):
        return self


@pytest.mark.parametrize(("given", "used"), [("cuda", 3), ("cuda:1", 1)])
def test_threads_use_the_gpu_of_the_training_by_its_number(monkeypatch, given, used):
    """Torch takes no ``cuda`` without a number there."""
    seen: list[torch.device] = []
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 3)
    monkeypatch.setattr(torch.cuda, "set_device", seen.append)
    items: Any = [Pinned(number) for number in range(3)]
    feed = Feed(items, SequentialSampler(items), 1, torch.device(given))
    assert list(feed) == items
    assert seen == [torch.device("cuda", used)]


def test_the_time_waited_is_counted():
    at_once, ahead = (Feed(Slow(), SequentialSampler(range(3)), workers) for workers in (0, 3))
    list(at_once)
    assert at_once.waited >= 0.03
    for _ in ahead:
        time.sleep(0.05)  # the next batches are built meanwhile
    assert ahead.waited < at_once.waited


@pytest.mark.long
@pytest.mark.timed
def test_two_workers_feed_two_million_target_tokens_a_second():
    pairs = random_pairs(300_000, longest=40)
    feed = Feed(
        Pieces(pairs), PieceSampler(LengthBatchSampler(pairs, 4096, shuffle=True), Place()), 2
    )
    rates = []
    for _ in range(3):
        started = time.perf_counter()
        tokens = sum(batch.update_tokens for batch in feed)
        rates.append(tokens / (time.perf_counter() - started))
    assert max(rates) > 2e6, rates
