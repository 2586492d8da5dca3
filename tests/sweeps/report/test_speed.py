"""Costs of the models of a comparison."""

from sweeps.comparison.collect import collect
from sweeps.report.sections.speed import speed_table
from tests.helpers.run_folders import make_run


def costs(runs) -> dict[str, dict[str, object]]:
    """Each system's costs by column."""
    table = speed_table(collect(runs))
    names = [column.key for column in table.columns[1:]]
    return {str(row[0]): dict(zip(names, row[1:], strict=True)) for row in table.rows}


def test_costs_are_means_over_the_seeds_that_recorded_them(tmp_path):
    runs = [
        make_run(tmp_path / str(seed), seed=seed, peak_device_memory_mib=memory)
        for seed, memory in ((1, 100.0), (2, 300.0), (3, None))
    ]
    [found] = costs(runs).values()
    assert found["peak_device_memory_mib"] == 200
    assert found["peak_memory_mib"] == 612.5
    assert found["sentences_per_second"] == 290.2 - 2


def test_the_memory_of_a_gpu_has_a_column_only_where_a_run_recorded_it(tmp_path):
    on_cpu = make_run(tmp_path / "0", "luong")
    assert "peak_device_memory_mib" not in costs([on_cpu])["luong"]
    on_gpu = make_run(tmp_path / "1", "bahdanau", peak_device_memory_mib=2048.0)
    found = costs([on_cpu, on_gpu])
    assert found["luong"]["peak_device_memory_mib"] is None
    assert found["bahdanau"]["peak_device_memory_mib"] == 2048
