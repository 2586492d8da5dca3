"""What a window of attention costs: a system with a window, compared with the same system
without one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from typing_extensions import override

from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.systems import System
from lightning_modules.metrics.word_alignment import Gold
from lightning_modules.runs.settings import flatten
from sweeps.comparison.collect import Comparison
from sweeps.comparison.evaluation import EvalGroup, Evaluation
from sweeps.comparison.numbers import format_interval, format_number
from sweeps.comparison.score_tables import origin, system_column
from sweeps.comparison.significance_tables import SignificanceTests
from sweeps.comparison.tables import Column, Table
from sweeps.report.group_tests import BLEU, WHOLE, GroupTests
from sweeps.report.sections import Section

GLOBAL = "global"
OF_A_WINDOW = ("attention.window", "attention.half_width", "attention.renormalise")
"""Settings of a model that only a window has."""
NAMES = {"local_m": "local-m", "local_p": "local-p"}
MEASURES = [
    Column("window", "window"),
    Column("half_width", "D", "count"),
    Column("out_of_reach", "links farther than D (%)", "number"),
    Column("bleu", "BLEU", "estimate"),
    Column("bleu_without", "BLEU without", "estimate"),
    Column("cost", "cost in BLEU", "estimate", 2),
]


class WindowCost(NamedTuple):
    """BLEU of a system with a window, and of the system that lacks only the window."""

    system: System
    window: str
    half_width: int
    out_of_reach: float | None
    """Percentage of sure gold links between words more than D positions apart."""
    bleu: Estimate | None
    without: System
    bleu_without: Estimate | None
    cost: Estimate | None  # BLEU without the window less BLEU with it; None for an untested pair
    p: float | None


class Windows(Section):
    """Systems with a window and the same systems without one; nothing without such pairs."""

    heading = "What a window costs"
    template = """{% if section.lines %}<h2>{{ section.heading }}</h2>
<ul class="card conditions">
{% for line in section.lines %}<li><bdi>{{ line }}</bdi></li>{% endfor %}</ul>
{% from "macros.html.j2" import table %}{% for it in tables.values() %}{{ table(it) }}{% endfor %}
{% endif %}"""

    @cached_property
    def _costs(self) -> list[WindowCost]:
        findings = self.findings
        bleu = findings.significance.get("bleu")
        return window_costs(findings.evaluation, findings.comparison, bleu)

    @property
    @override
    def lines(self) -> Sequence[str]:
        """A sentence about each window."""
        return list(_sentences(self._costs))

    @override
    def tables(self) -> Sequence[Table]:
        about = origin(self.findings.evaluation, "bleu")
        bleu = self.findings.significance.get("bleu")
        return [_table(self._costs, about, bleu.floor if bleu else None)] if self._costs else []


def window_costs(
    evaluation: Evaluation, comparison: Comparison, bleu: SignificanceTests | None
) -> list[WindowCost]:
    """Return the cost of each window whose system without a window is in the same comparison."""
    return [
        cost for group in evaluation.groups for cost in _costs(evaluation, group, comparison, bleu)
    ]


def _table(
    costs: Sequence[WindowCost], origin: Mapping[str, str | int], floor: float | None
) -> Table:
    return Table(
        "windows",
        "What a window costs",
        [
            system_column(each.system for each in costs),
            *MEASURES[:4],
            system_column((each.without for each in costs), "without", "without the window"),
            *MEASURES[4:],
            Column("p_holm", "p, bootstrap, after Holm", "p", floor=floor),
        ],
        [[cell.name if isinstance(cell, System) else cell for cell in cost] for cost in costs],
        origin,
        "Each row compares a system with the system that differs only in the window. D: words on "
        "either side of the window's centre. Links farther than D: share of sure gold links "
        "between words whose places in their sentences differ by more than D, which local-m cannot "
        "see. Cost: BLEU without the window less BLEU with it, with the 95% interval over "
        "sentences and seeds; p as in the table of all tests.",
    )


def _sentences(costs: Iterable[WindowCost]) -> Iterator[str]:
    for each in costs:
        if each.cost is None:
            continue
        reach = ""
        if each.out_of_reach is not None:
            reach = f"; {each.out_of_reach:.1f}% of the links are farther than D"
        cost, changes = (-each.cost, "gains") if each.cost.value < 0 else (each.cost, "costs")
        yield (
            f"{each.system.label}: {each.window}, D = {each.half_width}, {changes} "
            f"{format_number(cost.value, 1)} BLEU {format_interval(cost, 1)}{reach}"
        )


def _costs(
    evaluation: Evaluation, group: EvalGroup, comparison: Comparison, bleu: SignificanceTests | None
) -> Iterator[WindowCost]:
    models = {
        system: flatten(runs[0].result.config.get("model") or {})
        for system, runs in comparison.by_system.items()
        if system in group.systems
    }
    whole = {
        _without_window(model): system
        for system, model in models.items()
        if model.get("attention.window") == GLOBAL
    }
    tests = GroupTests(evaluation, group, bleu) if bleu else None
    for system, model in models.items():
        window = str(model.get("attention.window"))
        without = whole.get(_without_window(model))
        if window not in NAMES or without is None:
            continue
        half_width = int(model["attention.half_width"])
        cost = tests.test(without, system, WHOLE) if tests else None
        yield WindowCost(
            system=system,
            window=NAMES[window],
            half_width=half_width,
            out_of_reach=_out_of_reach(system.test.gold, half_width),
            bleu=evaluation.estimate(system, None, BLEU),
            without=without,
            bleu_without=evaluation.estimate(without, None, BLEU),
            cost=cost.difference if cost else None,
            p=cost.p_bootstrap_holm if cost else None,
        )


def _without_window(model: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    return frozenset((key, str(value)) for key, value in model.items() if key not in OF_A_WINDOW)


def _out_of_reach(gold: Sequence[Gold] | None, half_width: int) -> float | None:
    if gold is None:
        return None
    links = [abs(source - target) > half_width for each in gold for source, target in each.sure]
    return 100 * sum(links) / len(links) if links else None
