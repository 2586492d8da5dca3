"""Learning rate schedules that torch does not ship."""

import math
from typing import Annotated

from pydantic import Field, PositiveInt, validate_call
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from lightning_modules.variants.options import ARBITRARY


@validate_call(config=ARBITRARY)
def inverse_sqrt(optimizer: Optimizer, warmup_updates: PositiveInt) -> LambdaLR:
    """Rise linearly to the optimizer's rate, then fall with 1/√update.

    Vaswani et al. 2017, section 5.3, with the peak rate as the parameter instead of d_model.
    """

    def factor(update: int) -> float:
        return min((update + 1) / warmup_updates, math.sqrt(warmup_updates / (update + 1)))

    return LambdaLR(optimizer, factor)


@validate_call(config=ARBITRARY)
def constant(optimizer: Optimizer) -> LambdaLR:
    """Keep the optimizer's rate."""
    return LambdaLR(optimizer, lambda update: 1.0)


@validate_call(config=ARBITRARY)
def linear(
    optimizer: Optimizer, warmup_updates: PositiveInt, total_updates: PositiveInt
) -> LambdaLR:
    """Rise linearly to the optimizer's rate, then fall linearly to a hundredth at the last update.

    ``total_updates`` may be an estimate: after these updates the rate stays.
    """

    def factor(update: int) -> float:
        rise = (update + 1) / warmup_updates
        fall = (total_updates - update) / max(1, total_updates - warmup_updates)
        return min(rise, max(fall, 0.01), 1.0)

    return LambdaLR(optimizer, factor)


@validate_call(config=ARBITRARY)
def halving(
    optimizer: Optimizer,
    constant_share: Annotated[float, Field(ge=0, lt=1)],
    halvings: PositiveInt,
    total_updates: PositiveInt,
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
