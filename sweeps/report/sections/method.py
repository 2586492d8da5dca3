"""How the numbers were made."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from typing_extensions import override

from lightning_modules.runs.schema import Result
from lightning_modules.tracking.report_blocks import Block, Lines
from lightning_modules.training.control.budgets import find_kind, kind_of
from sweeps.evaluation.evaluation import Evaluation
from sweeps.evaluation.score_tables import origin
from sweeps.report.findings import Findings
from sweeps.report.sections.section import Section

TITLES = {name: field.title for name, field in Result.model_fields.items() if field.title}
"""Titles of the fields of a result that are lines of their own."""


class Method(Section):
    """Scoring; for runs also corpus, training, decoding, environment and code."""

    heading = "Method"
    template = '{% include "sections/method.html.j2" %}'

    @property
    def aspects(self) -> list[tuple[str, list[str]]]:
        """Aspects of the method, each with the runs' different values of this aspect."""
        return method(self.findings)

    @override
    def wandb(self, tables: Sequence[str], figures: Sequence[str]) -> Sequence[Block]:
        return [Lines([f"{aspect}: {line}" for aspect, lines in self.aspects for line in lines])]


def method(findings: Findings) -> list[tuple[str, list[str]]]:
    """Return how the numbers were made: (aspect, the runs' different values of this aspect)."""
    aspects: dict[str, Callable[[Result], str]] = {
        "Corpus": _corpus,
        "Left out": _left_out,
        "Test parts that occur in training": _seen,
        "Training": _training,
        "Decoding": lambda result: _listed(result.decoding, "not recorded"),
        "Environment": lambda result: _listed(result.environment.model_dump(), "not recorded"),
        "Code": lambda result: f"commit {result.git_commit or 'not recorded'}",
        **{title: partial(_field, name) for name, title in TITLES.items()},
    }
    results = [run.result for run in findings.comparison.runs]
    lines = [(name, list(dict.fromkeys(map(say, results)))) for name, say in aspects.items()]
    files = list(_files(findings.evaluation))
    named = [("Files", files)] if files else []
    return [*named, ("Scores", [_scoring(findings)]), *(each for each in lines if each[1])]


def _files(evaluation: Evaluation) -> Iterator[str]:
    """Yield each file or run folder that the user named, after its override."""
    tests = {id(group.systems[0].test): group.systems[0].test for group in evaluation.groups}
    files = [test.files for test in tests.values() if test.files]
    for option, file in (each for named in files for each in named.items()):
        yield f"{option}: {file}"
    for system in evaluation.systems if files else []:
        for output in system.outputs:
            seed = f", seed {output.seed}" if len(system.outputs) > 1 else ""
            yield f"systems.{system.name}{seed}: {output.file or output.folder}"


def _scoring(findings: Findings) -> str:
    scoring = findings.evaluation.scoring
    signature = origin(findings.evaluation, "bleu")["signature"]
    draws = findings.evaluation.draws
    return (
        "sacreBLEU on detokenised text, computed afresh over the sentences of each length bucket; "
        f"{scoring.length_axis}; intervals and tests with {draws.count} resamples from "
        f"seed {draws.seed}; signature {signature}"
    )


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


def _field(name: str, result: Result) -> str:
    value = getattr(result, name)
    return "not recorded" if value is None else str(value)


def _listed(settings: dict[str, Any], otherwise: str) -> str:
    """Return settings as one line; timings are left out, because timings are no settings."""
    shown = {
        key: value
        for key, value in settings.items()
        if value is not None and key not in ("seconds", "sentences_per_second")
    }
    return (
        ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in shown.items()) or otherwise
    )
