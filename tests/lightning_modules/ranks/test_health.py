"""The check of the ranks before a training, and the watch for ranks that hang."""

import logging
import time

import pytest
import pytorch_lightning as pl
import torch

from datamodules.errors import UserError
from lightning_modules.library_internals import limit_waiting
from lightning_modules.ranks.health import RankReport, check_reports, summary
from lightning_modules.ranks.hung_ranks import PATIENCE, Standstill
from lightning_modules.ranks.launcher import run_on_ranks
from tests.lightning_modules.ranks import rank_jobs


def reports(**changes):
    """Four ranks on two nodes; ``changes`` are of the last rank."""
    ranks = [
        RankReport(
            rank, rank // 2, "ab"[rank // 2], "H100", f"GPU-{rank}", 70.0 + rank, "2.13", "c"
        )
        for rank in range(4)
    ]
    return [*ranks[:-1], ranks[-1]._replace(**changes)]


def test_equal_nodes_are_summed_up_in_a_line():
    check_reports(reports())
    assert summary(reports()) == "4 ranks on 2 nodes, 4 × H100, at least 70.0 GiB free"
    alone = [each._replace(gpu=None, device="cpu", free_gib=None) for each in reports()[:2]]
    check_reports(alone)
    assert summary(alone) == "2 ranks on 1 node, 2 × cpu"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gpu": "GPU-2"}, "ranks 2 and 3 on b have the same GPU"),
        ({"torch": "2.12"}, "version of torch: 2.12 for rank 3 on b, 2.13 for rank 0 on a; make"),
        ({"code": "d"}, "version of this code: d for rank 3 on b, c for rank 0 on a; make"),
        ({"gpu": None}, "device: CPU for rank 3 on b, GPU for rank 0 on a; make"),
        ({"node": 2}, "number of ranks on a node: 1 for rank 2 on b, 2 for rank 0 on a"),
    ],
)
def test_ranks_that_cannot_train_together_are_refused_in_a_line(changes, message):
    with pytest.raises(UserError) as caught:
        check_reports(reports(**changes))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_only_a_rank_that_others_wait_for_is_missing():
    still = Standstill(10)
    assert still.missing([3, 3], 0) == []
    assert still.missing([3, 3], 60) == []  # all compile
    assert still.missing([3, 4, 4], 61) == []
    assert still.missing([3, 5, 3], 69) == []
    assert still.missing([3, 5, 3], 71) == [0, 2]
    assert still.missing([4, 5, 4], 72) == []
    assert still.missing([4, 5, 5], 81) == []
    assert still.missing([4, 5, 5], 82) == [0]


def test_a_hung_rank_is_found_in_five_minutes():
    assert PATIENCE.total_seconds() * 1.1 < 300


@pytest.mark.long
@pytest.mark.parametrize(
    "how", [pytest.param("sleeps", marks=pytest.mark.exhaustive), "is stopped"]
)
def test_a_rank_that_hangs_ends_all_ranks_and_is_named(caplog, how):
    caplog.set_level(logging.INFO)
    started = time.monotonic()
    with pytest.raises(UserError, match=r"^rank 1 of 2 hangs: no progress in 3 s"):
        run_on_ranks(2, rank_jobs.hang, how, 3.0)
    assert time.monotonic() - started < 60
    [health] = [r.getMessage() for r in caplog.records if "all-reduce" in r.getMessage()]
    assert health.startswith("2 ranks on 1 node, 2 × cpu; all-reduce ")
    assert health.endswith(" GB/s")


def test_gpus_wait_for_each_other_for_the_given_time(tmp_path):
    trainer = pl.Trainer(
        accelerator="cpu", devices=2, strategy="ddp", logger=False, default_root_dir=tmp_path
    )
    default = trainer.strategy._timeout  # type: ignore[attr-defined]
    limit_waiting(trainer, PATIENCE)
    assert trainer.strategy._timeout == default  # type: ignore[attr-defined]
    trainer.strategy.parallel_devices = [torch.device("cuda", 0)] * 2  # type: ignore[attr-defined]
    limit_waiting(trainer, PATIENCE)
    assert trainer.strategy._timeout == PATIENCE  # type: ignore[attr-defined]
