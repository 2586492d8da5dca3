"""``budget.rungs``: a training that is tested at smaller budgets too, each in a run of its own.

A rung is the run of the same command with that amount, and lies where that command puts it:
comparisons, claims and the tracker take it as a run like any other. Each continues the one before.
"""

from pathlib import Path

from hydra.conf import HydraConf
from omegaconf import DictConfig, OmegaConf

from lightning_modules.runs.job import given_overrides
from lightning_modules.runs.paths import CHECKPOINTS, LAST
from lightning_modules.runs.settings import flatten, key_of
from lightning_modules.runs.trunk_checks import amount_key
from sweeps.launch.compose import composed, hydra_job, use_hydra_config
from sweeps.launch.folders import check_folder


def train_rungs(config: DictConfig, hydra: HydraConf) -> list[Path]:
    """Train and test the rungs of a job; let ``config``, the job's, continue the last of them.

    Returns the folders whose checkpoints shall go once the job has ended. Raises ``UserError`` for
    settings or folders that cannot be used.
    """
    from lightning_modules.tasks.train import train_in  # imports torch

    budget = flatten({"budget": OmegaConf.to_container(config.budget, resolve=True)})
    key, earlier, folders = amount_key(budget), config["continue"], list[Path]()
    own = ("budget.rungs", "continue")
    shared = [each for each in given_overrides(hydra) if key_of(each) not in own]
    shared.append("budget.rungs=[]")  # a file of conf/budget may have rungs too
    for rung in budget["budget.rungs"]:
        if rung == budget[key]:  # the job itself
            break
        overrides = [*shared, f"{key}={rung}"]
        folder = _folder_of(overrides)
        with hydra_job(overrides, folder) as (job, settings):
            settings["continue"] = earlier
            train_in(job, settings)
        folders.append(folder)
        if (folder / CHECKPOINTS / LAST).is_file():  # else deleted, to save room
            earlier = str(folder)
    config["continue"] = earlier
    return [] if budget["budget.rung_checkpoints"] else folders


def _folder_of(overrides: list[str]) -> Path:
    """Return the folder of a run with these overrides. Raises ``UserError`` if it is not free."""
    config = composed([*overrides, "hydra.mode=RUN"])
    with use_hydra_config(config):
        folder = Path(config.hydra.run.dir)
        check_folder(folder, config)
    return folder.absolute()
