"""Measure on the GPU of this machine, in order of value: ``make gpu-queue``.

A start continues with what is missing. Commit what it writes: ``docs/findings/gpu.md`` and
``docs/findings/gpu/``.
"""

import argparse
import sys
from pathlib import Path

import torch

from datamodules.files import write_text
from lightning_modules.runs.provenance import ROOT
from tests.tools.benchmarks.gpu.items import all_items
from tests.tools.benchmarks.gpu.page import page_text
from tests.tools.benchmarks.gpu.queue import LOGS, Place, work_off
from tests.tools.benchmarks.gpu.results import RESULTS, Machine, read_results

PAGE = ROOT / "docs" / "findings" / "gpu.md"
DATA = ROOT.parent / "shared" / "data"


def main() -> int:
    """Return the exit status: 0 with all figures, 1 if some are missing, 2 without a GPU."""
    parser = argparse.ArgumentParser(prog="tests.tools.benchmarks.gpu", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="end after them (default 10)")
    parser.add_argument("--data", type=Path, default=DATA, help="folder that holds multi30k/")
    parser.add_argument("--only", default="", help="items whose name begins like this")
    parser.add_argument("--page", action="store_true", help="write the page, measure nothing")
    parser.add_argument(
        "--miniature",
        action="store_true",
        help="try every item on the CPU, as small as possible, into outputs/benchmarks/gpu",
    )
    options = parser.parse_args()
    if not (torch.cuda.is_available() or options.miniature or options.page):
        error = "error: torch finds no GPU on this machine; docs/findings/gpu.md stays"
        print(error, file=sys.stderr)
        return 2
    further = [f"--data={options.data}"]
    folder, page = RESULTS, PAGE
    if options.miniature:
        folder, page = LOGS / "miniature", LOGS / "miniature.md"
        further += ["--device=cpu", "--miniature"]
    items, machine = all_items(), Machine.here()
    here = {each.item: each for each in read_results(folder) if each.machine.gpu == machine.gpu}

    def write_page() -> None:
        write_text(page, page_text(items, list(read_results(folder))))

    if not options.page:
        chosen = [item for item in items if item.name.startswith(options.only)]
        place = Place(machine, folder, further=further)
        work_off(chosen, here, 60 * options.minutes, place, write_page)
    write_page()
    missing = [item.name for item in items if item.name not in here]
    print(f"wrote {page.name}; {len(missing)} of {len(items)} items are missing")
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
