"""Number of updates of a schedule that ends with the training."""

from omegaconf import DictConfig

from datamodules.errors import UserError
from datamodules.translation_data import TranslationData
from lightning_modules.training.control.budgets import KINDS, Budget, find_kind
from lightning_modules.training.control.flops import Flops


def schedule_length(
    config: DictConfig, name: str, budget: Budget, data: TranslationData, flops: Flops | None
) -> dict[str, int]:
    """Return ``total_updates`` for a schedule that ends with the training, else no argument.

    Args:
        config: the configuration of a run.
        name: name of the node of the schedule, ``scheduler`` or ``teacher_forcing``.
        budget: budget of the training.
        data: the training sentences.
        flops: the cost of sentence pairs; None for a model that is not trained.

    Raises:
        UserError: for a budget that does not fix the number of updates.
    """
    node = config[name]
    if "total_updates" not in node or node.total_updates is not None:
        return {}
    constant = "start" in node and node.start == node.end
    if constant or flops is None:
        return {"total_updates": 1}
    updates = expected_updates(budget, data, flops)
    if updates is None:
        setting = "budget" if budget.kind in KINDS else "budget.kind"
        raise UserError(
            f"{setting}={budget.kind}: does not fix the number of updates, and {name} ends with "
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
