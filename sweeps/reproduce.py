"""Task: train a past run again from its own record, and tell whether it comes to the same."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf, open_dict
from rich.console import Console
from rich.table import Table
from yaml import YAMLError

from datamodules.errors import UserError
from datamodules.files import write_json
from lightning_modules.environment import environment
from lightning_modules.provenance import code_of, git_commit
from lightning_modules.run_folder import Result, read_predictions, read_result
from lightning_modules.tasks.train import prepare_process, train
from sweeps.studies.compose import current

REPRODUCTION = "reproduction.json"
TRAINING = "lightning_modules.tasks.train.train"
OF_THIS_COMMAND = ("outputs", "cache_dir", "logger", "force")
"""Settings that are not the record's."""


class Compared(NamedTuple):
    """A number of the record, and what it is now."""

    then: Any
    now: Any

    @property
    def same(self) -> bool:
        """To the last digit."""
        return bool(self.then == self.now)


def reproduce(config: DictConfig) -> float | None:
    """List what is different first, train and test again, and compare; return test BLEU.

    Raises ``UserError`` for a folder without a finished run and its record, and ends the program
    with status 1 if a score is another.
    """
    folder, own = Path(config.run), Path(HydraConfig.get().runtime.output_dir)
    recorded = read_result(folder)
    record = folder / ".hydra"
    if recorded is None or not (record / "hydra.yaml").is_file():
        raise UserError(f"run={folder}: holds no finished run with its .hydra/; give one that does")
    console = Console(highlight=False)
    settings = _settings(record, recorded, config)
    with current(_hydra(record, own)):
        prepare_process(settings)  # threads are of the surroundings
        surroundings = {
            name: each for name, each in _surroundings(recorded, settings).items() if not each.same
        }
        told = "different now" if surroundings else "the same versions, code and hardware"
        console.print(_table(f"{folder}: {told}", surroundings), soft_wrap=True)
        bleu = train(settings)
    if bleu is None:  # on ranks other than the first
        return None
    found = _found(folder, recorded, own)
    console.print(_table(f"{own}: trained again", found), soft_wrap=True)
    write_json(own / REPRODUCTION, {"run": str(folder), **_plain(surroundings), **_plain(found)})
    differing = [name for name, each in found.items() if not each.same]
    if differing:
        console.print(f"not the same: {', '.join(differing)}")
        raise SystemExit(1)
    console.print("every score and translation is the same")
    return bleu


def _surroundings(recorded: Result, settings: DictConfig) -> dict[str, Compared]:
    then, now = recorded.environment.model_dump(), environment()
    known = {name: Compared(then.get(name), now.get(name)) for name in {**now, **then}}
    return {
        "commit": Compared(recorded.git_commit, git_commit()),
        "code": Compared(recorded.code, code_of(settings)),
        **known,
    }


def _found(folder: Path, recorded: Result, own: Path) -> dict[str, Compared]:
    again = read_result(own)
    assert again is not None
    then, now = ([one.hypothesis for one in read_predictions(each)] for each in (folder, own))
    same = sum(a == b for a, b in zip(then, now, strict=False))
    return {
        "data": Compared(recorded.data.fingerprint, again.data.fingerprint),
        "data order": Compared(recorded.training.data_order, again.training.data_order),
        "target tokens": Compared(recorded.training.target_tokens, again.training.target_tokens),
        "validation BLEU": Compared(recorded.training.val_bleu, again.training.val_bleu),
        **{
            name: Compared(score, again.scores.get(name)) for name, score in recorded.scores.items()
        },
        "translations": Compared(len(then), same),
    }


def _settings(record: Path, recorded: Result, config: DictConfig) -> DictConfig:
    """The record's configuration, with places of this command and what is newer than the record.

    Raises ``UserError`` for a record that is broken, or of something else than the training.
    """
    settings = _read(record / "config.yaml")
    if lacking := sorted(recorded.config.keys() - settings.keys()):
        raise UserError(
            f"{record / 'config.yaml'}: lacks {lacking[0]}, with which the run was made"
        )
    if settings.get("task", TRAINING) != TRAINING:
        raise UserError(
            f"run={record.parent}: its .hydra/ is of {settings.task}; give a run that was trained "
            "by task=train"
        )
    with open_dict(settings):
        for key in config:
            if key in OF_THIS_COMMAND or key not in settings:
                settings[key] = config._get_node(key)
    return settings


def _hydra(record: Path, own: Path) -> DictConfig:
    hydra = _read(record / "hydra.yaml")
    if "hydra" not in hydra:
        raise UserError(f"{record / 'hydra.yaml'}: is no record of a run")
    hydra.hydra.runtime.output_dir = str(own)
    return hydra


def _read(file: Path) -> DictConfig:
    try:
        content = OmegaConf.load(file)
    except (OSError, ValueError, YAMLError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{file}: cannot be read as the record of a run ({reason})") from None
    if not isinstance(content, DictConfig):
        raise UserError(f"{file}: is no record of a run")
    return content


def _table(title: str, rows: Mapping[str, Compared]) -> Table:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for heading in ("", "then", "now", ""):
        table.add_column(heading)
    for name, each in rows.items():
        table.add_row(name, str(each.then), str(each.now), "" if each.same else "differs")
    return table


def _plain(rows: Mapping[str, Compared]) -> dict[str, Any]:
    return {name: each._asdict() for name, each in rows.items()}
