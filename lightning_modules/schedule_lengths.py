"""How many updates a schedule has that ends with the training."""

import math

from omegaconf import DictConfig

from datamodules.errors import UserError
from datamodules.translation_data import TranslationData
from lightning_modules.budgets import Budget
from lightning_modules.flops import Flops


def schedule_length(
    node: DictConfig, budget: Budget, data: TranslationData, flops: Flops | None
) -> dict[str, int]:
    """Tell a schedule that ends with the training how long that is, as an argument.

    Without ``flops`` nothing is trained. Raises ``UserError`` if nobody knows.
    """
    if "total_updates" not in node or node.total_updates is not None:
        return {}
    constant = "start" in node and node.start == node.end
    if constant or flops is None:
        return {"total_updates": 1}
    updates = expected_updates(budget, data, flops)
    if updates is None:
        name = node._key()
        raise UserError(
            f"budget={budget.kind}: nobody knows after how many updates {name} is to end; give "
            f"{name}.total_updates=N, another {name} or another budget"
        )
    return {"total_updates": updates}


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
