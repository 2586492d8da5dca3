"""Print a report in the terminal."""

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from pathlib import Path

from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.table import Table as Printed
from rich.text import Text

from lightning_modules.figures.palette import looks_of
from lightning_modules.metrics.chosen_metrics import METRICS
from lightning_modules.metrics.lengths import THIN, Bounds
from lightning_modules.metrics.systems import System
from lightning_modules.runs.job import without_authors
from lightning_modules.runs.paths import FIGURES, TABLES
from sweeps.comparison.collect import FailedJob
from sweeps.comparison.conditions import Condition, State
from sweeps.comparison.evaluation import Evaluation
from sweeps.comparison.numbers import in_words
from sweeps.comparison.score_tables import named_seeds
from sweeps.comparison.tables import Cell, Column, Table
from sweeps.launch.live import mark_of
from sweeps.report.alarms import Alarms
from sweeps.report.costs import cost_range
from sweeps.report.findings import NOT_SETTLED, WEAK, Findings

WHOLE = {"exact": "EM", "aer": "AER"}
"""Short titles of the scores on the whole test set that the terminal shows next to BLEU."""
PERCENT = " (%)"


def rich_table(
    table: Table, columns: int | None = None, marks: Sequence[Text] | None = None
) -> Printed:
    """Return a table to print, its first ``columns`` only where the others would not fit.

    ``marks`` stand before the rows.
    """
    titles = table.titles[:columns]
    printed = _printed(table.title, titles)
    for each, column in zip(printed.columns, table.columns, strict=False):
        each.justify = "left" if column.kind == "text" else "right"
    for number, row in enumerate(table.shown):
        first = Text.assemble(marks[number], " ", row[0]) if marks else Text(row[0])
        printed.add_row(first, *map(Text, row[1 : len(titles)]))
    return printed


def rich_table_of_columns(table: Table, names: int) -> Printed:
    """Return a table to print with a line for each column, where its rows would not fit.

    The first ``names`` columns name the rows of ``table``, which become columns.
    """
    rows = table.shown
    printed = _printed(table.title, ["", *("\n".join(row[:names]) for row in rows)])
    for place, title in enumerate(table.titles[names:], start=names):
        printed.add_row(Text(title), *(Text(row[place]) for row in rows))
    return printed


def _printed(title: str, columns: Sequence[str]) -> Printed:
    printed = Printed(
        title=title, title_justify="left", padding=(0, 1, 0, 0), box=None, pad_edge=False
    )
    for name in columns:
        printed.add_column(name, justify="right")
    printed.columns[0].overflow, printed.columns[0].min_width = "fold", 11
    printed.columns[0].justify = "left"
    return printed


MOST_LINES = 25
"""Lines of a terminal that a comparison of any number of systems prints."""
FOR_PAGE, LEAST_TABLE = 4, 5
"""The last lines are for W&B and the paths of page and files; the table has at least so many."""
OTHER_STATES: dict[State, tuple[str, str]] = {
    "differs by design": ("differs by design", "differ by design"),
    "not known": ("is not known", "are not known"),
}
"""Words for conditions in other states: for one condition, and for several."""
MOST_JOBS, MOST_CONDITIONS = 2, 3  # failed jobs and broken conditions that are named
LONGEST_LABEL, LONGEST_FOLDER, LONGEST_TEXT = 40, 50, 130  # characters
LONGEST_ANSWER = 320  # characters: four lines, where no failed job takes its place
LONGEST_ERRORS = 200  # characters of all errors of failed jobs


def print_findings(findings: Findings, console: Console) -> None:
    """Print failed jobs, alarms, the main finding and table, and what is unfair or looks wrong.

    The page and the files have the rest.
    """
    before: list[RenderableType] = [*_failed(findings.comparison.failed)]
    if findings.alarms:
        before += alarm_lines(findings.alarms, WEAK if findings.marked_weak else "")
    before += _found(findings)
    after = [*_limits(findings)]
    left = MOST_LINES - FOR_PAGE - _lines([*before, *after], console)
    scores = _scores(findings, max(left, LEAST_TABLE), console)
    left -= _lines([scores], console)
    for text in _where_there_is_room(findings):
        if (lines := _lines([text], console)) <= left:
            before.append(text)
            left -= lines
    for each in (*before, scores, *after):
        console.print(each)


def _lines(shown: Iterable[RenderableType], console: Console) -> int:
    """Return how many lines of a terminal all take."""
    return sum(len(console.render_lines(each)) for each in shown)


def _where_there_is_room(findings: Findings) -> Iterator[Text]:
    """Yield what a comparison without a full screen says too: how translations fail, and cost."""
    if findings.reason:
        yield Text(findings.reason)
    if not findings.alone and (cost := cost_range(findings.comparison)):
        yield Text(f"Training: {cost}.")


def alarm_lines(alarms: Alarms, mark: str = "") -> Iterator[Text]:
    """Yield what is alarming about trainings; ``mark`` is that of their systems in other lines."""
    if alarms.found:
        said = f"{f' ({mark})' if mark else ''}; {shorten(alarms.in_short, 2 * LONGEST_TEXT)}"
        yield Text.assemble((f"✗ {alarms.title}", "bold red"), said)
    if alarms.improving:
        short = alarms.improving_in_short
        longer = f" with {alarms.longer}" if alarms.longer and alarms.runs == 1 else ""
        yield Text(f"{short[:1].upper()}{short[1:]}: train longer{longer}.", "yellow")


def _failed(jobs: Sequence[FailedJob]) -> Iterator[Text]:
    named = [
        (
            f"{shorten(job.label, LONGEST_LABEL)} ({shorten(str(job.folder), LONGEST_FOLDER)})",
            job.error,
        )
        for job in jobs
    ]
    return failures("failed job", named)


def failures(what: str, named: Sequence[tuple[str, str]]) -> Iterator[Text]:
    """Yield lines on what failed, by names with errors: the first few and the number of others."""
    for name, error in named[:MOST_JOBS]:
        error = shorten(error, LONGEST_ERRORS // min(len(named), MOST_JOBS))
        yield Text.assemble((f"✗ {what}", "bold red"), f" {name}: {error}")
    if (more := len(named) - MOST_JOBS) > 0:
        yield Text(f"✗ {more} more failed; the page names all", "bold red")


def fitting(table_of: Callable[[int], Printed], rows: int, lines: int, console: Console) -> Printed:
    """Return the table of the most ``rows`` that fit into so many ``lines``."""
    for count in range(min(rows, lines), 0, -1):
        table = table_of(count)
        if len(console.render_lines(table)) <= lines:
            return table
    return table_of(0)


def _found(findings: Findings) -> Iterator[Text]:
    headline = findings.headline
    if headline:
        found = findings.answer or f"{headline[0].claim}."
        found = found.removeprefix(f"{NOT_SETTLED} ")  # the alarm above says so
        labels = without_authors(each.label for each in findings.evaluation.systems)
        for label, short in labels.items():
            found = found.replace(f"“{label}”", f"“{short}”")
        most = LONGEST_TEXT if findings.comparison.failed else LONGEST_ANSWER
        yield Text(shorten(found, most), "bold")


def _limits(findings: Findings) -> Iterator[Text]:
    """Yield what limits the findings: few seeds, conditions, suspicious text."""
    step = None if findings.alone else findings.next_step
    if findings.caution and step:  # in as few lines as both take together
        yield Text(f"{findings.caution.partition(';')[0]}. {step}", "yellow")
    elif findings.caution or step:
        yield Text(findings.caution or str(step), "yellow")
    conditions = [] if findings.alone else findings.comparison.conditions
    broken = [each for each in conditions if not each.holds]
    if len(broken) == 1:
        line = f" {broken[0].name}: {shorten(broken[0].text, LONGEST_TEXT)}"
        yield Text.assemble(("✗ NOT HELD", "bold red"), line)
    elif broken:
        named = [each.name for each in broken[:MOST_CONDITIONS]]
        if (more := len(broken) - len(named)) > 0:
            named.append(f"{more} more")
        yield Text.assemble(("✗ NOT HELD", "bold red"), f" {in_words(named)}; the page says why")
    elif conditions:
        yield Text(f"✓ {_held(conditions)}", "green")
    if findings.warnings:
        line = f" {textwrap.shorten(findings.warned, LONGEST_TEXT, placeholder=' …')}"
        yield Text.assemble(("✗ warnings:", "bold red"), line)


def _held(conditions: Sequence[Condition]) -> str:
    """Return how many conditions hold, and the names of those in which systems may differ."""
    held = sum(each.state == "held" for each in conditions)
    said = [f"{held} of {len(conditions)} conditions of a fair comparison hold"]
    for state, verbs in OTHER_STATES.items():
        names = [each.name for each in conditions if each.state == state]
        named = names if len(names) <= MOST_CONDITIONS else [f"{len(names)} others"]
        if names:
            said.append(f"{in_words(named)} {verbs[len(names) > 1]}")
    return "; ".join(said)


def _scores(findings: Findings, lines: int, console: Console) -> Printed:
    """Return the table of BLEU in as many ``lines``: of the highest systems, if all are too many.

    Translations without a model are the first to be left out. Where the table would be too wide,
    it has the shortest and the longest sentences alone.
    """
    evaluation = findings.evaluation
    shown = list(named_seeds(evaluation, "bleu"))
    weak = {system.name for system in findings.marked_weak}
    bounds = evaluation.bounds
    unlimited = console.options.update(max_width=1_000)  # else no table measures as too wide
    for chosen in (bounds, list(dict.fromkeys([*bounds[:1], *bounds[-1:]]))):
        table = _scores_of(evaluation, shown, chosen, weak, "")
        if Measurement.get(console, unlimited, table).maximum <= console.width:
            break
    trained = len(evaluation.systems)
    ranked = [
        row
        for part in (shown[:trained], shown[trained:])
        for row in sorted(part, key=lambda each: -(evaluation.mean(each[0], None, "bleu") or 0))
    ]

    def highest(count: int) -> Printed:
        kept = [each for each in shown if each in ranked[:count]]
        left = [system.label for system, _ in ranked[max(count, trained) :]]
        cut = f"; without {in_words(left)}" if left else ""
        if count < trained:
            cut = f"; the {count} highest of {trained}"
        return _scores_of(evaluation, kept, chosen, weak, cut)

    return fitting(highest, len(shown), lines, console)


def _scores_of(
    evaluation: Evaluation,
    shown: Sequence[tuple[System, str | None]],
    bounds: Sequence[Bounds],
    weak: Set[str],
    cut: str,
) -> Printed:
    """Return the table of some systems, and of some lengths.

    ``weak`` names the systems that have learned too little; ``cut`` says what is left out.
    """
    whole = [name for name in WHOLE if name in {each.name for each in evaluation.metrics}]
    title = f"BLEU [95%] by {evaluation.length_axis.partition(' (')[0]}"
    labels_of_whole = (METRICS[name].label.removesuffix(PERCENT) for name in whole)
    named = [f"{WHOLE[name]}: {label}" for name, label in zip(whole, labels_of_whole, strict=True)]
    title += f"; {', '.join(named)}{PERCENT}" if named else ""
    title += cut
    labels = {
        system.name: shorten(system.label, LONGEST_LABEL) + (WEAK if system.name in weak else "")
        for system, _ in shown
    }
    columns = [Column("system", "system", labels=labels), Column("seed", "seed")]
    columns.append(Column("bleu", "BLEU", "estimate"))
    for each in bounds:
        thin = "*" if min(evaluation.sentences(each)) < THIN else ""
        columns.append(Column(each.label, each.label + thin, "number"))
    columns += [Column(name, WHOLE[name], "number") for name in whole]
    # Means alone: with intervals a row would not fit 80 columns.
    rows: list[list[Cell]] = [
        [
            system.name,
            seed,
            evaluation.estimate(system, None, "bleu"),
            *(evaluation.mean(system, each, "bleu") for each in bounds),
            *(evaluation.mean(system, None, name) for name in whole),
        ]
        for system, seed in shown
    ]
    looks = looks_of(system.name for system in evaluation.systems)
    marks = [
        mark_of(looks[name]) if name in looks else Text(" ")
        for name in (system.name for system, _ in shown)
    ]
    return rich_table(Table("printed", title, columns, rows, {}), marks=marks)


def shorten(text: str, most: int) -> str:
    """Return a text in one line of at most so many characters: its middle is left out."""
    text = " ".join(text.split())
    kept = (most - 3) // 2
    return text if len(text) <= most else f"{text[:kept].rstrip()} … {text[-kept:].lstrip()}"


def print_files(out: Path, console: Console) -> None:
    """Print where the files of a comparison are, besides the page."""
    print_line(f"tables: {out / TABLES}; figures: {out / FIGURES}", console)


def print_page(page: Path, console: Console) -> None:
    """Print what to do next, on one line from which the path of the ``page`` can be copied."""
    print_line(f"open {page} in a browser", console)


def print_line(line: str, console: Console) -> None:
    """Print a line in which a name or a path may look like markup, as it is."""
    console.print(line, markup=False, highlight=False, soft_wrap=True)
