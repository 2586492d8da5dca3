"""Measure on the GPU of this machine, and write ``docs/gpu.md``: ``make benchmark-gpu``."""

import argparse
import sys
import time

STARTED = time.monotonic()  # before torch is imported: the limit counts from here


def main() -> int:
    """Return the exit status: 0 with all figures, 1 if some are missing, 2 without a GPU."""
    parser = argparse.ArgumentParser(prog="tests.tools.benchmarks.gpu", description=__doc__)
    parser.add_argument(
        "--minutes", type=float, default=8, help="end before; another start goes on (default 8)"
    )
    options = parser.parse_args()
    import torch  # imported late, as are the modules of the harness

    if not torch.cuda.is_available():
        print("error: torch finds no GPU on this machine; docs/gpu.md stays", file=sys.stderr)
        return 2
    from tests.tools.benchmarks.gpu.session import FILE, PAGE, run

    missing = run(FILE, PAGE, STARTED + 60 * options.minutes)
    print(f"wrote {PAGE.name}; {len(missing)} figures are missing", *missing, sep="\n  ")
    if missing:
        print("start again to go on")
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
