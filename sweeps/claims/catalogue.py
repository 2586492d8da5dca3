"""All claims of ``conf/claim``, and those that a command names."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from datamodules.errors import UserError, one_line, validated
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
    if file.name == PAPER:
        raise UserError(f"claims={file}: {PAPER} says where claims are from; give a file beside it")
    paper = validated(Paper, _read(file.with_name(PAPER)), str(file.with_name(PAPER)))
    name = f"{file.resolve().parent.name}.{file.stem}"
    return validated(Claim, {**_read(file), "name": name, "paper": paper.model_dump()}, str(file))


def choose(given: object) -> list[Claim]:
    """Return the claims of ``claims=``: all, those of a paper, or of a file of the user.

    Raises ``UserError`` unless ``given`` is a name of these, or a list of such names.
    """
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not names:
        raise UserError(f"claims={'null' if given is None else given}: {_choices()}")
    chosen: dict[str, Claim] = {}
    for name in names:
        found = _named(name) if isinstance(name, str) else None
        if not found:
            raise UserError(f"claims={name}: no such claim; {_choices()}")
        for key, claim in found.items():
            if chosen.setdefault(key, claim) != claim:
                raise UserError(
                    f"claims={name}: another claim of the command is named {key} too; "
                    "rename the file or its folder"
                )
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
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"{file}: no YAML in UTF-8; {one_line(error)}") from None
    if not isinstance(content, dict):
        raise UserError(f"{file}: no mapping; docs/plugs/claim.md shows a claim")
    return content
