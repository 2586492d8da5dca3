"""What BLEU loses to wrong lengths, wrong words and wrong order in each length group."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from typing_extensions import override

from lightning_modules.figures.charts import Chart, Width
from lightning_modules.figures.lines import figures_of
from lightning_modules.metrics.bleu_losses import LOST, PARTS, loss_counts
from lightning_modules.metrics.bootstrap import Estimate, ScoredSubset
from lightning_modules.metrics.text_metrics import Bleu
from sweeps.comparison.evaluation import Evaluation, evaluate_further
from sweeps.comparison.score_tables import by_length, origin, system_column, uncertainty
from sweeps.comparison.tables import Cell, Column, Table
from sweeps.report.sections import Section
from sweeps.report.sections.length_curves import length_lines

NOTE = (
    "A fall of BLEU from one length group to another is the sum of what is lost to wrong length, "
    "to wrong words and to wrong order. Wrong order: what BLEU would gain if the right words of a "
    "translation stood in the order of the reference. Wrong words: what it would gain after that, "
    "if all words were right. Wrong length: the rest up to 100."
)


class BleuLosses(Section):
    """Parts of the loss of BLEU, by the changes that ``metrics.bleu_losses`` describes."""

    heading = "Why does it fall?"

    @cached_property
    def _evaluation(self) -> Evaluation:
        bleu = Bleu()
        return evaluate_further(
            self.findings.evaluation,
            (LOST, *PARTS),
            lambda system, output: loss_counts(
                output.statistics[bleu.statistics], output.hypotheses, system.test
            ),
        )

    @override
    def tables(self) -> Sequence[Table]:
        falls = list(self._falls())
        of_bleu = origin(self.findings.evaluation, "bleu")
        columns = [
            system_column(self._evaluation.systems),
            Column("from", "from"),
            Column("to", "to"),
            Column("bleu_fall", "BLEU falls by", "estimate"),
            *(Column(part.name, part.label, "estimate") for part in PARTS),
        ]
        title = "Falls of BLEU over sentence length, and their parts"
        fall = Table(
            "bleu_fall", title, columns, falls, of_bleu, f"{NOTE} {uncertainty(self._evaluation)}"
        )
        return [*([fall] if falls else []), *(by_length(self._evaluation, part) for part in PARTS)]

    def _falls(self) -> Iterator[list[Cell]]:
        """Yield the fall from the shortest to the longest group with enough sentences."""
        for system in self._evaluation.systems:
            every = self._evaluation.group(system).subsets
            groups = [each for each in every if each.bounds is not None and not each.thin]
            if len(groups) > 1:
                first, last = groups[0], groups[-1]
                names = (LOST.name, *(part.name for part in PARTS))
                rises = (_rise(system.name, name, first, last) for name in names)
                yield [system.name, *map(self._named, (first, last)), *rises]

    def _named(self, group: ScoredSubset) -> str:
        assert group.bounds is not None
        return self._evaluation.scoring.bucket_name(group.bounds)

    @override
    def figures(self, width: Width) -> Mapping[str, Chart]:
        figures: dict[str, Chart] = {}
        for part in PARTS:
            lines = length_lines(self._evaluation, part, width)
            figures |= figures_of(f"{part.name}_by_length", lines, width)
        return figures


def _rise(system: str, metric: str, first: ScoredSubset, last: ScoredSubset) -> Estimate | None:
    """Return how much more of BLEU is lost in the last group; the groups' draws are independent."""
    key = (system, metric)
    resampled = (last.resampled[key] - first.resampled[key]).mean(0)
    return Estimate.of(last.scores[key] - first.scores[key], resampled)
