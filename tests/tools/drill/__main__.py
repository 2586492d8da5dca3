"""All parts of the reliability drill: ``make drill``, or ``python -m tests.tools.drill``.

Prints a line of a Markdown table for each part; ends with status 1 if anything went wrong.
"""

import argparse
import random
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

from tests.tools.drill import damage, kills, refusals
from tests.tools.drill.commands import Part


class Planned(NamedTuple):
    """A part of the drill, and its full number of trials."""

    drill: Callable[[Path, int, random.Random], Part]
    trials: int


PARTS = {
    "mistakes in settings": Planned(refusals.make_mistakes, 300),
    "flipped bytes": Planned(damage.flip_bytes, 100),
    "kills": Planned(kills.kill_commands, 30),
    "full disks": Planned(kills.fill_disks, 15),
    "hostile texts": Planned(damage.write_hostile_texts, 50),
    "equal commands at once": Planned(refusals.start_twins, 2),
    "clocks set back": Planned(kills.shift_clocks, 4),
    "places that are read-only": Planned(refusals.close_places, 5),
    "servers that hang": Planned(refusals.hang_servers, 3),
    "planted tokens": Planned(refusals.search_tokens, 1),
}
"""The last part reads what all others wrote."""


def run(share: float, seed: int, only: str | None = None) -> dict[str, Part]:
    """Do a share of each part; print a line for each."""
    space, found = Path(mkdtemp(prefix="drill-")), {}
    print("| part | trials | wrong | seconds | |\n|---|---|---|---|---|", flush=True)
    for name, part in PARTS.items():
        if only is not None and only not in name:
            continue
        place = space / name.replace(" ", "-")
        place.mkdir()
        started = time.perf_counter()
        count = max(1, round(share * part.trials))
        found[name] = part.drill(place, count, random.Random(f"{name} {seed}"))
        done, wrong, notes = found[name]
        seconds = time.perf_counter() - started
        print(f"| {name} | {done} | {len(wrong)} | {seconds:.0f} | {notes} |", flush=True)
    if any(part.wrong for part in found.values()):
        print(f"the files are in {space}")
    else:
        shutil.rmtree(space)
    return found


def main() -> None:
    """Run the drill."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the trials of each part")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="part of the name of a part")
    options = parser.parse_args()
    found = run(options.share, options.seed, options.only)
    wrong = [f"{name}: {line}" for name, part in found.items() for line in part.wrong]
    for line in wrong:
        print(line)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
