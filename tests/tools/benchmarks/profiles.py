"""The ten operators that take most of an update: ``python -m tests.tools.benchmarks.profiles``."""

import argparse

import torch
from torch.profiler import ProfilerActivity, profile

from lightning_modules.training.factories import build_data
from tests.helpers.variants import configuration
from tests.tools.benchmarks.worker import batches_on, direct_step
from tests.tools.benchmarks.workloads import WORKLOADS, data_overrides

WARM_UP, UPDATES, TOP = 3, 6, 10


def operators(name: str) -> tuple[float, list[tuple[str, float]]]:
    """Return the milliseconds of an update, and of its ten costliest operators."""
    torch.manual_seed(1)
    config = configuration(*data_overrides(), *WORKLOADS[name].overrides)
    data = build_data(config)
    step, batches = direct_step(config, data, "cpu"), batches_on(data.train_dataloader(), "cpu")
    for _ in range(WARM_UP):
        step(next(batches))
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        for _ in range(UPDATES):
            step(next(batches))
    events = profiled.key_averages()
    times = {event.key: event.self_cpu_time_total / 1000 / UPDATES for event in events}
    ranked = sorted(times.items(), key=lambda pair: -pair[1])
    return sum(times.values()), ranked[:TOP]


def main() -> None:
    """Print a line of Markdown for each workload."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=WORKLOADS, action="append", help="profile these alone")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in options.only or WORKLOADS:
        total, ranked = operators(name)
        shares = ", ".join(
            f"{key.removeprefix('aten::')} {milliseconds:,.0f}" for key, milliseconds in ranked
        )
        print(f"| {name} | {total:,.0f} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
