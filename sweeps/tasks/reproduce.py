"""``task=reproduce``: train a past run again from its own record, and compare the scores."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf, open_dict
from rich.console import Console
from rich.table import Table as Printed
from yaml import YAMLError

from datamodules.errors import UserError
from lightning_modules.runs.checksums import check_file
from lightning_modules.runs.files import read_predictions, read_result, write_record
from lightning_modules.runs.job import Job, given_overrides
from lightning_modules.runs.paths import HYDRA, REPRODUCTION
from lightning_modules.runs.provenance import code_versions, environment, git_commit
from lightning_modules.runs.schema import Reproduction, Result, ValueComparison
from lightning_modules.runs.settings import key_of, top_keys_that_affect
from lightning_modules.tasks.train import train_in
from lightning_modules.training.process import prepare_process
from sweeps.comparison.tables import Column, Table
from sweeps.launch.compose import use_hydra_config
from sweeps.report.terminal import rich_table

TRAINING = "lightning_modules.tasks.train.train"
LATER = ("kernels",)  # parts of an environment that are decided once the model is built
MOST_ROWS = 9  # values in each of two tables of the terminal, what differs first


def reproduce(config: DictConfig) -> float | None:
    """Task: list what differs now, train and test again, compare; return test BLEU.

    Raises ``UserError`` for a folder without a finished run and its record, and ends the program
    with status 1 if a score differs.
    """
    folder, out = Path(config.run), Path(HydraConfig.get().runtime.output_dir)
    recorded = read_result(folder)
    record = folder / HYDRA
    if recorded is None or not (record / "hydra.yaml").is_file():
        raise UserError(f"run={folder}: holds no finished run with its .hydra/; give one that does")
    console = Console(highlight=False)
    settings = _settings(record, recorded, config)
    hydra = _hydra(record, out)
    with use_hydra_config(hydra):
        prepare_process(settings)  # the number of threads is compared too
        changed = {
            name: each for name, each in _surroundings(recorded, settings).items() if not each.same
        }
        title = "different now" if changed else "the same versions, code and hardware"
        console.print(_table(f"{folder}: {title}", changed), soft_wrap=True)
        bleu = train_in(Job.of(hydra.hydra), settings)
    if bleu is None:  # on ranks other than the first
        return None
    outcome = _outcome(folder, recorded, out)
    console.print(_table(f"{out}: trained again", outcome), soft_wrap=True)
    write_record(out / REPRODUCTION, Reproduction(run=str(folder), **changed, **outcome))
    differing = [name for name, each in outcome.items() if not each.same]
    if differing:
        console.print(f"not the same: {', '.join(differing)}")
        raise SystemExit(1)
    console.print("every score and translation is the same")
    return bleu


def _surroundings(recorded: Result, settings: DictConfig) -> dict[str, ValueComparison]:
    then, now = recorded.environment.model_dump(), environment()
    code = code_versions(settings)
    pairs = {
        "commit": (recorded.git_commit, git_commit()),
        "training code": (recorded.code, code.training),
        "testing code": (recorded.testing_code, code.testing),
        **{name: (then.get(name), now.get(name)) for name in {**now, **then} if name not in LATER},
    }
    return _compared(pairs)


def _outcome(folder: Path, recorded: Result, out: Path) -> dict[str, ValueComparison]:
    """Compare two runs: the recorded one in ``folder`` and its reproduction in ``out``."""
    again = read_result(out)
    assert again is not None
    then, now = ([line.hypothesis for line in read_predictions(each)] for each in (folder, out))
    same = sum(a == b for a, b in zip(then, now, strict=False))
    pairs = {
        "data": (recorded.data.fingerprint, again.data.fingerprint),
        "data order": (recorded.training.data_order, again.training.data_order),
        "target tokens": (recorded.training.target_tokens, again.training.target_tokens),
        "validation BLEU": (recorded.training.val_bleu, again.training.val_bleu),
        **{name: (score, again.scores.get(name)) for name, score in recorded.scores.items()},
        "translations": (len(then), same),
    }
    return _compared(pairs)


def _compared(pairs: Mapping[str, tuple[Any, Any]]) -> dict[str, ValueComparison]:
    return {name: ValueComparison(then=then, now=now) for name, (then, now) in pairs.items()}


def _settings(record: Path, recorded: Result, config: DictConfig) -> DictConfig:
    """Return the recorded configuration, with the folders of this command and newer settings.

    The logger is the recorded one unless the command names another.

    Raises ``UserError`` for a damaged record, or the record of another task than training.
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
    plain: Any = OmegaConf.to_container(config)
    given = {key_of(each).partition(".")[0] for each in given_overrides(HydraConfig.get())}
    from_command = {*top_keys_that_affect(["presentation", "nothing"])} - ({"logger"} - given)
    with open_dict(settings):
        for key in config:
            if key in from_command or key not in settings:
                settings[key] = plain[key]
    return settings


def _hydra(record: Path, out: Path) -> DictConfig:
    hydra = _read(record / "hydra.yaml")
    if "hydra" not in hydra:
        raise UserError(f"{record / 'hydra.yaml'}: is no record of a run")
    hydra.hydra.runtime.output_dir = str(out)
    return hydra


def _read(file: Path) -> DictConfig:
    if file.is_file():
        check_file(file)
    try:
        content = OmegaConf.load(file)
    except (OSError, ValueError, YAMLError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{file}: cannot be read as the record of a run ({reason})") from None
    if not isinstance(content, DictConfig):
        raise UserError(f"{file}: is no record of a run")
    return content


def _table(title: str, compared: Mapping[str, ValueComparison]) -> Printed:
    columns = [Column(heading, heading) for heading in ("", "then", "now", "")]
    rows = [
        [name, str(each.then), str(each.now), "" if each.same else "differs"]
        for name, each in sorted(compared.items(), key=lambda each: each[1].same)
    ]
    if len(rows) > MOST_ROWS:
        title += f"; {MOST_ROWS} of {len(rows)} values, {REPRODUCTION} has all"
    return rich_table(Table("reproduction", title, columns, rows[:MOST_ROWS], {}))
