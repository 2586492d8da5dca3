"""How the numbers were made."""

from collections.abc import Callable, Sequence
from typing import Any

from typing_extensions import override

from lightning_modules.runs.schema import Result
from lightning_modules.training.budgets import find_kind, kind_of
from sweeps.comparison.conditions import MEASUREMENTS
from sweeps.report.findings import Findings
from sweeps.report.page_top import files_of
from sweeps.report.sections import Section

WRITTEN = (
    "tables/ and bleu_by_length.csv: all numbers",
    "figures/: every figure",
    "comparison.json: settings, conditions and results of the runs",
)
"""Files in the folder of the page."""
WRITTEN_BY_RUN = (
    "result.json: settings, scores and cost",
    "bleu_by_length.csv, predictions.jsonl, attention.npz: what the page shows of the test",
    "history.csv, learning_curve.csv, attention_history.npz: how it learned",
)
"""Files in the folder of a run, whose page has none of its own."""


class Method(Section):
    """Scoring; for runs also corpus, training, decoding, environment and code."""

    heading = "Method"
    template = '{% include "sections/method.html.j2" %}'

    @property
    def aspects(self) -> list[tuple[str, list[str]]]:
        """Aspects of the method, each with the runs' different values of this aspect."""
        return method(self.findings)

    @property
    @override
    def lines(self) -> Sequence[str]:
        return [f"{aspect}: {line}" for aspect, lines in self.aspects for line in lines]


def method(findings: Findings) -> list[tuple[str, list[str]]]:
    """Return how the numbers were made: (aspect, the runs' different values of this aspect)."""
    aspects: dict[str, Callable[[Result], str]] = {
        "Corpus": _corpus,
        "Left out": _left_out,
        "Test parts that occur in training": _seen,
        "Training": _training,
        "Decoding": lambda result: _listed(result.decoding),
        "Environment": lambda result: _listed(result.environment.model_dump()),
        "Code": _code,
    }
    results = [run.result for run in findings.comparison.runs]
    lines = [(name, list(dict.fromkeys(map(say, results)))) for name, say in aspects.items()]
    evaluation = findings.evaluation
    scores = [
        "sacreBLEU on detokenised text, computed afresh over the sentences of each length bucket; "
        f"{evaluation.length_axis}; intervals and tests with {evaluation.draws.count} "
        f"resamples from seed {evaluation.draws.seed}",
        *(
            f"{each.label}: {signature}"
            for each in evaluation.metrics
            if (signature := evaluation.signature(each))
        ),
    ]
    files = [*files_of(evaluation), *(WRITTEN if findings.curve is None else WRITTEN_BY_RUN)]
    return [("Scores", scores), *(each for each in lines if each[1]), ("Files", files)]


def _corpus(result: Result) -> str:
    data = result.data
    pairs = ", ".join(f"{count:,} {split}" for split, count in data.pairs.items())
    fingerprint = data.fingerprint or "not recorded"
    return f"{data.name}, {data.source} → {data.target}; pairs: {pairs}; fingerprint {fingerprint}"


def _left_out(result: Result) -> str:
    reasons = [
        f"{count:,} {split} pairs {reason}"
        for split, counts in result.data.left_out.items()
        for reason, count in counts.items()
    ]
    return "; ".join(reasons) or "nothing"


def _seen(result: Result) -> str:
    shares = result.data.seen.items()
    return ", ".join(f"{share:.1%} of the {name}" for name, share in shares)


def _training(result: Result) -> str:
    training = result.training
    if training.target_tokens is None:
        return "not recorded"
    kind = kind_of(result.config)
    updates = "" if training.updates is None else f", {training.updates:,} updates"
    return f"a budget in {find_kind(kind).unit}: {training.target_tokens:,} target tokens{updates}"


def _code(result: Result) -> str:
    """Return commit and versions of the code; one version where it trained and tested."""
    commit = f"commit {result.git_commit or 'not recorded'}"
    if result.code == result.testing_code or result.testing_code is None:
        return f"{commit}, version {result.code or 'not recorded'}"
    return f"{commit}, version {result.code} trained and {result.testing_code} tested"


def _listed(settings: dict[str, Any]) -> str:
    """Return settings as one line.

    Timings are left out, because timings are no settings, and the seed of a search, which may be
    another one in each run.
    """
    shown = [
        _in_words(key, value)
        for key, value in settings.items()
        if value is not None and key not in (*MEASUREMENTS, "seed")
    ]
    return ", ".join(shown) or "not recorded"


def _in_words(key: str, value: Any) -> str:
    if key == "_target_":
        return f"search {value.rpartition('.')[2]}"
    name = key.replace("_", " ")
    return f"{name} ({_listed(value)})" if isinstance(value, dict) else f"{name} {value}"
