"""Learning rates for the systems of claims: every system gets equally many trials, once.

A trial is an ordinary training with a seed that no claim uses. The rate with the highest BLEU on
the validation set is recorded, and ``learning_rates=FILE`` then trains the claims with the rates
of the record.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml
from rich.table import Table

from datamodules.errors import UserError, one_line
from datamodules.files import write_text
from lightning_modules.runs.reader import read_result
from sweeps.claims.claim import Claim, TierName
from sweeps.claims.planning.plan import Plan
from sweeps.claims.planning.runs import Need, Systems, Wanted, key_of_system

SEED = 0
FACTORS = (0.5, 1.0, 2.0)
"""The rates that are tried, as multiples of the rate of the system's files."""
FILE = "learning_rates.yaml"
HEADER = """# Learning rates of systems, chosen alike: of half, once and twice the rate of their
# files, the one with the highest BLEU on the validation set, in one training each with seed 0.
"""


class Tuned(NamedTuple):
    """What the trials of a system have shown."""

    system: str
    bleu: Mapping[float, float]
    """Validation BLEU by the learning rate, in rising order of the rates."""

    @property
    def rate(self) -> float:
        """The best rate; of rates that are alike, the lowest."""
        return max(self.bleu, key=lambda rate: self.bleu[rate])

    @property
    def at_the_edge(self) -> bool:
        """Whether no rate beyond the best was tried on one side."""
        return self.rate in (min(self.bleu), max(self.bleu))


def trial_runs(claims: Iterable[Claim], systems: Systems) -> list[Wanted]:
    """Return the trials of every system of some claims, each once, also for several searches.

    Raises ``UserError`` for overrides that do not fit, with the claim.
    """
    wanted: dict[str, Wanted] = {}
    for claim in claims:
        for system in claim.systems:
            own = float(systems.config(claim, system).optimizer.lr)
            for factor in FACTORS:
                rate = None if factor == 1.0 else factor * own
                run = systems.run(claim, system, SEED, rate)
                wanted.setdefault(run.training, run).needs.append(Need(claim.name, system, SEED))
    return list(wanted.values())


def tuned_systems(plan: Plan, tier: TierName) -> tuple[list[Tuned], list[str]]:
    """Return what the trials of a plan have shown, and the systems of which a trial is missing."""
    claims = {claim.name: claim for claim in plan.claims}
    found: dict[str, dict[float, float]] = {}
    missing: set[str] = set()
    for run in plan.wanted:
        result = read_result(plan.folder(run))
        for need in run.needs:
            key = key_of_system(claims[need.claim], need.system, tier)
            bleu = None if result is None else result.training.val_bleu
            if result is None or bleu is None:
                missing.add(key)
            else:
                found.setdefault(key, {})[float(result.config["optimizer"]["lr"])] = bleu
    complete = {key: bleu for key, bleu in found.items() if key not in missing}
    return [Tuned(key, dict(sorted(bleu.items()))) for key, bleu in complete.items()], [*missing]


def write_rates(tuned: Sequence[Tuned], file: Path) -> None:
    """Write the best rates by system."""
    content = {each.system: each.rate for each in tuned}
    write_text(file, HEADER + yaml.safe_dump(content, sort_keys=False, width=1000))


def read_rates(file: Path) -> dict[str, float]:
    """Read what ``write_rates`` wrote. Raises ``UserError`` for another file."""
    setting = f"learning_rates={file}"
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"{setting}: {one_line(error)}") from None
    if not isinstance(content, dict):
        raise UserError(f"{setting}: give a file that tune=true has written")
    for system, rate in content.items():
        if not isinstance(rate, float | int) or isinstance(rate, bool) or not 0 < rate < math.inf:
            raise UserError(f"{setting}: {system} has the rate {rate}; a rate is a number above 0")
    return {str(system): float(rate) for system, rate in content.items()}


def rates_table(tuned: Sequence[Tuned]) -> Table:
    """Return a row for each system: rates with their validation BLEU, and the best."""
    table = Table(title="Validation BLEU by learning rate", title_justify="left", box=None)
    for name in ("system", "rates", "best"):
        table.add_column(name, overflow="fold")
    for each in tuned:
        tried = ", ".join(f"{rate:g}: {bleu:.2f}" for rate, bleu in each.bleu.items())
        edge = " (at the edge)" if each.at_the_edge else ""
        table.add_row(each.system, tried, f"{each.rate:g}{edge}")
    return table
