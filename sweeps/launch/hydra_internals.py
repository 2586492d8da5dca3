"""The one private part of Hydra that the harness uses; a test fails where Hydra changes it."""

from collections.abc import Sequence

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser


def split_into_jobs(overrides: Sequence[str]) -> list[list[str]]:
    """Return the overrides of each job of a multirun, in the order in which the jobs start.

    Hydra does not show callbacks the jobs that its sweeper makes of lists such as ``seed=1,2``.
    """
    parsed = OverridesParser.create().parse_overrides(list(overrides))
    [jobs] = BasicSweeper.split_arguments(parsed, max_batch_size=None)
    return [list(job) for job in jobs]
