"""All claims of ``conf/claim``, and those that a command names."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from datamodules.errors import UserError, validated
from lightning_modules.runs.settings.table import CONF
from sweeps.claims.claim import Claim, Paper

CLAIMS = CONF / "claim"
PAPER = "paper.yaml"
ALL = "all"


@cache
def all_claims() -> dict[str, Claim]:
    """Return every claim of ``conf/claim`` by its name, papers in the order of their years."""
    claims = [
        read_claim(file)
        for folder in CLAIMS.iterdir()
        for file in folder.glob("*.yaml")
        if file.name != PAPER
    ]
    return {
        claim.name: claim for claim in sorted(claims, key=lambda one: (one.paper.year, one.name))
    }


def read_claim(file: Path) -> Claim:
    """Read a claim and the paper beside it. Raises ``UserError`` with the file and the key."""
    paper = validated(Paper, _read(file.with_name(PAPER)), str(file.with_name(PAPER)))
    name = f"{file.parent.name}.{file.stem}"
    return validated(Claim, {**_read(file), "name": name, "paper": paper.model_dump()}, str(file))


def choose(names: Sequence[str]) -> list[Claim]:
    """Return the claims of ``claims=``: all, those of a paper, or of a file of the user.

    Raises ``UserError`` for a name that is none of these.
    """
    chosen: dict[str, Claim] = {}
    for name in names:
        found = _named(name)
        if not found:
            raise UserError(f"claims={name}: no such claim; {_choices()}")
        chosen |= found
    if not chosen:
        raise UserError(f"claims=[]: {_choices()}")
    return list(chosen.values())


def _choices() -> str:
    papers = ", ".join(sorted({claim.partition(".")[0] for claim in all_claims()}))
    return f"give all, a paper ({papers}), a name that claims=list prints, or a file"


def _named(name: str) -> dict[str, Claim]:
    if name.endswith(".yaml") and Path(name).is_file():
        claim = read_claim(Path(name))
        return {claim.name: claim}
    known = all_claims()
    return {
        key: claim
        for key, claim in known.items()
        if name in (ALL, key) or key.startswith(f"{name}.")
    }


def _read(file: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{file}: missing; a folder of claims needs {PAPER}") from None
    except yaml.YAMLError as error:
        raise UserError(f"{file}: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict):
        raise UserError(f"{file}: no mapping; docs/claims.md shows a claim")
    return content
