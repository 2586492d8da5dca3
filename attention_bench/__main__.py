"""The command ``attention-bench``: in any folder what ``python run.py`` is in a checkout."""

import os
import signal
import sys


def main() -> None:
    """Run the command line."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # see run.py
    # Last, since it may have modules of any name.
    sys.path.append(os.getcwd())  # noqa: PTH109

    from run import program
    from sweeps.launch.errors import run_main

    run_main(program)


if __name__ == "__main__":
    main()
