"""The summary of a finished run in the terminal."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tabulate import tabulate

from lightning_modules.metrics.chosen_metrics import METRICS
from lightning_modules.metrics.metric import Metric
from lightning_modules.runs.job import label_of
from lightning_modules.runs.schema import Accuracies, Result, Training
from lightning_modules.testing.run_scores import TestScores
from lightning_modules.testing.scoring import Scoring
from lightning_modules.training.budgets import find_kind, kind_of


def summary(result: Result, scores: TestScores, scoring: Scoring, folder: Path) -> str:
    """Return a few lines: scores by length, size, speed, and the folder of all files."""
    training, decoding = result.training, result.decoding
    label = label_of(result.variant, result.overrides, result.config)
    rows = tabulate(_by_length(scores), tablefmt="plain", disable_numparse=True, stralign="right")
    lines = [
        f"{label} seed {result.seed}: {_scores(result, scores.metrics)}",
        *_subsets(result),
        *_replaced(result),
        *([f"without a model: {_baselines(result)}"] if result.baselines else []),
        *(_right_choices(result.contrast)),
        f"95% over test sentences: {scoring.resamples} resamples, seed {scoring.seed}; "
        f"{result.signature}",
        f"BLEU by {scoring.length_axis}:",
        *(f"  {row}" for row in rows.splitlines()),
        f"{result.parameters:,} parameters; {training.target_tokens or 0:,} target tokens in "
        f"{training.updates or 0:,} updates, {training.flops or 0:.3g} FLOPs, "
        f"{_other_cost(result)}{training.seconds or 0:.0f} s, "
        f"{training.target_tokens_per_second or 0:,.0f} a second; "
        f"test set translated in {decoding['seconds']:.1f} s",
    ]
    left_out = [
        f"{count:,} {split} pairs {reason}"
        for split, counts in result.data.left_out.items()
        for reason, count in counts.items()
    ]
    if left_out:
        lines.append(f"left out: {', '.join(left_out)}")
    if result.data.seen:
        shares = [f"{share:.1%} of its {name}" for name, share in result.data.seen.items()]
        lines.append(f"of the test set, training contains {', '.join(shares)}")
    lines += [f"warning: {each}" for each in (*result.data.suspicions, *scores.suspicions)]
    lines.append(f"everything is in {folder}")
    return "\n".join(lines)


def _by_length(scores: TestScores) -> list[list[str]]:
    """Return rows of cells: lengths, BLEU of the model and of each baseline, sentences."""
    bleu = {"BLEU": [point.bleu for point in scores.curve]}
    for name, baseline in scores.baselines.items():
        bleu[name] = [bucket.get("bleu") for bucket in baseline.by_length.values()]
    return [
        ["length", *(point.bounds.label for point in scores.curve)],
        *(
            [name, *("-" if score is None else f"{score:.1f}" for score in row)]
            for name, row in bleu.items()
        ),
        ["sentences", *(str(point.sentences) for point in scores.curve)],
    ]


def _subsets(result: Result) -> Iterator[str]:
    """Yield BLEU of each test set, and of the sentences without unknown words."""
    for name, subset in result.subsets.items():
        bleu = _score("BLEU", "bleu", subset.scores, subset.intervals)
        yield f"{name}: {bleu} on {subset.sentences:,} sentences"


def _replaced(result: Result) -> Iterator[str]:
    """Yield how many unknown words of the translations were replaced, if that was asked."""
    if (words := result.replaced) is not None:
        yield (
            f"of {words.unknown:,} <unk> in the translations, {words.copied:,} became the source "
            f"word, {words.translated:,} a word of the dictionary"
        )


def _baselines(result: Result) -> str:
    """Return ``phrase table BLEU 73.85, exact match (%) 14.33; copy …`` on the whole test set."""
    parts = []
    for name, baseline in result.baselines.items():
        scores = (f"{METRICS[metric].label} {each:.2f}" for metric, each in baseline.scores.items())
        parts.append(f"{name} {', '.join(scores)}")
    return "; ".join(parts)


def _right_choices(contrast: Accuracies) -> Iterator[str]:
    """Yield the share of right choices among all contrastive pairs, if the run has any."""
    for everything in contrast.get("all", {}).values():
        yield (
            f"right translation preferred in {everything.value:.1f}% of {everything.pairs:,} "
            "contrastive pairs"
        )


def _other_cost(result: Result) -> str:
    """Return the cost in the kind of budget of the user, if the run had one."""
    kind = kind_of(result.config)
    spent = result.training.spent(kind)
    if kind in Training.model_fields or spent is None:
        return ""
    return f"{spent:,.9g} {find_kind(kind).unit}, "


def _scores(result: Result, metrics: Sequence[Metric]) -> str:
    """Return ``test BLEU 61.20 [60.1, 62.3], chrF 70.10 […], …``, without missing scores."""
    parts = [
        _score(metric.label, metric.name, result.scores, result.intervals)
        for metric in metrics
        if metric.in_summary and metric.name in result.scores
    ]
    return "test " + ", ".join(parts)


def _score(
    label: str, name: str, scores: Mapping[str, float], intervals: Mapping[str, tuple[float, float]]
) -> str:
    low, high = intervals.get(name, (None, None))
    interval = "" if low is None else f" [{low:.2f}, {high:.2f}]"
    return f"{label} {scores[name]:.2f}{interval}"
