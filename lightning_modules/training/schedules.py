"""Learning rate schedules by updates, and one by validations."""

import math

from omegaconf import DictConfig
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau

from datamodules.errors import UserError
from datamodules.translation_data import TranslationData
from lightning_modules.runs.settings import flatten
from lightning_modules.runs.trunk_checks import ends_with_budget
from lightning_modules.training.budgets import KINDS, Budget, find_kind, read_budget
from lightning_modules.training.flops import Flops


def inverse_sqrt(optimizer: Optimizer, warmup_updates: int) -> LambdaLR:
    """Rise linearly to the optimizer's rate, then fall with 1/√update.

    Vaswani et al. 2017, section 5.3, with the peak rate as the parameter instead of d_model.
    """

    def factor(update: int) -> float:
        return min((update + 1) / warmup_updates, math.sqrt(warmup_updates / (update + 1)))

    return LambdaLR(optimizer, factor)


def constant(optimizer: Optimizer, warmup_updates: int = 1) -> LambdaLR:
    """Rise linearly to the optimizer's rate, by default at once, and keep it."""
    return LambdaLR(optimizer, lambda update: min((update + 1) / warmup_updates, 1.0))


def linear(optimizer: Optimizer, warmup_updates: int, total_updates: int) -> LambdaLR:
    """Rise linearly to the optimizer's rate, then fall linearly to a hundredth at the last update.

    ``total_updates`` may be an estimate: after these updates the rate stays.
    """

    def factor(update: int) -> float:
        rise = (update + 1) / warmup_updates
        fall = (total_updates - update) / max(1, total_updates - warmup_updates)
        return min(rise, max(fall, 0.01), 1.0)

    return LambdaLR(optimizer, factor)


def halving(
    optimizer: Optimizer, constant_share: float, halvings: int, total_updates: int
) -> LambdaLR:
    """Keep the optimizer's rate for a share of the updates, then halve it in equal intervals.

    Luong et al. 2015, section 4.1. The first halving comes at the end of the share; beyond
    ``total_updates``, which may be an estimate, the rate stays.
    """
    interval = (1 - constant_share) / halvings

    def factor(update: int) -> float:
        done = (update / total_updates - constant_share) / interval
        return 0.5 ** min(halvings, max(0, math.floor(done + 1e-9) + 1))

    return LambdaLR(optimizer, factor)


def plateau(optimizer: Optimizer, factor: float, patience: int) -> ReduceLROnPlateau:
    """Multiply the rate by ``factor`` after more than ``patience`` validations without a new best.

    The schedule sees the number of improvements, which rises by one with each of them.
    """
    return ReduceLROnPlateau(optimizer, "max", factor, patience, threshold=0, threshold_mode="abs")


def schedule_length(
    config: DictConfig, name: str, data: TranslationData, flops: Flops
) -> dict[str, int]:
    """Return ``total_updates`` for a schedule that ends with the training, else no argument.

    ``name`` is the node of the schedule. Raises ``UserError`` for a budget that does not fix the
    number of updates.
    """
    node = config[name]
    if node.get("total_updates", "") is not None:
        return {}
    if not ends_with_budget(flatten({name: node}), name):  # the share of references stays the same
        return {"total_updates": 1}
    budget = read_budget(config)
    updates = expected_updates(budget, data, flops) if budget.plateau is None else None
    if updates is None:
        setting = f"{'budget' if budget.kind in KINDS else 'budget.kind'}={budget.kind}"
        if budget.plateau is not None:
            setting = f"budget.plateau={budget.plateau}"
        raise UserError(
            f"{setting}: does not fix the number of updates, and {name} ends with "
            f"the last; give {name}.total_updates=N, another {name} or another budget"
        )
    return {"total_updates": updates}


def expected_updates(budget: Budget, data: TranslationData, flops: Flops) -> int | None:
    """Estimate the number of updates of a budget; None for a kind that cannot tell.

    Raises ``UserError`` for a kind that returns no number of updates.
    """
    kind = find_kind(budget.kind)
    updates = kind.updates(budget.amount, data, flops)
    if updates is None or (isinstance(updates, int) and updates > 0):
        return updates
    raise UserError(
        f"budget.kind={budget.kind}: {type(kind).__name__}.updates returns {updates!r}, but a "
        "positive whole number or None is needed"
    )
