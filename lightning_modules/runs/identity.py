"""Compare runs by configuration, data, code and word vectors.

Three places decide whether two runs are the same:

- The name of the default folder (``sweeps/launch/output_folders.py``) is made of the settings and
  the code, before data is read: the paths of the files count, their content does not.
- A finished result is used again (``finished_result`` here) if settings, code, and the fingerprints
  of data and word vectors are equal; paths of data do not count.
- A training goes on from its checkpoint (``last_checkpoint`` in ``training/checkpoints.py``) if the
  same parts are equal; ``decoding`` and ``scoring`` do not count, since they change no weights.
"""

from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any, NamedTuple

from lightning_modules.runs.reader import BrokenFileError, read_result
from lightning_modules.runs.schema import Result

IGNORED_IN_IDENTITY = {
    *("task", "variant", "comparison", "comparison_name", "sweep", "logger", "outputs"),
    *("cache_dir", "keep_memory", "force"),
    "data",  # the fingerprint of the data says more than its paths
}
"""Keys that are not compared: they do not change the result, or (``data``) a fingerprint is
compared instead."""
TEST_SETTINGS = {"decoding", "scoring"}
"""Parts of the configuration that change nothing in the weights."""


class RunIdentity(NamedTuple):
    """Two runs with equal identities are the same."""

    config: Mapping[str, Any]
    """The resolved configuration, without passwords."""
    data: str
    """The fingerprint of the corpus, cut into tokens."""
    code: str
    """Version of the code; see ``provenance.code_of``."""
    vectors: Mapping[str, str | None]
    """Fingerprints of files of word vectors, by side."""


def finished_result(folder: Path, wanted: RunIdentity) -> Result | None:
    """Return the result in a folder if it is that of the wanted run, else None."""
    try:
        result = read_result(folder)
    except BrokenFileError:
        return None
    if result is None:
        return None
    vectors = {side: file.fingerprint for side, file in result.vectors.items()}
    made_of = (result.data.fingerprint, result.code, vectors)
    if made_of != (wanted.data, wanted.code, wanted.vectors):
        return None
    return None if difference(result.config, wanted.config) else result


def difference(
    first: Mapping[str, Any], second: Mapping[str, Any], besides: Set[str] = frozenset()
) -> str | None:
    """Return the first top-level key whose values differ; None if all are equal.

    Keys in ``besides`` are ignored.
    """
    names = sorted({*first, *second} - IGNORED_IN_IDENTITY - besides)
    return next((name for name in names if first.get(name) != second.get(name)), None)
