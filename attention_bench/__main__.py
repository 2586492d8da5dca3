"""The command ``attention-bench``: in any folder what ``python run.py`` is in a checkout."""

import signal
import sys
from pathlib import Path


def main() -> None:
    """Run the command line."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # see run.py
    # The user's own modules may have any name, such as run.py.
    sys.path.insert(0, str(Path(__file__).parents[1]))

    from run import program
    from sweeps.launch.errors import run_main

    run_main(program)


if __name__ == "__main__":
    main()
