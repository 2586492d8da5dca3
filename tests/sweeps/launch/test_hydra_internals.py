"""The private sweeper of Hydra splits a command into jobs as Hydra itself runs them."""

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper

from sweeps.launch.hydra_internals import split_into_jobs


def test_every_combination_is_a_job_in_the_order_of_the_command():
    assert hasattr(BasicSweeper, "split_arguments")
    jobs = split_into_jobs(["model=a,b", "seed=range(2)", "scale=1"])
    assert jobs == [
        ["model=a", "seed=0", "scale=1"],
        ["model=a", "seed=1", "scale=1"],
        ["model=b", "seed=0", "scale=1"],
        ["model=b", "seed=1", "scale=1"],
    ]
