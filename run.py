"""Train, translate, compare: ``python run.py --help`` lists the choices."""

import signal
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # Until the task is there: NumPy and torch catch a KeyboardInterrupt while they are imported.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import hydra
from omegaconf import DictConfig

from lightning_modules.kernels.threads import bound_waiting
from lightning_modules.runs.job import command
from lightning_modules.runs.paths import CONF
from lightning_modules.runs.settings import help_text
from sweeps.launch.errors import run_main
from sweeps.launch.resolvers import register
from sweeps.launch.run_record import record_overrides
from sweeps.launch.space_overrides import with_space


def program() -> None:
    """Run the command line."""
    given = sys.argv[1:]
    if "--help" in given or "-h" in given:  # Hydra's own takes seconds
        print(help_text(command()))
        return
    if (here := str(Path.cwd())) not in sys.path:  # for classes of the user
        sys.path.append(here)
    bound_waiting()
    register()
    sys.argv[1:] = with_space(given)
    for override in record_overrides(given):  # beside another override, as argparse wants it
        place = next(n for n, each in enumerate(sys.argv) if n and is_override(each))
        sys.argv.insert(place, override)
    hydra.main(version_base="1.3", config_path=str(CONF), config_name=config_name(given))(main)()


def config_name(arguments: Sequence[str]) -> str:
    """Return the file of ``conf`` that a command starts from: ``claims.yaml`` chooses its task."""
    return "claims" if any(each.startswith("claims=") for each in arguments) else "config"


def is_override(argument: str) -> bool:
    """Return whether an argument sets a value; ``--config-dir=DIR`` does not."""
    return "=" in argument and not argument.startswith("-")


def main(config: DictConfig) -> float | None:
    """Run one job. Heavy imports wait until here: typing errors need none."""
    from sweeps.launch.job import run_job

    return run_job(config)


if __name__ == "__main__":
    run_main(program)
