"""The threads of a process: how many compute, and how they wait for each other.

No choice here looks at the load of the machine, on which results would then depend: the last
digits may differ with the number of threads. Importing this module imports no torch.
"""

import os
from functools import cache

SPINS = 30_000
"""Turns of a loop in which a thread of OpenMP waits before it sleeps, about a millisecond.

The pauses between the products of an update are mostly shorter. OpenMP's own 300,000 turns are
longer than a time slice: beside other programs, threads then keep a processor busy while they wait
for a thread that has none. docs/findings/performance.md has the rates of several choices.
"""
WAITING = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
"""Environment variables with which a user decides how threads wait."""
SMALL = 4_000_000
"""Weights below which a recurrent model trains with one thread.

It computes step by step, and the products of one step are too small to be shared well: a second
thread costs as much time of a processor as the first, and saves a quarter of the time at most.
"""


def bound_waiting() -> None:
    """Let threads of this process and of its children wait for a short time before they sleep.

    Call this before torch is imported: GNU's OpenMP, which comes with torch, reads the variable
    when it is loaded. Numbers stay the same. A choice of the user in the environment stays too.
    """
    if not any(name in os.environ for name in WAITING):
        os.environ["GOMP_SPINCOUNT"] = str(SPINS)


@cache  # one worker of joblib runs many jobs, and each may set another number
def default_threads() -> int:
    """Return how many threads this process may use: one for each of its processors.

    Launchers give fewer to jobs side by side, in ``OMP_NUM_THREADS``. A container's share of
    processor time counts, which torch does not know. Call this before the number is set.
    """
    import torch
    from joblib import cpu_count

    return min(torch.get_num_threads(), cpu_count())


def use_threads(asked: int | None) -> None:
    """Compute with ``asked`` threads; None: with ``default_threads``."""
    import torch

    default = default_threads()
    torch.set_num_threads(asked or default)


def use_one_thread_if_small(asked: int | None, weights: int) -> None:
    """Compute with one thread from now on if no number is ``asked`` and a model is small.

    ``weights`` is the number of weights of a recurrent model.
    """
    import torch

    if asked is None and weights < SMALL:
        torch.set_num_threads(1)
