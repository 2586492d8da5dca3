"""A trained run: its scores, its test set, and translations of other sentences."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig

from attention_bench.attention_map import AttentionMap
from datamodules.errors import UserError
from lightning_modules.runs.files import read_curve, read_history, read_predictions, read_result
from lightning_modules.runs.job import label_of, label_with_changes, quoted, run_label
from lightning_modules.runs.schema import Result
from sweeps.launch.compose import task_settings

if TYPE_CHECKING:  # these take seconds
    import pandas as pd

    from lightning_modules.training.checkpoints import TrainedModel


@dataclass(frozen=True, eq=False)
class TranslatedSentence:
    """A sentence and its translations; a notebook shows the best one with its attention."""

    source: str  # cleaned as the training text was
    text: str  # the best translation; empty for an empty sentence
    score: float | None  # of the search
    others: list[tuple[str, float]]
    """The next hypotheses with their scores, best first; ``decoding.n_best=5`` gives four."""
    attention: AttentionMap | None  # of the best translation; None without attention

    def _repr_html_(self) -> str:
        drawn = "" if self.attention is None else self.attention._repr_html_()
        return f"<p>{escape(self.source)}<br><b>{escape(self.text)}</b></p>{drawn}"


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run, see ``load``. Files are read when they are asked for, weights last.

    ``overrides`` are those of the command line (``decoding.beam_size=8``); what they leave out is
    as in the run. Every method raises ``UserError`` for files and settings that cannot be used.
    """

    folder: Path
    result: Result  # the content of ``result.json``

    @property
    def label(self) -> str:
        """The system, as people read it."""
        overrides = self.result.overrides
        label = label_of(self.result.variant, overrides, self.result.config)
        return label_with_changes(label, overrides)

    @property
    def scores(self) -> "pd.DataFrame":
        """The scores of the test set by metric, with 95% intervals over its sentences."""
        import pandas as pd

        result = self.result
        nothing = (None, None)
        rows = {
            name: (score, *result.intervals.get(name, nothing))
            for name, score in result.scores.items()
        }
        return pd.DataFrame.from_dict(rows, orient="index", columns=["score", "low", "high"])

    @property
    def curve(self) -> "pd.DataFrame":
        """The scores by sentence length: ``bleu_by_length.csv``."""
        import pandas as pd

        return pd.read_csv(StringIO(read_curve(self.folder)))

    @property
    def history(self) -> "pd.DataFrame":
        """The validations of the training."""
        import pandas as pd

        return pd.DataFrame([each.model_dump() for each in read_history(self.folder)])

    @property
    def predictions(self) -> "pd.DataFrame":
        """The test set: ``source``, ``reference``, ``hypothesis`` and more, a sentence a row."""
        import pandas as pd

        return pd.DataFrame([each.model_dump() for each in read_predictions(self.folder)])

    @cached_property
    def trained(self) -> "TrainedModel":
        """The model with its best weights, and its vocabularies."""
        from lightning_modules.training.checkpoints import load_trained

        return load_trained(self.folder)

    def translate(self, sentences: Iterable[str], *overrides: str) -> list[TranslatedSentence]:
        """Translate sentences, as ``task=translate`` does."""
        lines = _lines("sentences", sentences)
        config = self._prepared("translate", "input=sentences", *overrides)
        from lightning_modules.tasks.translate import translate_lines

        return [
            TranslatedSentence(
                source=line.source,
                text=line.texts[0] if line.texts else "",
                score=line.scores[0] if line.scores else None,
                others=list(zip(line.texts, line.scores, strict=True))[1:],
                attention=None
                if line.weights is None
                else AttentionMap(
                    line.source.split(), line.texts[0].split(), line.weights, self.label
                ),
            )
            for line in translate_lines(self.trained, lines, config)
        ]

    def align(
        self,
        sources: Iterable[str],
        targets: Iterable[str],
        *overrides: str,
        gold: Iterable[str] | None = None,
    ) -> list[AttentionMap]:
        """Force the model through given translations, as ``task=align`` does.

        ``layer``, ``head`` and ``step`` may be given as overrides. Both sides of a pair need words.
        ``gold`` has the known links of each pair in Pharaoh format (``0-0 2?1``), as the column
        ``gold`` of ``predictions``; the maps keep the possible links, which include the sure ones.
        """
        sides = [*_lines("sources", sources)], [*_lines("targets", targets)]
        config = self._prepared("align", *overrides)
        from datamodules.corpus import ParallelText
        from lightning_modules.metrics.word_alignment import read_gold
        from lightning_modules.tasks.align import align_pairs, checked_text, encode

        text = checked_text(ParallelText(*sides), self.trained, "sources", "targets")
        try:
            known = None if gold is None else read_gold(_lines("gold", gold), text)
        except ValueError as error:
            raise UserError(f"gold: {error}") from None
        alignment = align_pairs(
            self.trained, text, encode(text, self.trained.tokenizers), known, config
        )
        maps = []
        for number, weights in enumerate(alignment.weights):
            source, target = text.source[number], text.target[number]
            if weights is None:
                raise UserError(f"sentence {number}: a side of it is empty; leave the pair out")
            links = sorted(known[number].possible) if known else []
            maps.append(AttentionMap(source.split(), target.split(), weights, self.label, links))
        return maps

    def _prepared(self, task: str, *overrides: str) -> DictConfig:
        """Return the settings of a task, for which this process is set up as for a command."""
        config = task_settings([f"task={task}", f"checkpoint={quoted(self.folder)}", *overrides])
        from lightning_modules.runs.setting_checks import check_arguments
        from lightning_modules.training.process import prepare_process

        prepare_process(config)
        check_arguments(config)
        return config

    def _repr_html_(self) -> str:
        scores: str = self.scores.to_html(float_format="{:.2f}".format, na_rep="")
        about = f"{run_label(self.label, self.result.seed)}: {self.folder}"
        return f"<p>{escape(about)}</p>{scores}"


def load(folder: str | Path) -> Run:
    """Open a finished run by its folder. Raises ``UserError`` for any other folder."""
    folder = Path(folder)
    result = read_result(folder)
    if result is None:
        raise UserError(f"{folder}: holds no result.json; give the folder of a finished run")
    return Run(folder, result)


def _lines(name: str, given: Iterable[str]) -> Sequence[str]:
    """Return sentences as lines, which end nowhere inside a sentence."""
    if isinstance(given, str):
        raise UserError(f"{name}: give a list of sentences, such as [{given[:20]!r}]")
    return [" ".join(each.splitlines()) for each in given]
