"""A trace as the script of the explorer's page reads it: plain values of JSON."""

from collections.abc import Iterator
from typing import Any

from lightning_modules.figures.heat_map import Panel
from lightning_modules.figures.search_charts import ROW
from lightning_modules.runs.schema import SentenceAttention
from sweeps.explorer.tracer import Trace
from sweeps.report.page_maps import HeatMap, heat_map

START = "<s>"
"""How the empty prefix is written."""
Rows = list[dict[str, Any]]


def trace_record(trace: Trace, label: str) -> dict[str, Any]:
    """Return a trace of the system ``label`` as plain values; numbers have four digits.

    Lists of values stand for rows of a table: ``words`` (text, probability), ``steps`` (token,
    probability, other tokens with theirs, probability of the end) and ``finished`` (text, tokens,
    log-probability, score).
    """
    return {
        "text": trace.text,
        "unknown": trace.unknown,
        "words": list(_words(trace)),
        "ending": ending(trace),
        "steps": [
            [
                step.piece,
                short(step.probability),
                [[piece, short(probability)] for piece, probability in step.instead],
                short(step.eos),
            ]
            for step in trace.steps
        ],
        "ends": [
            {"system": label, "step": number, "eos": short(step.eos), "wins": step.eos_wins}
            for number, step in enumerate(trace.steps, 1)
        ],
        "beam": _beam(trace, label),
        "finished": [
            [each.text, each.tokens, short(each.total), short(each.score)]
            for each in trace.finished
        ],
        "map": _map(trace, label),
    }


def short(value: float) -> float:
    """Return a number with four digits."""
    return float(f"{value:.4g}")


def _words(trace: Trace) -> Iterator[tuple[str, float]]:
    """Yield the words of a translation, each with the product of its tokens' probabilities."""
    products = [1.0] * len(trace.text.split())
    for step in trace.steps:
        if 0 <= step.word < len(products):
            products[step.word] *= step.probability
    yield from zip(trace.text.split(), map(short, products), strict=True)


def ending(trace: Trace) -> str:
    """Return in words at which length the end wins."""
    length, last = len(trace.steps), trace.steps[-1]
    wins = next((number for number, step in enumerate(trace.steps, 1) if step.eos_wins), None)
    if trace.is_cut:
        said = f"stops at the length limit of {length} tokens"
        if wins is None:
            return f"{said}; the end is the most probable token nowhere"
        return f"{said}, though the end is the most probable token {_after(wins)}"
    said = f"ends {_after(length)}, where the end has a probability of {last.eos:.2f}"
    if wins is None:
        return f"{said} and another token is more probable"
    if wins < length:
        return (
            f"{said}; it is the most probable token {_after(wins)} already, but the longer "
            "translation has the better score"
        )
    return said


def _after(step: int) -> str:
    """Say where a step ends a translation: before it stand the other tokens."""
    return f"after {step - 1} token{'s' * (step != 2)}"


def _beam(trace: Trace, label: str) -> dict[str, Any]:
    """Return what the page puts over the described chart of a beam; places count from 1."""
    best = set(trace.best)
    nodes: Rows = [
        {"step": 0, "place": 1, "piece": START, "label": START, "probability": 1.0, "total": 0.0,
         "best": True}
    ]  # fmt: skip
    links: Rows = []
    for number, node in enumerate(trace.nodes):
        at = {"step": node.step + 1, "place": node.place + 1, "best": number in best}
        parent = nodes[node.parent + 1]  # the empty prefix is the first
        links.append({**at, "before": parent["step"], "from": parent["place"]})
        nodes.append(
            at
            | {"piece": node.piece, "label": f"{node.piece} {node.probability:.2f}"}
            | {"probability": short(node.probability), "total": short(node.total)}
        )
    steps = len({node["step"] for node in nodes})
    first = trace.finished[0]
    return {
        "datasets": {"nodes": nodes, "links": links},
        "height": ROW * steps,
        "description": (
            f"Search tree of {label}: {steps - 1} steps, {len(trace.nodes)} prefixes, "
            f"{len(trace.finished)} finished. Best: {first.text} "
            f"(log-probability {first.total:.2f})."
        ),
    }


def _map(trace: Trace, label: str) -> HeatMap | None:
    """Return the attention of every step on every source token."""
    if trace.weights is None:
        return None
    attention = SentenceAttention(
        id=0,
        source_words=trace.source,
        target_words=[step.piece for step in trace.steps],
        weights=trace.weights.tolist(),
    )
    return heat_map(Panel(attention, label, "a row for each step"), trace.heads)
