"""A disk that is full at some write: refused in one line, and resumed with room to the same end."""

import random
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.drill.commands import Ended, Part, command, training
from tests.drill.kills import run_result

LEAST_KIB = 16
NAMESPACE = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
"""Words that let an ordinary user mount a file system for one command."""


def drill(space: Path, count: int, draw: random.Random) -> Part:
    """Train on file systems of random sizes, then go on with room."""
    try:
        subprocess.run([*NAMESPACE, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return Part(0, [], "this machine lets no user mount a file system")
    whole = space / "whole"
    assert command(training(whole / "run", whole), space / "whole.out").status == 0
    expected = run_result(whole / "run")
    needed = sum(file.stat().st_size for file in whole.rglob("*") if file.is_file()) // 1024
    sizes = [draw.randrange(LEAST_KIB, needed) for _ in range(count)]

    def fill(number: int) -> tuple[bool, str | None]:
        """Train on a small disk, then with room; return whether refused, and what is wrong."""
        disk, kept = space / f"disk-{number}", space / f"kept-{number}"
        disk.mkdir()
        ended = _on_small_disk(disk, kept, sizes[number], space / f"{number}.out")
        refused = ended.refusal is not None and "No space left" in ended.refusal
        if ended.status != 0 and not refused:
            return False, f"{sizes[number]} KiB: {ended}"
        # With room, in the same place: paths are part of settings.
        shutil.rmtree(disk)
        shutil.move(kept, disk)
        again = command(training(disk / "run", disk), space / f"{number}-again.out")
        same = again.status == 0 and run_result(disk / "run") == expected
        return refused, None if same else f"{sizes[number]} KiB, then with room: {again}"

    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(fill, range(count)))
    refusals = sum(refused for refused, _ in ends)
    wrong = [line for _, line in ends if line is not None]
    return Part(count, wrong, f"{refusals} of {count} refused, the others had room")


def _on_small_disk(disk: Path, kept: Path, kib: int, out: Path) -> Ended:
    """Train on a file system of ``kib``, and keep what was written."""
    script = (
        f"mount -t tmpfs -o size={kib}k none {shlex.quote(str(disk))} || exit 99; "
        f'"$@"; status=$?; cp -a {shlex.quote(str(disk))} {shlex.quote(str(kept))}; exit $status'
    )
    return command(training(disk / "run", disk), out, [*NAMESPACE, script, "sh"])
