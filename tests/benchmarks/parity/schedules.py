"""The learning rates of JoeyNMT's ``warmupinversesquareroot``, for trainings here."""

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from lightning_modules.training.schedules import inverse_sqrt


def as_in_joeynmt(optimizer: Optimizer, warmup_updates: int) -> LambdaLR:
    """Train the first update with the whole rate, since JoeyNMT's schedule begins after it.

    All further updates have the rates of ``inverse_sqrt``.
    """
    [factor] = inverse_sqrt(optimizer, warmup_updates=warmup_updates).lr_lambdas
    for group in optimizer.param_groups:
        group["lr"] = group.pop("initial_lr")  # the schedule above has changed it
    return LambdaLR(optimizer, lambda update: factor(update) if update else 1.0)
