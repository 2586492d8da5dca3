"""A W&B report shows three figures before the runs, and the rest at the end."""

from lightning_modules.tracking.report_blocks import Block, Lines, Pictures, RunTable, Tables
from sweeps.report.wandb_form import in_reading_order


def test_three_figures_come_before_the_runs():
    sections: list[tuple[str, list[Block]]] = [
        ("Findings", [Lines(["a"]), Tables([])]),
        ("Curves", [RunTable(), Pictures(["1", "2"])]),
        ("Others", [Pictures(["3", "4"]), Tables(["t"])]),
        ("Method", [Lines(["m"])]),
    ]
    assert in_reading_order(sections) == [
        ("Findings", [Lines(["a"])]),
        ("Curves", [Pictures(["1", "2"])]),
        ("Others", [Pictures(["3"])]),
        ("Curves", [RunTable()]),
        ("Others", [Pictures(["4"]), Tables(["t"])]),
        ("Method", [Lines(["m"])]),
    ]


def test_few_figures_leave_no_empty_part():
    assert in_reading_order([("Findings", [Lines([]), Pictures(["1"])])]) == [
        ("Findings", [Pictures(["1"])])
    ]
