"""What a comparison has found, as data, before anything is presented."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from lightning_modules.figures.charts import Chart, Width
from lightning_modules.metrics.curves import curve_points, format_csv
from lightning_modules.metrics.systems import System
from lightning_modules.runs.job import run_label
from lightning_modules.testing.alarms import HEADINGS
from lightning_modules.testing.output_suspicions import suspicions_of_output
from lightning_modules.testing.scoring import PHRASE_TABLE
from sweeps.comparison.collect import Comparison, has_attention
from sweeps.comparison.conditions import StudyCost
from sweeps.comparison.evaluation import Evaluation, evaluate_sets
from sweeps.comparison.failure_shares import FailureShares
from sweeps.comparison.numbers import format_number, in_words
from sweeps.comparison.record import Origin
from sweeps.comparison.significance_tables import SignificanceTests, conclusions, significance_tests
from sweeps.comparison.tables import Table
from sweeps.report.alarms import RISING, Alarms, alarms_over
from sweeps.report.costs import cost_findings
from sweeps.report.explanations import (
    commonest_failures,
    disagreements,
    explained_falls,
    right_links,
)
from sweeps.report.group_tests import GroupTests, group_tests, quote
from sweeps.report.headline import Finding, ahead_without_a_model, answer, headline
from sweeps.report.learning_findings import NextStep, learning_findings, little_use, next_step
from sweeps.report.run_headline import run_headline
from sweeps.report.sentence_cards import Examples, example_sentences


@dataclass(frozen=True)
class StudyFigure:
    """One figure of a study; ``why_not`` says why ``chart`` is None."""

    name: str
    title: str
    chart: Chart | None = None
    why_not: str = ""


@dataclass(frozen=True, eq=False)
class StudySection:
    """What there is to report of one study, or of several studies side by side."""

    costs: Sequence[StudyCost]
    kind: str  # the budget of the trials
    studies: Table  # a row for each study
    performance: Table  # what each study is expected to find, by its number of trials
    curves: Callable[[Width], dict[str, Chart]]
    """Draws search performance by trials and by tokens; no chart if no trial finished."""
    figures: Mapping[str, Sequence[StudyFigure]]
    """Figures of the trials, by the names of the studies."""
    parameters: Mapping[str, Sequence[str]]  # tuned settings, by the names of the studies

    @property
    def tuned(self) -> set[str]:
        """The settings that at least one study has chosen."""
        return {key for keys in self.parameters.values() for key in keys}

    def charts(self, names: Collection[str] = ()) -> dict[str, Chart]:
        """Return the drawn figures of the trials, all or those of ``names``.

        The keys are those of ``studies.html.j2``, such as ``a-study-history``.
        """
        return {
            f"{study}-{figure.name}": figure.chart
            for study, figures in self.figures.items()
            for figure in figures
            if figure.chart is not None and (not names or figure.name in names)
        }


NOT_SETTLED = "Not settled yet."
NO_ANSWER = "Nothing can be said yet: every system has learned too little."
WEAK = "‡"  # after the names of systems that have learned too little; † is of tests
MOST_WEAK = 5  # most of them that a sentence names
CORPUS, TRAININGS = "the corpus", "training runs"
ONE_TRAINING = "{} one seed; other seeds may differ."
"""The sentence before the findings, where systems have one seed; ``{}`` says which systems."""
KNOWS_LINKS = ", but is given the true links between words"
INTERVALS = "In brackets: 95% intervals over test sentences."
INTERVALS_OVER_SEEDS = (
    "In brackets: 95% intervals; those of scores are over test sentences, those of differences "
    "over test sentences and seeds."
)
"""How to read the findings where systems have several seeds."""
TESTS_OF_ONE_TRAINING = (
    "The tests are about these training runs: another run of a system with one seed may come out "
    "otherwise. In simulations, two equal systems of one seed each differ “significantly” in 17% "
    "to 89% of comparisons, with two or three seeds in at most 5% (docs/reference/evaluation.md)."
)
"""The sentence before the findings and their tests, where systems have one seed."""


@dataclass(frozen=True, eq=False)
class Findings:
    """Evaluated systems; for runs, also what is known of their training."""

    name: str
    evaluation: Evaluation
    comparison: Comparison  # runs, failed jobs and conditions; empty for an evaluation of files
    studies: StudySection | None = None  # studies that tuned the systems; None without tuning
    origin: Origin = field(default_factory=Origin)  # command, question and date, where known
    curve: str | None = None  # `bleu_by_length.csv`, where a run has written it

    @cached_property
    def significance(self) -> dict[str, SignificanceTests]:
        """Tests of all pairs of systems, by the name of the metric."""
        return significance_tests(self.evaluation)

    @cached_property
    def sets(self) -> dict[str, Evaluation]:
        """BLEU on each test set by name, where a run has several test sets; else nothing."""
        return evaluate_sets(self.evaluation.systems, self.evaluation.scoring)

    @property
    def alone(self) -> bool:
        """Whether this is about one finished run, with nothing to compare."""
        jobs = len(self.comparison.runs) + len(self.comparison.failed)
        return jobs == len(self.evaluation.systems) == 1

    @cached_property
    def alarms(self) -> Alarms | None:
        """What says that trainings have learned too little; None where nothing does."""
        runs = self.comparison.runs
        names = ["" if self.alone else run.training for run in runs]
        return alarms_over(zip(names, (run.result for run in runs), strict=True))

    @cached_property
    def group_tests(self) -> list[GroupTests]:
        """The test sets that several systems translated, with the tests of BLEU."""
        return group_tests(self.evaluation, self.significance.get("bleu"))

    @cached_property
    def failures(self) -> FailureShares:
        """How the translations of each system fail."""
        return FailureShares(self.evaluation)

    @cached_property
    def headline(self) -> list[Finding]:
        """What was found, in a few sentences, each with its test.

        Of several test sets, each has the finding about its best system alone.
        """
        found = self._lengths
        if len(self.group_tests) == 1:
            [tests] = self.group_tests
            scores = disagreements(tests, self.significance)
            links = right_links(tests)
            best = tests.ranked[0]
            learned = learning_findings(self.comparison, best)
            costs = cost_findings(self.comparison, best)
            return [*found, *self._falls, *scores, *links, *learned, *costs]
        return [*found, *self._falls]

    @cached_property
    def _lengths(self) -> list[Finding]:
        """What was found about the best system, and about BLEU against length."""
        if self.alone:
            return run_headline(self.evaluation)
        plain = {run.name for run in self.comparison.runs if not has_attention(run.result)}
        return headline(self.group_tests, self.comparison.train_limits, plain)

    @cached_property
    def _falls(self) -> list[Finding]:
        """The kinds of failure that explain falls, on one test set."""
        if len(self.evaluation.groups) != 1:
            return []
        [group] = self.evaluation.groups
        return list(explained_falls(self.failures, group))

    @property
    def answer(self) -> str | None:
        """The answer to the question in one short sentence; None where no test gives one.

        Systems that have learned too little have a mark, and the answer is not settled; if all
        have, there is nothing to answer.
        """
        if len(self.too_weak) == len(self.evaluation.systems) > 1:
            return NO_ANSWER
        found = answer(self._lengths)
        if not found or not self.marked_weak:
            return found
        for name in map(quote, self.marked_weak):
            found = found.replace(name, f"{name}{WEAK}")
        return f"{NOT_SETTLED} {found}"

    @property
    def reason(self) -> str | None:
        """How many of the longest translations fail, and how; None if few do."""
        if len(self.evaluation.groups) != 1:
            return None
        return commonest_failures(self.failures, self.evaluation.groups[0])

    @property
    def clue(self) -> str | None:
        """Why the system with the lowest BLEU may have it, in a sentence; None if not known.

        There is none without an answer that it may explain.
        """
        if len(self.group_tests) != 1 or self.answer in (None, NO_ANSWER):
            return None
        return little_use(self.comparison, self.group_tests[0])

    @property
    def weak(self) -> str | None:
        """The systems that have learned too little, in a sentence; None if all or none have."""
        if not self.marked_weak:
            return None
        said = self.weak_among(self.evaluation.systems)
        their = "its" if len(self.too_weak) == 1 else "their"
        return f"{WEAK} {said}: {their} scores and falls say little." if said else None

    def weak_among(self, systems: Collection[System]) -> str | None:
        """Say which of some systems have learned too little, and why; None if none has."""
        weak = [each for each in self.too_weak if each in systems]
        if not weak:
            return None
        names = [quote(each) for each in weak]
        named = in_words(names) if len(weak) <= MOST_WEAK else f"{len(weak)} systems"
        have = "has" if len(weak) == 1 else "have"
        return f"{named} {have} learned too little ({self.why_weak(weak)})"

    def why_weak(self, weak: Collection[System]) -> str:
        """Say why systems have learned too little: the kinds of their alarms."""
        names = {system.name for system in weak}
        alarms = (run.result.alarms for run in self.comparison.runs if run.name in names)
        kinds = {alarm.kind for of_run in alarms for alarm in of_run}
        return ", or ".join(HEADINGS[kind] for kind in HEADINGS if kind in kinds - {RISING})

    @property
    def behind(self) -> str | None:
        """The translation without a model that no system reaches, in a sentence; None if one does.

        A page of one run has it in its answer.
        """
        if self.alone or len(self.group_tests) != 1:
            return None
        [group] = self.group_tests
        if (ahead := ahead_without_a_model(group)) is None:
            return None
        best = group.ranked[0]
        scores = [ahead[1], group.bleu(best).value]
        floor, reached = (format_number(score, 1) for score in scores)
        given = KNOWS_LINKS if ahead[0].startswith(PHRASE_TABLE) else ""
        return (
            f"Even {quote(best)}, which has the highest BLEU ({reached} on the whole test set), "
            f"does not reach the {ahead[0]} ({floor}), which has no model{given}."
        )

    @cached_property
    def too_weak(self) -> list[System]:
        """The systems of which every training run has learned too little."""
        little: dict[str, bool] = {}
        for run in self.comparison.runs:
            found = any(alarm.kind != RISING for alarm in run.result.alarms)
            little[run.name] = found and little.get(run.name, True)
        return [each for each in self.evaluation.systems if little.get(each.name)]

    @property
    def marked_weak(self) -> Sequence[System]:
        """The systems marked with ``WEAK``; none if that would be all of them."""
        weak = self.too_weak
        return [] if len(weak) == len(self.evaluation.systems) else weak

    @property
    def caution(self) -> str | None:
        """The caution about systems that have one seed; None if every system has several."""
        systems = self.evaluation.systems
        once = [system for system in systems if len(system.outputs) == 1]
        if not once or not self.significance:
            return None
        who = "Every system has" if len(once) == len(systems) else "Some systems have"
        return ONE_TRAINING.format(who)

    @property
    def next_step(self) -> NextStep | None:
        """The command that would make the findings surer; None if no further training would."""
        alarms = self.alarms
        longer = alarms.longer if alarms and alarms.improved else ""
        known = self.comparison
        # Seeds that failed are trained by the same command.
        one_seed = self.caution is not None and bool(known.runs) and not known.failed
        return next_step(self.comparison, self.origin.command, longer, one_seed)

    @property
    def intervals(self) -> str:
        """What the intervals and the tests of the findings are about."""
        said = INTERVALS_OVER_SEEDS if self.several_seeds else INTERVALS
        return f"{said} {TESTS_OF_ONE_TRAINING}" if self.caution else said

    @property
    def several_seeds(self) -> bool:
        """Whether a system was trained with several seeds."""
        return any(len(system.outputs) > 1 for system in self.evaluation.systems)

    @cached_property
    def conclusions(self) -> list[str]:
        """Lines that say which systems differ."""
        return conclusions(self.evaluation, self.significance.get("bleu"))

    @cached_property
    def suspicions(self) -> dict[str, list[str]]:
        """What looks wrong: in the corpus, in training runs, in the translations of a system.

        Of the translations, the warning about most of a system's comes first.
        """
        runs = self.comparison.runs
        corpora = [each for run in runs for each in run.result.data.suspicions]
        trainings = [
            f"{run.training}: {each}" for run in runs for each in run.result.training.suspicions
        ]
        found = {CORPUS: list(dict.fromkeys(corpora)), TRAININGS: trainings}
        if self.alone:  # which has looked at its translations
            found[quote(self.evaluation.systems[0])] = list(runs[0].result.suspicions)
            return {text: lines for text, lines in found.items() if lines}
        told = [
            (each.lines / each.of, quote(system), f"{run_label(system.label, output.seed)}: {each}")
            for system in self.evaluation.systems
            for output in system.outputs
            for each in suspicions_of_output(system.test, output.hypotheses)
        ]
        for _, name, line in sorted(told, key=lambda each: -each[0]):
            found.setdefault(name, []).append(line)
        return {text: lines for text, lines in found.items() if lines}

    @property
    def warnings(self) -> list[str]:
        """Lines that say what looks wrong in texts and training runs."""
        return [line for lines in self.suspicions.values() for line in lines]

    @property
    def warned(self) -> str:
        """What the warnings are about, and one of the warnings without its examples."""
        found = self.suspicions
        systems = [each for each in found if each not in (CORPUS, TRAININGS)]
        of = systems[0] if len(systems) == 1 else f"{len(systems)} systems"
        parts = [each for each in (CORPUS, TRAININGS) if each in found]
        texts = in_words([*parts, f"translations of {of}"] if systems else parts)
        first = self.warnings[0].partition(": “")[0]
        return f"{texts}, e.g. {first}" if len(self.warnings) > 1 else f"{texts}: {first}"

    @cached_property
    def examples(self) -> Examples:
        """Sentences with the translation and the attention of each system."""
        contests = {tests.group: tests.contest for tests in self.group_tests}
        return example_sentences(self.evaluation.groups, contests)

    @property
    def every_seed(self) -> str:
        """``bleu_by_length.csv``: every score of every output in every length bucket."""
        if self.curve is not None:
            return self.curve
        points = [
            point
            for group in self.evaluation.groups
            for point in curve_points(group.systems, group.subsets)
        ]
        return format_csv(points, self.evaluation.draws)
