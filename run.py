"""Train, translate, compare: ``python run.py --help`` lists the choices."""

import sys
from pathlib import Path

import hydra
from omegaconf import DictConfig

import lightning_modules.scaling  # noqa: F401  # the resolver of conf/model
import sweeps.folders  # the resolver of hydra.run.dir
import sweeps.named_systems  # noqa: F401  # what task=evaluate takes
from sweeps.errors import in_a_line
from sweeps.outside import as_rank

CONF = str(Path(__file__).parent / "conf")


@hydra.main(version_base="1.3", config_path=CONF, config_name="config")
def main(config: DictConfig) -> float | None:
    """Run one job. Heavy imports wait until here: ``--help`` and typing errors need none."""
    from sweeps.job import run_job

    return run_job(config)


def program() -> None:
    """Run what the command line asks for."""
    sys.argv[1:] = as_rank(sys.argv[1:])
    main()


if __name__ == "__main__":
    in_a_line(program)
