"""Checks of the settings by which a training continues another one.

A *trunk* is a training whose schedules do not end with its budget: with a larger budget it takes
the same updates, and then more. ``continue``, ``budget.rungs`` and the same command with a larger
budget need one.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from datamodules.errors import UserError
from lightning_modules.runs.settings import settings

SCHEDULES = ("scheduler", "teacher_forcing")
"""Groups with a schedule over the updates of a training."""
AMOUNTS = ("target_tokens", "updates", "flops", "seconds", "amount")
"""Keys of a budget that hold its amount."""


def schedule_that_ends(values: Mapping[str, Any]) -> str | None:
    """Return the group whose schedule ends with the budget; None for a trunk.

    ``values`` are those of a configuration by dotted key.
    """
    return next((name for name in SCHEDULES if ends_with_budget(values, name)), None)


def ends_with_budget(values: Mapping[str, Any], name: str) -> bool:
    """Return whether a schedule ends with the last update of the budget."""
    if values.get(f"{name}.total_updates", "") is not None:
        return False
    start, end = (values.get(f"{name}.{key}") for key in ("start", "end"))
    return start is None or start != end


def check_trunk(values: Mapping[str, Any], task: str | None) -> None:
    """Raise ``UserError`` for settings of a configuration that cannot continue a training.

    ``task`` is the name of the task, None for a user's own.
    """
    run, rungs = values.get("continue"), values.get("budget.rungs")
    given = f"continue={run}" if run else f"budget.rungs={rungs}"
    if not run and not rungs:
        return
    if task == "study":
        raise UserError(f"{given}: the trials of a study start from the beginning; leave it out")
    if run and values.get("init_from"):
        raise UserError(
            f"{given}: continues a training with its weights, and init_from={values['init_from']} "
            "starts another one; leave one of them out"
        )
    if name := schedule_that_ends(values):
        raise UserError(
            f"{given}: {name} ends with the budget, so that nothing can follow; give {name}="
            f"{'constant' if name == 'scheduler' else 'always'} or {name}.total_updates=N"
        )
    if rungs and task != "claims":  # which have rungs of their own, and refuse a budget
        _check_rungs(values, rungs)


def _check_rungs(values: Mapping[str, Any], rungs: Sequence[Any]) -> None:
    key = amount_key(values)
    amount, each = values.get(key), settings()[key].type
    if wrong := [rung for rung in rungs if not each.allows(rung)]:
        raise UserError(f"budget.rungs={rungs}: {wrong[0]} is no {key}; give {each}")
    if any(later <= earlier for earlier, later in pairwise(rungs)):
        raise UserError(f"budget.rungs={rungs}: give amounts that rise")
    if isinstance(amount, int | float) and rungs[-1] > amount:
        raise UserError(
            f"budget.rungs={rungs}: {rungs[-1]} is more than {key}={amount}; give a larger {key}, "
            "or smaller rungs"
        )


def amount_key(values: Mapping[str, Any]) -> str:
    """Return the key of the amount of a budget, such as ``budget.updates``."""
    keys = (f"budget.{name}" for name in AMOUNTS)
    return next(key for key in keys if values.get(key) is not None or key == "budget.amount")
