"""A training continues another one that had a smaller budget, as if that had never stopped.

The new run starts from the last checkpoint of the other, which is read and never changed.
"""

import logging
from pathlib import Path
from typing import Any, NamedTuple

import torch
from omegaconf import DictConfig

from datamodules.errors import UserError
from datamodules.files import is_locked
from lightning_modules.ranks.devices import is_rank_zero
from lightning_modules.runs.identity import Identity, another
from lightning_modules.runs.paths import CHECKPOINTS, EARLIER, LAST, LOCK, last_file
from lightning_modules.runs.settings import flatten
from lightning_modules.runs.trunk_checks import amount_key, schedule_that_ends
from lightning_modules.training.budgets import Budget, Cost, find_kind, plateau_of, read_budget
from lightning_modules.training.callbacks import TrainingBudget
from lightning_modules.training.checkpoints import WholeCheckpoints, check_sizes, read_checkpoint
from lightning_modules.training.module import VALIDATIONS, TranslationModule
from lightning_modules.training.resume import RESUME

log = logging.getLogger(__name__)


class Trunk(NamedTuple):
    """What the last checkpoint of a run says of its training."""

    run: Path
    identity: Identity
    updates: int
    cost: Cost

    @classmethod
    def of(cls, run: Path, content: dict[str, Any]) -> "Trunk":
        """Read the content of a checkpoint. Raises ``KeyError`` for that of another program."""
        identity = Identity.of_checkpoint(content["hyper_parameters"])
        cost = content["callbacks"][TrainingBudget.__qualname__]["cost"]
        return cls(run, identity, content["global_step"], cost)

    def difference(self, wanted: Identity) -> str | None:
        """Return the first part that differs from a wanted training, besides the budget.

        A training may go on beyond a plateau, but none that passed it unseen can end there.
        """
        if plateau_of(wanted.config) not in (None, plateau_of(self.identity.config)):
            return "budget.plateau"
        return wanted.without_budget().difference(self.identity.without_budget(), ["weights"])

    def has_spent(self, budget: Budget) -> bool:
        """Return whether a budget is spent, or would not be known to be."""
        return self.cost.get(budget.kind, budget.amount) >= budget.amount


def run_to_continue(config: DictConfig, folder: Path, wanted: Identity) -> str | None:
    """Return the run that the training in ``folder`` continues; None to start from the beginning.

    That is the run that ``config.continue`` names. Otherwise, for a training whose schedule does
    not end with the budget, it is the run beside ``folder`` that has trained the longest of those
    whose training is ``wanted`` with a smaller budget. Raises ``UserError`` for a named run that
    cannot be continued.
    """
    budget, named = read_budget(config), config["continue"]
    if named is not None and Path(named).resolve() != folder.resolve():
        _check_named(Path(named), wanted, budget)
        return str(named)
    ends = schedule_that_ends(flatten(wanted.config)) is not None
    if config.force or ends or (folder / CHECKPOINTS / LAST).is_file():
        return None
    others = (file.parents[1] for file in folder.parent.glob(f"*/{CHECKPOINTS}/{LAST}"))
    found = filter(None, map(_trunk_in, sorted(others)))
    fitting = [
        trunk
        for trunk in found
        if not trunk.has_spent(budget)
        and trunk.difference(wanted) is None
        and trunk.identity.difference(wanted, ["weights"]) is not None  # not the same run again
    ]
    longest = max(fitting, key=lambda trunk: trunk.updates, default=None)
    return longest and str(longest.run)


def _trunk_in(run: Path) -> Trunk | None:
    """Return the trunk in a folder; None where another process trains, or for a damaged file."""
    if is_locked(run / LOCK):
        return None
    try:  # only the plain values are read: the tensors stay on the disk
        file = _state_file(run)
        content = torch.load(file, map_location="cpu", weights_only=True, mmap=True)
        complete = all(kept.is_file() for kept in _kept(file, content).values())
        return Trunk.of(run, content) if complete else None
    except Exception:  # damaged files raise many types
        return None


def _check_named(run: Path, wanted: Identity, budget: Budget) -> None:
    if is_locked(run / LOCK):
        raise UserError(f"continue={run}: another command is at work there; wait for its end")
    trunk = Trunk.of(run, read_checkpoint(_state_file(run)))
    if other := trunk.difference(wanted):
        raise UserError(
            f"continue={run}: is a training with {another(other)}; give the settings of that run, "
            "or init_from instead of continue"
        )
    key = amount_key(flatten(wanted.config))
    given = f"continue={run}: {key}={budget.amount:.15g}"
    unit = find_kind(budget.kind).unit
    if budget.kind not in trunk.cost:
        raise UserError(f"{given} cannot be compared: that run has not counted {unit}")
    if trunk.has_spent(budget):
        spent = f"{trunk.cost[budget.kind]:,.9g} {unit}"
        raise UserError(f"{given} is spent: that run has trained on {spent}; give a larger {key}")


def take_over(run: Path, module: TranslationModule, folder: Path) -> Path:
    """Return the checkpoint of ``run`` from which a training in ``folder`` continues.

    Rank zero copies the checkpoints that were the best until then. Raises ``UserError`` for files
    that cannot be used.
    """
    file = _state_file(run)
    content = read_checkpoint(file)
    check_sizes(file, content, module)
    for name, kept in _kept(file, content).items() if is_rank_zero() else ():
        copy = read_checkpoint(kept)
        if copy[VALIDATIONS] != content[VALIDATIONS][: len(copy[VALIDATIONS])]:
            raise UserError(f"continue={run}: {kept} is not of the training of {file}")
        copy["hyper_parameters"] = dict(module.hparams)
        WholeCheckpoints().save_checkpoint(copy, folder / CHECKPOINTS / name)
    log.info("%s: training continues after its update %s", run, content["global_step"])
    return file


def _state_file(run: Path) -> Path:
    """Return the state that a longer training continues, before the last validation of a budget.

    Raises ``UserError`` without a checkpoint.
    """
    last = last_file(run)
    earlier = last.with_name(f"{EARLIER}{last.name}")
    return earlier if earlier.is_file() else last


def _kept(file: Path, content: dict[str, Any]) -> dict[str, Path]:
    """Return the best checkpoints of the validations until that of ``file``, by their names."""
    before_last = content[RESUME]["stop"] and content[RESUME]["validate"]
    states = (state for state in content["callbacks"].values() if "best_k_models" in state)
    best = [Path(path) for state in states for path in state["best_k_models"]]
    return {
        path.name: file.with_name(f"{EARLIER if before_last else ''}{path.name}")
        for path in best
        if path.parent.name == file.parent.name
    }
