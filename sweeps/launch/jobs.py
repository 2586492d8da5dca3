"""Running jobs: a task, or a command with lists, starts many jobs with Hydra's launcher."""

import gc
import re
import shutil
import signal
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from copy import deepcopy
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.core.utils import configure_log
from hydra.experimental.callback import Callback
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, RunMode, TaskFunction
from hydra.utils import get_method
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from datamodules.errors import UserError
from datamodules.files import write_text
from lightning_modules.ranks.devices import world_size
from lightning_modules.runs.job import given_overrides, quoted
from lightning_modules.runs.paths import CHECKPOINTS, MULTIRUN, RESULT
from lightning_modules.runs.redaction import redact_multirun, redacted
from sweeps.launch.run_record import record_overrides

if TYPE_CHECKING:  # Rich is not for --help
    from rich.console import RenderableType

OF_THE_COMMAND = re.compile(
    r"[+~]*hydra[./](launcher|mode|run|sweep|sweeper|output_subdir|record)\b"
)
"""Overrides of Hydra that a job does not take from the command that starts the job."""

ON_THIS_MACHINE = re.compile(r"hydra\._internal\.|hydra_plugins\.hydra_joblib_launcher\.")
"""Launchers whose jobs find the same files as the command."""
MANY_JOBS = 20  # the checks of more take seconds


class JobPlan(NamedTuple):
    """A job to run."""

    overrides: Sequence[str]
    """All overrides of the job; it takes none from the command that starts it."""
    folder: Path | None  # the output folder; None for that of `hydra.sweep`
    label: str = ""  # the name of the job in the terminal


class JobTask:
    """What a launcher calls for each job, in a process that may know nothing of the harness."""

    def __call__(self, config: DictConfig) -> float | None:
        """Run the job."""
        from sweeps.launch.job import run_job  # imports what --help does not need

        return run_job(config)

    def __reduce__(self) -> tuple[Callable[[], "JobTask"], tuple[()]]:
        """Let the process that unpickles the task register the resolvers first."""
        return registered_task, ()


def registered_task() -> JobTask:
    """Return the task in a process of a launcher."""
    from sweeps.launch.resolvers import register

    register()
    return JobTask()


def run_jobs(
    config: DictConfig, jobs: Sequence[JobPlan], draw: "Callable[[], RenderableType] | None" = None
) -> list[Path]:
    """Run the jobs with the launcher of the command; return their folders once all have ended.

    Jobs that differ only in how a model is tested share one training: see ``shared_trainings``.
    ``config`` is that of the command. Each job writes an error into its folder, as
    ``failure.json``. A terminal shows ``draw()`` meanwhile, or else a ``JobView``. The folder
    of the command gets ``multirun.yaml``. Raises ``UserError`` before the first job starts, for
    settings that a job cannot use or folders that the jobs cannot have.
    """
    if not jobs:
        return []
    from sweeps.launch.folders import check_folder_of_jobs
    from sweeps.launch.live import JobView, is_terminal, marked_labels, quiet_view
    from sweeps.launch.shared_trainings import copy_training, turns_of

    command = _with_hydra(config)
    out, master = Path(command.hydra.sweep.dir), _for_jobs(command)
    check_launcher(command.hydra.launcher)
    check_folder_of_jobs(out)
    checked = _checked(command, master, jobs)
    folders = [folder for folder, _ in checked]
    begun = [job for job, folder in enumerate(folders) if (folder / CHECKPOINTS).is_dir()]
    turns = turns_of([training for _, training in checked], begun)
    write_text(out / MULTIRUN, redacted(OmegaConf.to_yaml(command)))
    loader = GlobalHydra.instance().config_loader()
    launcher = Plugins.instance().instantiate_launcher(
        hydra_context=HydraContext(loader, cast(Any, Callback())),  # callbacks that do nothing
        task_function=JobTask(),
        config=master,
    )
    planned = list(zip(jobs, folders, strict=True))
    overrides = [_job_overrides(job, folder.absolute()) for job, folder in planned]
    named = [job.label or folder.name for job, folder in planned]
    marked = marked_labels([job.overrides for job in jobs], named)
    labels = dict(zip(folders, marked, strict=True))
    view = quiet_view(draw or JobView(labels)) if is_terminal() else nullcontext()
    hydra_config = HydraConfig.instance().cfg
    try:
        with view:
            launcher.launch([overrides[job] for job in turns.first], initial_job_idx=0)
            for job, trained in turns.others.items():
                if (folders[trained] / RESULT).is_file():
                    copy_training(folders[trained], folders[job])
            if turns.others:
                others = [overrides[job] for job in turns.others]
                launcher.launch(others, initial_job_idx=len(turns.first))
    finally:
        HydraConfig.instance().cfg = hydra_config
        redact_multirun(out)
        if command.hydra.mode != RunMode.MULTIRUN:  # the launcher has changed the log
            configure_log(command.hydra.job_logging, command.hydra.verbose)
    return folders


def _checked(
    command: DictConfig, master: DictConfig, jobs: Sequence[JobPlan]
) -> list[tuple[Path, str | None]]:
    """Compose and check every job; return the folder of each, and its ``training_of``.

    Raises ``UserError`` for the first job that would be refused, and for two jobs in one folder.
    """
    from lightning_modules.runs.setting_checks import check_inputs, check_settings
    from sweeps.launch.compose import use_hydra_config
    from sweeps.launch.folders import check_folder
    from sweeps.launch.shared_trainings import training_of

    if len(jobs) > MANY_JOBS:
        print(f"checking {len(jobs):,} jobs", flush=True)
    loader, taken = GlobalHydra.instance().config_loader(), dict[Path, int]()
    checked: list[tuple[Path, str | None]] = []
    for number, job in enumerate(jobs):
        given = [*job.overrides, "hydra.mode=MULTIRUN", *record_overrides(job.overrides)]
        config = loader.load_sweep_config(master, given)
        with use_hydra_config(config):
            folder = job.folder or _folder_of_sweep(command, config, number)
            with read_write(config.hydra), open_dict(config):
                config.hydra.runtime.output_dir = str(folder.absolute())
            settings = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
            check_settings(settings, given_overrides(config.hydra))
            check_missing(settings)
            if ON_THIS_MACHINE.match(config.hydra.launcher._target_):
                check_inputs(settings, config.hydra.overrides.task)
            check_folder(folder, config)
            training = training_of(settings)
        if (other := taken.setdefault(folder.resolve(), number)) != number:
            raise UserError(
                f"jobs {other} and {number} would share the folder {folder}, and the later would "
                "erase the earlier; leave out hydra.sweep.subdir, or let it differ between all "
                "jobs (hydra.sweep.subdir='${hydra.job.num}')"
            )
        checked.append((folder, training))
    return checked


def is_slurm(launcher: DictConfig) -> bool:
    """Return whether a launcher gives its jobs to SLURM, which may run them on several machines."""
    return str(launcher._target_).endswith(".SlurmLauncher")


def check_launcher(launcher: DictConfig) -> None:
    """Raise ``UserError`` for SLURM's launcher on a machine without SLURM."""
    if is_slurm(launcher) and not (shutil.which("sbatch") and shutil.which("srun")):
        raise UserError(
            "hydra/launcher=submitit_slurm: this machine has no sbatch; give the command on a node "
            "of the cluster that has it, or leave out hydra/launcher and hydra.launcher.KEY"
        )


def _folder_of_sweep(command: DictConfig, config: DictConfig, number: int) -> Path:
    """Return the folder that ``hydra.sweep`` of the command gives to a job."""
    written: Any = OmegaConf.to_container(command.hydra.sweep)
    with read_write(config.hydra):
        config.hydra.job.num = number
        config.hydra.sweep.subdir = written["subdir"]
    return Path(command.hydra.sweep.dir, str(config.hydra.sweep.subdir))


def check_missing(config: DictConfig) -> None:
    """Raise ``UserError`` for the first setting without a value."""
    if missing := sorted(OmegaConf.missing_keys(config)):
        raise UserError(f"{missing[0]} has no value: give {missing[0]}=...")


def _with_hydra(config: DictConfig) -> DictConfig:
    """Return the configuration of a command with Hydra's node, which a task does not get."""
    command = deepcopy(config)
    if "hydra" in command:
        return command
    with open_dict(command):
        command.hydra = HydraConfig.get()
    with read_write(command.hydra):
        command.hydra.sweep.dir = command.hydra.runtime.output_dir
    return command


def _for_jobs(command: DictConfig) -> DictConfig:
    """Return what a launcher composes jobs from."""
    master = deepcopy(command)
    with read_write(master.hydra):
        kept = [each for each in master.hydra.overrides.hydra if not OF_THE_COMMAND.match(each)]
        master.hydra.overrides.hydra = kept
        master.hydra.job.config_name = "config"
    return master


def _job_overrides(job: JobPlan, folder: Path) -> list[str]:
    places = {"dir": folder.parent, "subdir": Path(folder.name)}
    given = [f"hydra.sweep.{key}={quoted(place)}" for key, place in places.items()]
    return [*job.overrides, "hydra.mode=MULTIRUN", *given, *record_overrides(job.overrides)]


def combinations(config: DictConfig) -> list[list[str]]:
    """Return the overrides of each job of a command with lists, such as ``seed=1,2``.

    Lists of the command line replace those of ``hydra.sweeper.params``.
    """
    given = [f"{key}={values}" for key, values in (config.hydra.sweeper.params or {}).items()]
    given += given_overrides(config.hydra)
    values: dict[str, list[str]] = {}
    loader = GlobalHydra.instance().config_loader()
    for override in OverridesParser.create(loader).parse_overrides(given):
        key = override.get_key_element()
        if override.is_sweep_override() and not override.is_discrete_sweep():
            raise UserError(f"{override.input_line}: give a list of values, or range(FROM,TO)")
        if override.is_discrete_sweep():
            values[key] = [f"{key}={value}" for value in override.sweep_string_iterator()]
        else:
            has_value = override.input_line is not None and "=" in override.input_line
            values[key] = [f"{key}={override.get_value_element_as_str()}" if has_value else key]
    return [list(job) for job in product(*values.values())]


def import_task(path: str) -> Callable[[DictConfig], Any]:
    """Import a task, then let Ctrl-C raise ``KeyboardInterrupt``; see ``run.py``."""
    gc.disable()  # modules are never garbage, and to look for some takes 0.8 s
    try:
        task: Callable[[DictConfig], Any] = get_method(path)
    finally:
        gc.freeze()
        gc.enable()
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return task


class TaskSweeper(Sweeper):
    """What Hydra calls for ``-m`` and for ``comparison=``: a task that runs jobs.

    The task gets the configuration with Hydra's node; ``params`` is for ``combinations``.
    """

    __module__ = "hydra_plugins.attention_bench"  # see ``register``

    config: DictConfig

    def __init__(self, task: str, params: dict[str, Any]) -> None:
        self.task = task

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        """Keep the configuration of the command."""
        self.config = config

    def sweep(self, arguments: list[str]) -> None:
        """Call the task."""
        from lightning_modules.runs.checksums import verify_files

        if world_size() > 1:
            raise UserError(
                "-m, comparison= and sweep=: torchrun and srun start the ranks of one training; "
                "leave them out, and each job starts its own, or give one job at a time"
            )
        HydraConfig.instance().set_config(self.config)
        task = import_task(self.task)
        with verify_files(self.config.verify):
            task(self.config)
