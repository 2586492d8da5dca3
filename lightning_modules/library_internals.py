"""The private parts of libraries that the harness uses, each with a test that fails on a change."""

import pytorch_lightning as pl


def end_only_by_flags(trainer: pl.Trainer) -> None:
    """Do not ask the other ranks for SIGTERM before each batch, as Lightning does.

    Its question waits for the device; ``RankFlags`` asks over the processor, and less often.
    """
    trainer.fit_loop.epoch_loop._broadcast_sigterm_tensor = lambda: None  # type: ignore[method-assign]


def correct_step_count(trainer: pl.Trainer) -> None:
    """Set Lightning's step counter to the true number.

    After a resumed validation the counter is one too high.
    """
    trainer.fit_loop.epoch_loop._batches_that_stepped = trainer.global_step
