"""A progress bar of a preparation, in a terminal alone."""

from typing import Any

from tqdm import tqdm


def progress(what: str, pairs: int | None) -> Any:
    """Return a bar of ``tqdm`` that counts pairs; ``pairs`` is their number, if known."""
    # disable=None: no bar in files and pipes
    return tqdm(desc=what, total=pairs, unit=" pairs", unit_scale=True, disable=None, leave=False)
