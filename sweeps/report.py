"""The report of an evaluation: one page that opens from disk and needs no network."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from lightning_modules.budgets import UNITS, kind_of
from lightning_modules.charts import as_spec
from lightning_modules.metrics.statistics import METRICS
from lightning_modules.run_folder import Result
from sweeps.evaluation.tables import Table, as_csv
from sweeps.findings import Findings
from sweeps.heat_maps import keep_small
from sweeps.matrix import SYMBOLS, Matrix, significance_matrices
from sweeps.page import render_page
from sweeps.sentences import sentence_cards

FIRST = (
    *("scores", "attention_scores", "bleu_by_length", "bleu_trend", "bleu_significance"),
    *("speed", "learning", "studies", "search_performance"),
)
"""Tables with a place of their own; the others fold away."""
EVERY_SEED = "every_seed"


def render_report(findings: Findings) -> str:
    """The page as text."""
    figures = {name: as_spec(chart) for name, chart in findings.figures("container").items()}
    cards = [card for group in findings.evaluation.groups for card in sentence_cards(group)]
    maps = [each.heat_map for card in cards for each in card.translations if each.heat_map]
    files = {name: as_csv(table) for name, table in findings.tables.items()}
    files[EVERY_SEED] = findings.every_seed
    return render_page(
        "report.html.j2",
        findings=findings,
        comparison=findings.comparison,
        figures=figures,
        sections=sections(findings.tables, list(figures)),
        files=files,
        matrices=_matrices(findings),
        symbols=SYMBOLS,
        cards=cards,
        maps_without_heads=keep_small(maps),
        attentions=[asdict(card) for card in cards],
        method=method(findings),
    )


def _matrices(findings: Findings) -> list[Matrix]:
    table = findings.tables.get("bleu_significance")
    systems = [system.name for system in findings.evaluation.systems]
    return significance_matrices(table, systems) if table else []


def sections(
    tables: Mapping[str, Table], figures: Sequence[str]
) -> list[tuple[str, list[tuple[str | None, Table | None]]]]:
    """Headings with their (figure, table) pairs, in the order of the page."""
    curves = [f"{name}_by_length" for name in METRICS if name != "bleu"]
    rest = [name for name in tables if name not in FIRST and name not in curves]
    tests = [name for name in rest if name.endswith("_significance")]
    named = [
        ("Other scores against length", curves),
        ("Differences in other scores", tests),
        ("Words, n-grams and sentences", [name for name in rest if name not in tests]),
    ]
    return [
        (heading, [(name if name in figures else None, tables.get(name)) for name in found])
        for heading, names in named
        if (found := [name for name in names if name in tables or name in figures])
    ]


def method(findings: Findings) -> list[tuple[str, list[str]]]:
    """How the numbers came about: (aspect, what the runs say, once each where they agree)."""
    aspects: dict[str, Callable[[Result], str]] = {
        "Corpus": _corpus,
        "Left out": _left_out,
        "Training": _training,
        "Decoding": lambda result: _listed(result.decoding, "not recorded"),
        "Environment": lambda result: _listed(result.environment.model_dump(), "not recorded"),
        "Code": lambda result: f"commit {result.git_commit or 'not recorded'}",
    }
    results = [run.result for run in findings.comparison.runs]
    told = [(name, list(dict.fromkeys(map(say, results)))) for name, say in aspects.items()]
    return [("Scores", [_scoring(findings)]), *(each for each in told if each[1])]


def _scoring(findings: Findings) -> str:
    scoring = findings.evaluation.scoring
    signature = findings.tables["bleu_by_length"].origin["signature"]
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


def _training(result: Result) -> str:
    training = result.training
    if training.target_tokens is None:
        return "not recorded"
    kind = kind_of(result.config)
    updates = "" if training.updates is None else f", {training.updates:,} updates"
    return f"a budget in {UNITS[kind]}: {training.target_tokens:,} target tokens{updates}"


def _listed(settings: dict[str, Any], otherwise: str) -> str:
    """Settings as one line; timings are measurements, not settings."""
    shown = {
        key: value
        for key, value in settings.items()
        if value is not None and key not in ("seconds", "sentences_per_second")
    }
    return (
        ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in shown.items()) or otherwise
    )
