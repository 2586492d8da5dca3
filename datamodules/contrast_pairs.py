"""Contrastive pairs: a right translation and one with a single error, in the layout of LingEval97.

A file holds a JSON list. Each entry has ``source``, ``reference`` and ``errors``; each error has
``type`` (the category), ``contrastive`` (the wrong translation) and ``distance`` (words between the
two words that belong together), as in Sennrich 2017, "How Grammatical is Character-level Neural
Machine Translation?". ``attractor`` is our addition: whether another noun misleads.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from datamodules.errors import UserError
from datamodules.files import write_text


class ContrastPair(NamedTuple):
    """A source sentence with a right and a wrong translation."""

    source: str
    reference: str
    contrastive: str
    category: str
    distance: int | None
    """Words from the word that decides to the word that is wrong; 1 for neighbours."""
    attractor: bool | None = None
    """Whether a noun of another number stands between; None where the question has no sense."""


def write_contrast(file: Path, pairs: Iterable[ContrastPair]) -> None:
    """Write pairs; neighbours with the same source and reference share an entry."""
    entries = []
    for (source, reference), group in groupby(pairs, lambda pair: (pair.source, pair.reference)):
        errors = [
            {
                "type": pair.category,
                "contrastive": pair.contrastive,
                "distance": pair.distance,
                "attractor": pair.attractor,
            }
            for pair in group
        ]
        entries.append({"source": source, "reference": reference, "errors": errors})
    write_text(file, json.dumps(entries, ensure_ascii=False, indent=1) + "\n")


def read_contrast(file: str | Path, key: str) -> list[ContrastPair]:
    """Read pairs.

    Raises ``UserError``, with the setting ``key``, for a file without the layout.
    """
    try:
        entries = json.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{key}={file}: {error.strerror or error}") from None
    except ValueError as error:
        raise UserError(f"{key}={file}: is not JSON: {error}") from None
    if not isinstance(entries, list) or not entries:
        raise UserError(f"{key}={file}: must hold a JSON list of entries, as LingEval97 has them")
    pairs = [
        pair
        for number, entry in enumerate(entries)
        for pair in _pairs(entry, f"{key}={file}: entry {number}")
    ]
    if not pairs:
        raise UserError(f"{key}={file}: no entry has an error to compare with")
    return pairs


def _pairs(entry: Any, where: str) -> Sequence[ContrastPair]:
    errors = _field(entry, "errors", list, where)
    source, reference = (_field(entry, name, str, where) for name in ("source", "reference"))
    return [
        ContrastPair(
            source,
            reference,
            _field(error, "contrastive", str, f"{where}, error {number}"),
            _field(error, "type", str, f"{where}, error {number}"),
            _distance(error, f"{where}, error {number}"),
            error.get("attractor"),
        )
        for number, error in enumerate(errors)
    ]


def _field(holder: Any, name: str, kind: type, where: str) -> Any:
    if not isinstance(holder, dict):
        raise UserError(f"{where} is not a JSON object")
    if name not in holder:
        raise UserError(f"{where} has no {name!r}")
    value = holder[name]
    if not isinstance(value, kind) or not (kind is list or str(value).strip()):
        wanted = "a list" if kind is list else "a text"
        raise UserError(f"{where}: {name!r} must be {wanted}, not {value!r}")
    return value


def _distance(error: dict[str, Any], where: str) -> int | None:
    """Return the distance; LingEval97 has none for errors of a single word."""
    value = error.get("distance")
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise UserError(f"{where}: 'distance' must be a number of words, not {value!r}")
    return value
