"""How many updates a schedule has that ends with the training."""

import math

from datamodules.errors import UserError
from datamodules.translation_data import TranslationData
from lightning_modules.budgets import Budget
from lightning_modules.flops import Flops


def length_of_schedule(name: str, budget: Budget, data: TranslationData, flops: Flops) -> int:
    """Tell schedule ``name`` how long the training is. Raises ``UserError`` if nobody knows."""
    updates = expected_updates(budget, data, flops)
    if updates is None:
        raise UserError(
            f"budget={budget.kind}: nobody knows after how many updates {name} is to end; give "
            f"{name}.total_updates=N, another {name} or another budget"
        )
    return updates


def expected_updates(budget: Budget, data: TranslationData, flops: Flops) -> int | None:
    """Estimate how many updates a budget comes to; None for seconds, which only time tells."""
    if budget.kind == "updates":
        return int(budget.amount)
    if budget.kind == "target_tokens":
        return data.updates(int(budget.amount))
    if budget.kind == "flops":
        pairs = data.prepared.encoded["train"]
        return data.updates(math.ceil(budget.amount / flops.a_target_token(pairs)))
    return None
