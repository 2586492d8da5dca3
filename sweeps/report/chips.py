"""Chips under the answer of a page: what it rests on, each with a link to the part about that."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from sweeps.report.page_top import PageTop

ELSEWHERE = "facts"  # the part of the page that has what no section shows


class Chip(NamedTuple):
    """A few words with the id of the part of the page that they lead to."""

    words: str
    target: str
    alarming: bool = False


def chips_of(top: PageTop, sections: Collection[str]) -> list[Chip]:
    """Return the chips of a page that has these ``sections``, by their names."""
    return [*_alarms(top, sections), *_conditions(top, sections), *_amounts(top, sections)]


def _alarms(top: PageTop, sections: Collection[str]) -> Iterator[Chip]:
    findings = top.findings
    if findings.alarms and findings.alarms.found:
        yield Chip(findings.alarms.title, "too-little-learned", True)
    if failed := len(findings.comparison.failed):
        yield Chip(_counted(failed, "failed job"), "failed", True)
    if findings.warnings and "summary" in sections:
        yield Chip(_counted(len(findings.warnings), "warning"), "warnings", True)


def _conditions(top: PageTop, sections: Collection[str]) -> Iterator[Chip]:
    if top.badge:
        words = ", ".join(words for _, words in top.badge)
        target = "conditions" if "conditions" in sections else ELSEWHERE
        yield Chip(words if top.broken else f"fair: {words}", target, bool(top.broken))


def _amounts(top: PageTop, sections: Collection[str]) -> Iterator[Chip]:
    """Yield seeds, size of the corpus and budget of trainings; nothing for files."""
    if not top.results:
        return
    if not top.findings.alone:
        seeds = {result.seed for result in top.results}
        yield Chip(_counted(len(seeds), "seed"), _part("seeds", sections))
    sizes = sorted({result.data.pairs.get("train", 0) for result in top.results})
    if sizes[0]:
        pairs = " to ".join(f"{size:,}" for size in dict.fromkeys((sizes[0], sizes[-1])))
        yield Chip(f"{pairs} training pairs", _part("data", sections))
    for budget in top.budgets:
        yield Chip(budget, _part("learning", sections))


def _part(section: str, sections: Collection[str]) -> str:
    return f"section-{section}" if section in sections else ELSEWHERE


def _counted(count: int, name: str) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"
