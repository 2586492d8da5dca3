"""Contrastive pairs: a right translation and one with a single error, in the layout of LingEval97.

A file holds a JSON list. Each entry has ``source``, ``reference`` and ``errors``; each error has
``type`` (the category), ``contrastive`` (the wrong translation) and ``distance`` (words between the
two words that belong together), as in Sennrich 2017, "How Grammatical is Character-level Neural
Machine Translation?". ``attractor`` is our addition: whether another noun misleads.
"""

import json
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import BaseModel, Field, StrictInt, TypeAdapter, ValidationError

from datamodules.errors import UserError, first_mistake
from datamodules.files import write_text

Text = Annotated[str, Field(pattern=r"\S")]  # not only white space


class ContrastPair(NamedTuple):
    """A source sentence with a right and a wrong translation."""

    source: str
    reference: str
    contrastive: str
    category: str
    distance: int | None  # words from the deciding to the wrong word; 1 for neighbours
    attractor: bool | None = None  # whether a noun of another number is between


class ContrastError(BaseModel):
    """A wrong translation in a file."""

    type: Text
    contrastive: Text
    distance: Annotated[StrictInt, Field(ge=0)] | None = None
    attractor: bool | None = None


class ContrastEntry(BaseModel):
    """A source sentence in a file, with a right translation and wrong ones."""

    source: Text
    reference: Text
    errors: list[ContrastError]


def write_contrast(file: Path, pairs: Iterable[ContrastPair]) -> None:
    """Write pairs; neighbours with the same source and reference share an entry."""
    entries = []
    for (source, reference), group in groupby(pairs, lambda pair: (pair.source, pair.reference)):
        errors = [
            ContrastError(
                type=pair.category,
                contrastive=pair.contrastive,
                distance=pair.distance,
                attractor=pair.attractor,
            )
            for pair in group
        ]
        entry = ContrastEntry(source=source, reference=reference, errors=errors)
        entries.append(entry.model_dump())
    write_text(file, json.dumps(entries, ensure_ascii=False, indent=1) + "\n")


def read_contrast(file: str | Path, key: str) -> list[ContrastPair]:
    """Read pairs. Raises ``UserError``, with the setting ``key``, for a file without the layout."""
    try:
        content = json.loads(Path(file).read_text(encoding="utf-8"))
        entries = TypeAdapter(list[ContrastEntry]).validate_python(content)
    except OSError as error:
        raise UserError(f"{key}={file}: {error.strerror or error}") from None
    except ValidationError as error:
        mistake = " ".join(first_mistake(error, "entries").split())
        raise UserError(f"{key}={file}: not in the layout of LingEval97: {mistake}") from None
    except ValueError as error:
        raise UserError(f"{key}={file}: is not JSON: {error}") from None
    pairs = [
        ContrastPair(
            entry.source,
            entry.reference,
            error.contrastive,
            error.type,
            error.distance,
            error.attractor,
        )
        for entry in entries
        for error in entry.errors
    ]
    if not pairs:
        raise UserError(f"{key}={file}: no entry has an error to compare with")
    return pairs
