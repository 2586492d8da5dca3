"""The first lines of a page: what to read with care, and what the answer rests on.

Each part leads to where the page says more.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from sweeps.comparison.numbers import in_words
from sweeps.report.costs import time_range, total_time
from sweeps.report.page_top import PageTop, is_synthetic

ELSEWHERE = "facts"  # the part of the page that has what no section shows


class Chip(NamedTuple):
    """A few words with the id of the part of the page that they lead to."""

    words: str
    target: str


def cautions_of(top: PageTop, sections: Collection[str]) -> Iterator[Chip]:
    """Yield why the results are to be read with care, the worst first."""
    findings = top.findings
    if top.broken:
        names = in_words([each.name for each in top.broken])
        yield Chip(f"the comparison is not fair ({names} NOT HELD)", "not-held")
    if failed := len(findings.comparison.failed):
        yield Chip(_counted(failed, "failed job"), "failed")
    if alarms := findings.alarms:
        if alarms.found:
            title = alarms.title
            yield Chip(f"{title[:1].lower()}{title[1:]}", "too-little-learned")
        if alarms.improved:
            yield Chip(alarms.improving_in_short, "still-improving")
    if findings.alone:
        yield Chip("a single run; another may give another result", ELSEWHERE)
    if findings.caution:
        yield Chip("only one seed", "caution")
    if findings.warnings and "summary" in sections:
        yield Chip(_counted(len(findings.warnings), "warning"), "warnings")


def chips_of(top: PageTop, sections: Collection[str]) -> list[Chip]:
    """Return the chips of a page that has these ``sections``, by their names."""
    return [*_conditions(top, sections), *_amounts(top, sections)]


def _conditions(top: PageTop, sections: Collection[str]) -> Iterator[Chip]:
    if top.badge:
        words = ", ".join(words for _, words in top.badge)
        target = "conditions" if "conditions" in sections else ELSEWHERE
        yield Chip(words if top.broken else f"fair: {words}", target)


def _half(top: PageTop) -> str:
    """Say how long most training sentences are, where all runs have the same and it is known."""
    known = [result.data.statistics for result in top.results]
    halves = {each and each.splits["train"]["source"].in_words.median for each in known}
    [median, *others] = halves
    return "" if others or median is None else f", half of at most {median} words"


def _languages(top: PageTop) -> str:
    """Name the languages of the text, and whether a program wrote it; nothing if runs differ."""
    found = {
        f"{'synthetic ' if is_synthetic(each) else ''}{each.data.source} → {each.data.target}, "
        for each in top.results
    }
    return found.pop() if len(found) == 1 else ""


def _amounts(top: PageTop, sections: Collection[str]) -> Iterator[Chip]:
    """Yield seeds, corpus, budget and time of trainings; nothing for files."""
    if not top.results:
        return
    if not top.findings.alone:
        seeds = {result.seed for result in top.results}
        yield Chip(_counted(len(seeds), "seed"), _part("seeds", sections))
    sizes = sorted({result.data.pairs.get("train", 0) for result in top.results})
    if sizes[0]:
        pairs = " to ".join(f"{size:,}" for size in dict.fromkeys((sizes[0], sizes[-1])))
        half = _half(top) if len(sizes) == 1 else ""
        yield Chip(f"{_languages(top)}{pairs} training pairs{half}", _part("data", sections))
    for budget in top.budgets:
        yield Chip(budget, _part("learning", sections))
    runs = top.findings.comparison
    if time := time_range(runs):
        words = time if top.findings.alone else f"{time} per run, {total_time(runs)} in all"
        yield Chip(words, _part("speed", sections))


def _part(section: str, sections: Collection[str]) -> str:
    return f"section-{section}" if section in sections else ELSEWHERE


def _counted(count: int, name: str) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"
