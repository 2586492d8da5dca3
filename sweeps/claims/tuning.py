"""Learning rates of the systems of claims, all chosen alike: the trials and their file."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml
from rich.table import Table

from datamodules.errors import UserError, one_line
from datamodules.files import write_text
from lightning_modules.runs.files import read_result
from lightning_modules.runs.schema import Training
from lightning_modules.training.validations import Validation
from sweeps.claims.claim import Claim
from sweeps.claims.corpora import ClaimCorpus
from sweeps.claims.plan import ClaimsPlan, Need, PlannedRun, Systems, key_of_system

SEED = 0
FACTORS = (0.5, 1.0, 2.0)  # of the rate of the system's files
FILE = "learning_rates.yaml"
HEADER = """# Learning rates of systems, chosen alike: of half, once and twice the rate of their
# files, the one with the highest BLEU on the validation set, in one training each with seed 0.
"""


class RateSearch(NamedTuple):
    """The trials of a system: one for each learning rate."""

    system: str
    tried: Mapping[float, Validation]
    """Validation of the tested weights by the learning rate, in rising order of the rates."""

    @property
    def rate(self) -> float:
        """The rate of the highest BLEU, then of the lowest loss; of equals, the lowest rate."""
        return min(self.tried, key=lambda rate: (-self.tried[rate].bleu, self.tried[rate].loss))

    @property
    def at_the_edge(self) -> bool:
        """Whether no rate beyond the best was tried on one side."""
        return self.rate in (min(self.tried), max(self.tried))


def trial_runs(
    claims: Iterable[Claim],
    corpora: Mapping[str, Sequence[ClaimCorpus]],
    rungs: Mapping[str, Sequence[float]],
    systems: Systems,
) -> list[PlannedRun]:
    """Return the trials of every system of some claims, each once, also for several searches.

    A trial is on the first corpus of its claim, up to the first rung. Raises ``UserError`` for
    overrides that do not fit, with the claim.
    """
    planned: dict[str, PlannedRun] = {}
    for claim in claims:
        corpus, rung = corpora[claim.name][0], rungs[claim.name][0]
        for system in claim.systems:
            own = float(systems.on(claim, system, corpus).config.optimizer.lr)
            for factor in FACTORS:
                rate = None if factor == 1.0 else factor * own
                run = systems.run(claim, system, corpus, rung, SEED, rate)
                need = Need(claim.name, corpus.name, rung, system, SEED)
                planned.setdefault(run.training, run).needs.append(need)
    return list(planned.values())


def tuned_systems(plan: ClaimsPlan) -> tuple[list[RateSearch], list[str]]:
    """Return what the trials of a plan have shown, and the systems of which a trial is missing."""
    claims = {claim.name: claim for claim in plan.claims}
    found: dict[str, dict[float, Validation]] = {}
    missing: set[str] = set()
    for run in plan.runs:
        result = read_result(plan.folder(run))
        for need in run.needs:
            key = key_of_system(claims[need.claim], need.system, plan.tier)
            training = Training() if result is None else result.training
            if result is None or training.val_loss is None or training.val_bleu is None:
                missing.add(key)
            else:
                rate = float(result.config["optimizer"]["lr"])
                tried = Validation(training.val_loss, training.val_bleu)
                found.setdefault(key, {})[rate] = tried
    complete = [(key, sorted(tried.items())) for key, tried in found.items() if key not in missing]
    return [RateSearch(key, dict(tried)) for key, tried in complete], [*missing]


def write_rates(tuned: Sequence[RateSearch], file: Path) -> None:
    """Write the best rates by system."""
    rates = {each.system: each.rate for each in tuned}
    write_text(file, HEADER + yaml.safe_dump(rates, sort_keys=False, width=1000))


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


def rates_table(tuned: Sequence[RateSearch]) -> Table:
    """Return a row for each system: rates with their validation BLEU, and the best."""
    table = Table(title="Validation BLEU by learning rate", title_justify="left", box=None)
    for name in ("system", "rates", "best"):
        table.add_column(name, overflow="fold")
    for each in tuned:
        tried = ", ".join(f"{rate:g}: {one.bleu:.2f}" for rate, one in each.tried.items())
        edge = " (at the edge)" if each.at_the_edge else ""
        table.add_row(each.system, tried, f"{each.rate:g}{edge}")
    return table
