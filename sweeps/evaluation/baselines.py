"""Baselines beside the compared systems: what their test sets score without a model."""

from collections.abc import Sequence
from itertools import chain, count

from lightning_modules.metrics.metric import Metric
from lightning_modules.metrics.systems import System
from lightning_modules.testing.baselines import COPY, PHRASE_TABLE, baseline


def baselines(
    systems_by_test: Sequence[Sequence[System]], metrics: Sequence[Metric]
) -> list[list[System]]:
    """Return the baselines of each test set; none where no system has a phrase table.

    Systems trained on other text have another phrase table. Where there are several, the name of a
    baseline says whose it is.
    """
    owners_by_test = [_owners(systems) for systems in systems_by_test]
    several = sum(map(len, owners_by_test)) > 1
    taken = {system.name for systems in systems_by_test for system in systems}

    def named(kind: str, owner: System, lines: Sequence[str]) -> System:
        name = _free_name(f"{kind} of {owner.name}" if several else kind, taken)
        label = f"{kind} of {owner.label}" if several else name
        return baseline(name, owner.test, lines, metrics, label)

    made = []
    for owners in owners_by_test:
        tables = [named(PHRASE_TABLE, owner, lines) for lines, owner in owners.items()]
        copies = [
            named(COPY, owner, owner.test.sources)
            for owner in list(owners.values())[:1]  # a test set has one copy
            if owner.test.sources is not None
        ]
        made.append([*tables, *copies])
    return made


def _owners(systems: Sequence[System]) -> dict[tuple[str, ...], System]:
    """Return the first system with each phrase table, by the translations of the test set."""
    owners: dict[tuple[str, ...], System] = {}
    for system in systems:
        for output in system.outputs:
            if output.phrase_table is not None:
                owners.setdefault(tuple(output.phrase_table), system)
    return owners


def _free_name(name: str, taken: set[str]) -> str:
    """Return ``name``, with ``#2``, ``#3``, … if it is taken; it then is."""
    names = chain([name], (f"{name} #{number}" for number in count(2)))
    free = next(each for each in names if each not in taken)
    taken.add(free)
    return free
