"""The top of the page: title, question, badge of the conditions, and what was compared."""

from collections.abc import Iterator, Sequence
from functools import cached_property

from lightning_modules.runs.job import label_of
from lightning_modules.runs.schema import Result
from lightning_modules.runs.settings import key_of, labelling_overrides
from lightning_modules.training.budgets import find_kind, kind_of
from sweeps.comparison.conditions import MARKS, Condition, State
from sweeps.comparison.evaluation import Evaluation
from sweeps.comparison.numbers import in_words
from sweeps.report.costs import cost_range
from sweeps.report.findings import Findings

NAMED = 3  # most systems that a title names
QUESTION = "Which system translates best, and how does that change with sentence length?"
"""The question of a comparison that has none of its own."""
RUN_QUESTION = "How well does it translate, and how does that change with sentence length?"
"""The question that the page of one run answers."""


class PageTop:
    """What a reader must know before any number."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.origin = findings.origin
        self.results = [run.result for run in findings.comparison.runs]

    @property
    def title(self) -> str:
        """``about.title``, or a title made of the systems and of the settings that differ."""
        if self.origin.title:
            return self.origin.title
        if self.findings.alone:
            [run] = self.findings.comparison.runs
            return run.training
        systems = [system.label for system in self.findings.evaluation.systems]
        if self.results:
            systems = [label_of(each.variant, each.overrides, each.config) for each in self.results]
        names = list(dict.fromkeys(systems))
        title = in_words(names) if len(names) <= NAMED else f"{len(names)} systems"
        if self._varied:
            title += f" with {in_words(self._varied)}"
        return f"{title}: BLEU against sentence length"

    @property
    def question(self) -> str:
        """``about.question``, or one that fits any comparison."""
        return self.origin.question or (RUN_QUESTION if self.findings.alone else QUESTION)

    @cached_property
    def _varied(self) -> list[str]:
        """The settings that differ between runs, model and seed aside, with their values."""
        values: dict[str, dict[str, None]] = {}
        for result in self.results:
            for override in labelling_overrides(result.overrides, result.variant):
                values.setdefault(key_of(override), {})[override.partition("=")[2]] = None
        return [
            f"{key} = {', '.join(given)}"
            for key, given in values.items()
            if len(given) > 1 and key != "model"
        ]

    @property
    def broken(self) -> list[Condition]:
        """Conditions of a fair comparison that do not hold; a run alone is compared with none."""
        if self.findings.alone:
            return []
        return [each for each in self.findings.comparison.conditions if not each.holds]

    @property
    def badge(self) -> list[tuple[State, str]]:
        """States of the conditions with their counts in words, a broken one first.

        Conditions that did not hold in all systems are named. One run has none to hold.
        """
        if self.findings.alone:
            return []
        names: dict[State, list[str]] = {}
        for each in self.findings.comparison.conditions:
            names.setdefault(each.state, []).append(each.name)
        return [
            (state, f"{MARKS[state]} {_count_in_words(names[state], state)}")
            for state in sorted(MARKS, key=lambda state: state != "NOT HELD")
            if state in names
        ]

    @property
    def facts(self) -> list[tuple[str, list[str]]]:
        """What was compared, on what: names and lines."""
        facts = {
            "Corpus": list(dict.fromkeys(map(_corpus, self.results))),
            "Files": list(files_of(self.findings.evaluation)),
            "Budget": [self._of_each(budget) for budget in self.budgets],
            "Seeds": list(self._seeds()),
            "Runs": list(self._runs()),
            "Cost": list(self._cost()),
            "Date": [self.origin.date] if self.origin.date else [],
        }
        return [(name, lines) for name, lines in facts.items() if lines]

    @property
    def budgets(self) -> list[str]:
        """What the trainings spent, for each kind of budget, and in passes over the text."""
        spent: dict[str, set[str]] = {}
        for result in self.results:
            kind = kind_of(result.config)
            amount = result.training.spent(kind)
            if amount is not None:
                digits = f"{float(f'{amount:.3g}'):,.0f}"  # three of them
                spent.setdefault(find_kind(kind).unit, set()).add(digits)
        said = [f"{in_words(sorted(amounts))} {unit}" for unit, amounts in spent.items()]
        amounts = [each for of_kind in spent.values() for each in of_kind]
        epochs = {round(result.training.epochs or 0, 1) for result in self.results}
        if len(amounts) == len(epochs) == 1 and (passes := epochs.pop()):
            return [f"{said[0]} ({passes:g} epochs)"]
        return said

    @property
    def setting(self) -> str:
        """How the systems were trained, in a sentence of a caption; empty for files."""
        corpora = list(dict.fromkeys(map(_trained_on, self.results)))
        if not corpora:
            return ""
        on = in_words(corpora) if len(corpora) <= NAMED else f"{len(corpora)} texts"
        seeds = sorted({result.seed for result in self.results})
        named = f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
        spent = [f"{in_words(self.budgets)} per run"] if self.budgets else []
        return f"{'; '.join([f'Trained on {on}', *spent, named])}."

    def _of_each(self, budget: str) -> str:
        return budget if self.findings.alone else f"{budget} per run"

    def _cost(self) -> Iterator[str]:
        if cost := cost_range(self.findings.comparison):
            yield cost.replace(" per run", "") if self.findings.alone else cost

    def _seeds(self) -> Iterator[str]:
        if self.findings.alone:
            return  # in the title
        outputs = [each.outputs for each in self.findings.evaluation.systems]
        if self.results:
            seeds = sorted({output.seed for each in outputs for output in each})
            counts = sorted({len(each) for each in outputs})
            plural = "" if counts == [1] else "s"
            runs = f"{' or '.join(map(str, counts))} run{plural}"
            yield f"{', '.join(map(str, seeds))} ({runs} of each system)"

    def _runs(self) -> Iterator[str]:
        if self.results and not self.findings.alone:
            failed = len(self.findings.comparison.failed)
            yield f"{len(self.results)} finished, {failed} failed"


def _count_in_words(names: Sequence[str], state: State) -> str:
    if state == "held":
        return f"{len(names)} conditions hold" if len(names) > 1 else "1 condition holds"
    words = state.replace("differs", "differ") if len(names) > 1 else state
    return f"{len(names)} {words} ({', '.join(names)})"


def _corpus(result: Result) -> str:
    data, parts = result.data, {"train": "training pairs", "test": "test sentences"}
    counts = [
        f"{data.pairs[split]:,} {name}" for split, name in parts.items() if split in data.pairs
    ]
    written = " (synthetic: a program writes the sentences)" if is_synthetic(result) else ""
    return f"{data.name}{written}, {data.source} → {data.target}: {', '.join(counts)}"


def _trained_on(result: Result) -> str:
    data, kind = result.data, "the synthetic corpus " if is_synthetic(result) else ""
    pairs = f"{data.pairs.get('train', 0):,} pairs"
    return f"{pairs} of {kind}{data.name} ({data.source} → {data.target})"


def is_synthetic(result: Result) -> bool:
    """Return whether a run was trained on the built-in corpus."""
    corpus = str((result.config.get("data") or {}).get("_target_", ""))
    return corpus.startswith("datamodules.grammar")


def files_of(evaluation: Evaluation) -> Iterator[str]:
    """Yield each file or run folder that the user named, after its override."""
    tests = {id(group.systems[0].test): group.systems[0].test for group in evaluation.groups}
    files = [test.files for test in tests.values() if test.files]
    for option, named in (each for of_test in files for each in of_test.items()):
        yield f"{option}: {', '.join(named)}"
    for system in evaluation.systems if files else []:
        for output in system.outputs:
            seed = f", seed {output.seed}" if len(system.outputs) > 1 else ""
            yield f"systems.{system.name}{seed}: {output.file or output.folder}"
