"""Registration: what a command on claims will do, frozen with a hash before anything is run.

The hash is a SHA-256 of the content as JSON with sorted keys and without spaces. Publish the file,
or the hash, before the first run: verdicts name it, and what deviates from it is listed.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, Self

from datamodules.errors import UserError, one_line
from datamodules.files import write_json
from lightning_modules.runs.provenance import ROOT, TESTING_CODE, TRAINING_CODE, code_version
from lightning_modules.runs.settings import RESULTS, flatten, overrides_that_affect
from sweeps.claims import families, gates, intervals, pooling, trajectory, verdict
from sweeps.claims.plan import ClaimsPlan

NAME = "registration.json"
ANALYSIS: Sequence[ModuleType] = (intervals, verdict, gates, trajectory, pooling, families)
"""Modules whose constants decide verdicts."""
SHOWN = 8  # digits of the hash that a page has room for
ABSENT = "nothing"
WHEN = ("day", "finished runs")  # keys that say when a registration was written


class Registration(NamedTuple):
    """A registration, and what a command does differently."""

    sha256: str
    day: str
    finished: int  # runs that existed when it was written
    deviations: Sequence[str] = ()

    def text(self) -> str:
        """Return the registration in a sentence."""
        known = f", when {self.finished} of its runs were finished" if self.finished else ""
        registered = f"registered on {self.day} as SHA-256 {self.sha256}{known}"
        if not self.deviations:
            return f"{registered}; nothing deviates"
        return f"{registered}; deviations: {'; '.join(self.deviations)}"


class RegisteredFile(NamedTuple):
    """What a file of a registration holds."""

    content: Mapping[str, Any]
    sha256: str

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Self:
        """Return a content with its hash."""
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return cls(content, hashlib.sha256(text.encode()).hexdigest())

    def write(self, file: Path) -> None:
        """Write the file."""
        write_json(file, {"sha256": self.sha256, "content": self.content})

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read a file. Raises ``UserError`` for one that was changed, or is no registration."""
        given = f"registration={file}"
        try:
            written = json.loads(file.read_text(encoding="utf-8"))
            found, recorded = cls.of(written["content"]), written["sha256"]
            _ = [found.content[key] for key in (*WHEN, "claims")]
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise UserError(
                f"{given}: no registration; give a file that register=true wrote "
                f"({one_line(error)})"
            ) from None
        if found.sha256 != recorded:
            raise UserError(
                f"{given}: was changed after it was registered: its content has the hash "
                f"{found.sha256[:SHOWN]}…, and the file names {str(recorded)[:SHOWN]}…; give the "
                "file as register=true wrote it"
            )
        return found


CODE = {
    "code.training": "the code that trains has changed",
    "code.testing": "the code that tests has changed",
    "code.analysis": "the code that judges has changed",
}
"""What deviations call digests of the code."""


def registered_content(
    plan: ClaimsPlan, overrides: Sequence[str], rates: Mapping[str, float]
) -> dict[str, Any]:
    """Return what decides the verdicts of a plan, for ``RegisteredFile``.

    ``overrides`` are those of the command, of which those count that may change results; ``rates``
    are its learning rates.
    """
    content = {
        "day": date.today().isoformat(),
        "finished runs": len(plan.runs) - len(plan.missing),
        "tier": plan.tier,
        "overrides": _of_results(overrides),
        "learning rates": dict(rates),
        "code": {
            "training": code_version(ROOT, TRAINING_CODE),
            "testing": code_version(ROOT, TESTING_CODE),
            "analysis": code_version(ROOT, ("sweeps/claims",)),
        },
        "analysis": dict(_constants()),
        "claims": {
            claim.name: {
                "claim": claim.model_dump(mode="json"),
                "corpora": {
                    corpus.name: corpus.model_dump(mode="json") | {"trained seeds": seeds}
                    for corpus in plan.corpora[claim.name]
                    if (seeds := plan.seeds_of(claim, corpus.name))
                },
                "rungs": list(plan.rungs[claim.name]),
            }
            for claim in plan.claims
        },
    }
    plain: dict[str, Any] = json.loads(json.dumps(content))
    return plain


def _of_results(overrides: Iterable[str]) -> list[str]:
    return sorted(overrides_that_affect(overrides, RESULTS))


def compare(registered: RegisteredFile, now: Mapping[str, Any]) -> Registration:
    """Return a registration with what a command does differently, for its own claims alone.

    Registered corpora on which the command runs nothing are named in one line.
    """
    content = registered.content
    known = {name: of for name, of in now["claims"].items() if name in content["claims"]}
    waiting = {
        corpus
        for name, of in known.items()
        for corpus in content["claims"][name]["corpora"]
        if corpus not in of["corpora"]
    }
    before, after = (_flat(each, known) for each in (content, now))
    deviations = [f"{name}: not registered" for name in now["claims"] if name not in known]
    if waiting:
        deviations.append(f"corpora not run: {', '.join(sorted(waiting))}")
    deviations += [
        f"{CODE.get(key, key)}: {_text(after.get(key))}, registered {_text(before.get(key))}"
        for key in sorted({*before, *after})
        if before.get(key) != after.get(key)
    ]
    return Registration(registered.sha256, content["day"], content["finished runs"], deviations)


def _flat(content: Mapping[str, Any], run: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by dotted key, of what is ``run`` and without when they were written.

    ``run`` has the corpora of each claim.
    """
    claims = {}
    for name, of in run.items():
        claim = content["claims"][name]
        corpora = {key: value for key, value in claim["corpora"].items() if key in of["corpora"]}
        claims[name] = {**claim, "corpora": corpora}
    overrides = _of_results(content["overrides"])
    return flatten({**content, "overrides": overrides, "claims": claims, **dict.fromkeys(WHEN)})


def _text(value: Any) -> str:
    return ABSENT if value is None else str(value)


def _constants() -> Iterator[tuple[str, Any]]:
    """Yield the constants of the analysis that are numbers."""
    for module in ANALYSIS:
        name = module.__name__.rpartition(".")[2]
        for key, value in vars(module).items():
            if key.isupper() and isinstance(value, int | float):
                yield f"{name}.{key}", value
