"""Train, translate, compare: ``python run.py --help`` lists the choices."""

import signal
import sys
from pathlib import Path

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C during imports prints no traceback

import hydra
from omegaconf import DictConfig

import lightning_modules.training.sizes  # noqa: F401  # the resolvers of conf/model
import sweeps.launch.named_systems  # new keys for task=evaluate
import sweeps.launch.resolvers  # noqa: F401  # the resolvers of hydra.run.dir
from lightning_modules.ranks.environment import rank_arguments
from sweeps.launch.errors import run_main

MULTIRUN = ("-m", "--multirun")
CLAIMS, TASK = "claims=", "task="
CONF = str(Path(__file__).parent / "conf")


@hydra.main(version_base="1.3", config_path=CONF, config_name="config")
def main(config: DictConfig) -> float | None:
    """Run one job. Heavy imports wait until here: ``--help`` and typing errors need none."""
    from sweeps.launch.job import run_job

    return run_job(config)


def program() -> None:
    """Run the command line, or one rank of it."""
    claims = [place for place, given in enumerate(sys.argv) if given.startswith(CLAIMS)]
    if claims and not any(given.startswith(TASK) for given in sys.argv):
        # Beside another override: Hydra takes no override after a flag that follows overrides.
        sys.argv.insert(claims[0], "task=claims")
    # Hydra takes -m before or after all overrides, but not between them.
    sys.argv[1:] = sorted(rank_arguments(sys.argv[1:]), key=lambda given: given not in MULTIRUN)
    main()


if __name__ == "__main__":
    run_main(program)
