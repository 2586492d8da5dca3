"""Figures of studies: expected results of a search (Dodge et al., 2019), trials and parameters."""

import json
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import accumulate
from math import isfinite, log
from textwrap import wrap
from typing import Any, NamedTuple

import altair as alt
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.importance import get_param_importances
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from lightning_modules.figures.charts import Chart, Width, as_spec, data_of
from lightning_modules.figures.lines import finish_chart, looks_scales
from lightning_modules.figures.system_looks import COLOURS, legend_of
from lightning_modules.metrics.expected_best import expected_best
from sweeps.comparison.tables import Column, Table
from sweeps.report.findings import StudyFigure
from sweeps.studies.settings import hydra_value

NAME = "search_performance"
TITLES = {
    "bleu": "validation BLEU",
    "loss": "validation loss (nats per token)",
    "parameters": "parameters",
    "seconds": "seconds of training",
}
"""Titles of the objectives."""
DECIMALS = {"bleu": 2, "loss": 3, "parameters": 0, "seconds": 1}
PACES = {"trials": "finished trials", "target_tokens": "target tokens"}
"""Costs of a search, with their titles."""
EXPECTED = ("expected", "deviation", "low", "high")
"""Columns of the expected best value of a search."""
NOTE = (
    "Mean and standard deviation of the best of n trials, drawn with replacement from those that "
    "finished (Dodge et al., 2019), so that even the last is below the best that was found. "
    "A trial costs what the study has cost, pruned and failed trials included, shared out among "
    "those that finished. Draws are independent; those of a sampler that learns are not, and "
    "their curve says what they came to, not what fewer of them would have."
)
WHOLE: Mapping[str, Any] = {"tickMinStep": 1, "format": "~s"}
"""Ticks of an axis of whole numbers."""
Trials = Sequence[FrozenTrial]
COMPLETE, FAIL, MAXIMIZE = TrialState.COMPLETE, TrialState.FAIL, StudyDirection.MAXIMIZE


class Search(NamedTuple):
    """Values that a study has found, and their cost."""

    values: Sequence[float]
    """Values of the finished trials."""
    target_tokens: float
    """Target tokens for each finished trial."""


class SearchPoint(NamedTuple):
    """What a study is expected to find with a number of trials."""

    study: str
    trials: int
    target_tokens: int
    expected: float
    """Mean of the best value."""
    deviation: float
    low: float
    high: float


def search_performance(searches: Mapping[str, Search], largest: bool) -> list[SearchPoint]:
    """Return a point for each study and number of finished trials."""
    return [
        SearchPoint(name, n, round(n * search.target_tokens), *map(float, expected))
        for name, search in searches.items()
        if search.values
        for n, expected in enumerate(zip(*expected_best(search.values, largest), strict=True), 1)
    ]


def performance_table(points: Sequence[SearchPoint], objective: str) -> Table:
    """Return a row for each point."""
    decimals = DECIMALS[objective] + 1
    titles = _performance_titles(objective)
    columns = [
        Column("study", titles["study"]),
        Column("trials", titles["trials"], "count"),
        Column("target_tokens", titles["target_tokens"], "count"),
        *(Column(key, titles[key], "number", decimals) for key in EXPECTED),
    ]
    return Table(NAME, "Search performance", columns, points, {"objective": objective}, NOTE)


def _performance_titles(objective: str) -> dict[str, str]:
    expected = (f"expected best {TITLES[objective]}", "standard deviation", "from", "to")
    return {"study": "study", **PACES, **dict(zip(EXPECTED, expected, strict=True))}


def performance_curves(
    points: Sequence[SearchPoint], objective: str, width: Width
) -> dict[str, Chart]:
    """Draw points against trials and against target tokens, one line for each study."""
    paces = PACES if points else ()
    return {f"{NAME}_by_{pace}": _curve(points, objective, pace, width) for pace in paces}


def _curve(points: Sequence[SearchPoint], objective: str, pace: str, width: Width) -> Chart:
    names = list(dict.fromkeys(point.study for point in points))
    titles = _performance_titles(objective)
    colour, shape = _looks("study", names, width)
    highlighted = alt.selection_point(fields=["study"], bind="legend")
    axis = alt.Axis(grid=False, tickMinStep=1, format="~s" if pace == "target_tokens" else "d")
    base = alt.Chart().encode(
        x=alt.X(f"{pace}:Q", title=titles[pace], axis=axis, scale=alt.Scale(nice=False)),
        color=colour,
        tooltip=[
            alt.Tooltip("study:N"),
            *(alt.Tooltip(f"{key}:Q", title=PACES[key], format=",d") for key in PACES),
            *(alt.Tooltip(f"{key}:Q", title=titles[key], format=",.4~r") for key in EXPECTED),
        ],
    )
    clear = alt.when(highlighted).then(alt.value(1)).otherwise(alt.value(0.15))
    pale = alt.when(highlighted).then(alt.value(0.16)).otherwise(alt.value(0.03))
    y = alt.Y("expected:Q", title=titles["expected"], scale=alt.Scale(zero=False))
    band = base.mark_area().encode(y="low:Q", y2="high:Q", opacity=pale)
    shown = base.encode(y=y, opacity=clear)
    marks = shown.mark_point(size=40, filled=True).encode(shape=shape).add_params(highlighted)
    note = "Bands: one standard deviation of the best of n draws."
    data = data_of(point._asdict() for point in points)
    ends = {point.study: point for point in points}
    last_points = " ".join(
        f"{name}: {end.expected:.4g} after {getattr(end, pace):,}." for name, end in ends.items()
    )
    chart = alt.layer(band, shown.mark_line(strokeWidth=2), marks, data=data)
    description = f"{titles['expected']} against {titles[pace]}. {last_points}"
    return finish_chart(chart, width, note, description=description)


class _Goal(NamedTuple):
    place: int
    """Place of the objective among the values of a trial."""
    title: str
    maximize: bool

    def value(self, trial: FrozenTrial) -> float:
        return trial.values[self.place]

    def loss(self, trial: FrozenTrial) -> float:
        """Return a number that is lower for better trials."""
        return -self.value(trial) if self.maximize else self.value(trial)


def study_figures(study: Study, objectives: Sequence[str]) -> list[StudyFigure]:
    """Draw the trials of a study; ``objectives`` names the values of a trial, in order."""
    outcome = _outcome(study, objectives)
    return [_figure(outcome, *each) for each in _drawings(study, objectives)]


def _outcome(study: Study, objectives: Sequence[str]) -> str:
    """Return the number of trials and the best of them in words."""
    finished_trials = [each for each in study.get_trials(deepcopy=False) if each.state == COMPLETE]
    said = f"{len(finished_trials)} finished trials."
    if len(objectives) == 1 and finished_trials:
        best = study.best_trial
        said += f" Best {TITLES[objectives[0]]}: {best.values[0]:.4g}, in trial {best.number}."
    return said


def _drawings(study: Study, objectives: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield name, reason why it cannot be drawn, function and arguments of each figure."""
    every = study.get_trials(deepcopy=False)
    reports = [each for each in every if each.intermediate_values and each.state != FAIL]
    trials = [each for each in every if each.state == COMPLETE and all(map(isfinite, each.values))]
    ranges = {name: kind for trial in trials for name, kind in trial.distributions.items()}
    goals = {
        f"_{name}" if objectives[1:] else "": _Goal(place, TITLES[name], direction == MAXIMIZE)
        for place, (name, direction) in enumerate(zip(objectives, study.directions, strict=True))
    }
    first, *others = goals.values()
    none, silent = "" if trials else "no trial finished", "" if reports else "no trial has any"
    yield "importances", _too_alike(trials, ranges), _importances, study, goals.values()
    if others:
        many = "takes two objectives" if others[1:] else ""
        yield "pareto_front", none or many, _pareto_front, study, trials, first, *others
    for suffix, goal in goals.items():
        yield f"history{suffix}", none, _history, trials, goal, not others
    yield "intermediate_values", silent, _intermediate_values, reports
    yield "parallel_coordinates", none, _parallel_coordinates, trials, ranges, first
    for suffix, goal in goals.items():
        yield f"slices{suffix}", none, _slices, trials, ranges, goal


def _figure(
    said: str, name: str, why_not: str, draw: Callable[..., Chart], *given: Any
) -> StudyFigure:
    title = name.replace("_", " ").capitalize()
    if why_not:
        return StudyFigure(name, title, why_not=why_not)
    try:
        chart = draw(*given).properties(
            title=alt.TitleParams(title, anchor="start"), description=f"{title}. {said}"
        )
        if getattr(chart, "width", None) is alt.Undefined:  # the others have a fixed size
            chart = finish_chart(chart, "container", "")
        chart = chart.configure_view(stroke=None, continuousWidth=620)  # in files
        json.dumps(as_spec(chart), allow_nan=False)  # a NaN would break the whole page
        return StudyFigure(name, title, chart)
    except Exception as error:  # no figure is worth the outcome of hours of training
        why = " ".join(f"{type(error).__name__}: {error}".split())
        return StudyFigure(name, title, why_not=f"cannot be drawn ({why})")


def _too_alike(trials: Trials, parameters: Collection[str]) -> str:
    """Return why there are no importances; empty where there are."""
    if len(trials) < 2:
        return "takes two finished trials"
    if len(parameters) < 2:
        return "takes two parameters"
    return "" if len({tuple(trial.values) for trial in trials}) > 1 else "values are all alike"


def _importances(study: Study, goals: Collection[_Goal]) -> Chart:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that low targets count as good, as is meant
        importances = {goal.title: get_param_importances(study, target=goal.loss) for goal in goals}
    rows = [
        {"parameter": _shown(name), "objective": title, "importance": importance}
        for title, shares in importances.items()
        for name, importance in shares.items()
    ]
    base = _chart(rows, "parameter", "objective", "importance").encode(
        alt.X("importance:Q").scale(domain=[0, 1.1]).axis(tickCount=5),
        alt.Y("parameter:N", sort=None, title=None).axis(labelLimit=240),
        alt.YOffset("objective:N", sort=list(importances)),
    )
    colour, _ = _looks("objective", list(importances))
    text = base.mark_text(align="left", dx=4).encode(text=alt.Text("importance:Q", format=".2f"))
    return alt.layer(base.mark_bar(size=min(24, 250 / len(rows))).encode(colour), text)


def _pareto_front(study: Study, trials: Trials, x: _Goal, y: _Goal) -> Chart:
    front, kinds = {trial.number for trial in study.best_trials}, ["dominated", "Pareto front"]
    rows = [
        {"trial": t.number, "x": x.value(t), "y": y.value(t), "kind": kinds[t.number in front]}
        for t in trials
    ]
    axes = _axis(alt.X, "x", x.title), _axis(alt.Y, "y", y.title)
    points = _chart(rows, "trial", "x", "y").mark_point(filled=True, size=60)
    return points.encode(*axes, *_looks("kind", kinds))


def _history(trials: Trials, goal: _Goal, with_best: bool) -> Chart:
    best = accumulate(map(goal.value, trials), max if goal.maximize else min)
    rows = [
        {"trial": trial.number, "value": goal.value(trial), "best": best_so_far}
        for trial, best_so_far in zip(trials, best, strict=True)
    ]
    title = f"{goal.title} (line: best so far)" if with_best else goal.title
    axes = _axis(alt.X, "trial", "trial", **WHOLE), _axis(alt.Y, "value", title)
    base = _chart(rows, "trial", "value").encode(*axes)
    points = base.mark_point(filled=True, size=40, color=COLOURS[1])
    line = base.mark_line(interpolate="step-after", color=COLOURS[2])
    return alt.layer(line.encode(_axis(alt.Y, "best", title)), points) if with_best else points


def _intermediate_values(trials: Trials) -> Chart:
    rows = []
    for trial in trials:
        steps, values = zip(*sorted(trial.intermediate_values.items()), strict=True)
        # Five digits, since a page holds thousands of values; None for NaN and infinite values.
        short = [number if isfinite(number := float(f"{value:.5g}")) else None for value in values]
        row = {"trial": trial.number, "state": trial.state.name.lower(), "steps": steps}
        rows.append({**row, "values": short, "step": steps[-1], "value": short[-1]})
    colour, shape = _looks("state", sorted({row["state"] for row in rows}))
    axes = _axis(alt.X, "step", "step", **WHOLE), _axis(alt.Y, "value", "intermediate value")
    base = _chart(rows, "trial", "state", "step", "value").encode(*axes, colour)
    lines = base.mark_line(strokeWidth=1, opacity=0.6).encode(detail="trial:N")
    lines = lines.transform_flatten(["steps", "values"], ["step", "value"])
    return alt.layer(lines, base.mark_point(filled=True, size=40).encode(shape))


def _parallel_coordinates(trials: Trials, ranges: Mapping[str, Any], goal: _Goal) -> Chart:
    values = list(map(goal.value, trials))
    axes = {**ranges, goal.title: FloatDistribution(min(values), max(values))}
    rows = [
        {"trial": trial.number, "value": goal.value(trial), "axis": _shown(name)}
        | {"share": _share(settings[name], kind) if name in settings else None}
        for trial in sorted(trials, key=goal.loss, reverse=True)  # the best on top
        for settings in [{**trial.params, goal.title: goal.value(trial)}]
        for name, kind in axes.items()
    ]
    ticks = [
        {"axis": _shown(name), "label": _shown(end), "share": 1.08 * _share(end, kind) - 0.04}
        for name, kind in axes.items()
        for end in getattr(kind, "choices", None) or (kind.low, kind.high)
    ]
    x = alt.X("axis:N", title=None).scale(domain=list(map(_shown, axes)))
    x = x.axis(labelAngle=-30, labelLimit=240, labelPadding=20, grid=True, domain=False)
    y = alt.Y("share:Q", axis=None).scale(domain=[0, 1])
    colour = alt.Color("value:Q", title=goal.title).scale(scheme="blues", reverse=not goal.maximize)
    lines = _chart(rows, "trial", "value").encode(x, y, colour, detail="trial:N")
    lines = lines.mark_line(order=False, point={"size": 12})
    text = alt.Chart(data_of(ticks)).encode(x, y, text="label:N")
    halo = text.mark_text(limit=90, stroke="white", strokeWidth=4)
    chart = alt.layer(lines, halo, text.mark_text(limit=90))
    return chart.properties(width=alt.Step(110), height=340)


def _share(value: Any, kind: Any) -> float:
    """Return the place of a value in its range, from 0 to 1."""
    if isinstance(kind, CategoricalDistribution):
        place, low, high = kind.to_internal_repr(value), 0.0, len(kind.choices) - 1.0
    else:
        place, low, high = map(log if kind.log else float, (value, kind.low, kind.high))
    return round((place - low) / (high - low), 4) if high > low else 0.5


def _slices(trials: Trials, ranges: Mapping[str, Any], goal: _Goal) -> Chart:
    panels = [_slice(trials, name, kind, goal) for name, kind in ranges.items()]
    return alt.concat(*panels, columns=3).resolve_scale(y="shared")


def _slice(trials: Trials, name: str, kind: Any, goal: _Goal) -> alt.Chart:
    discrete = isinstance(kind, CategoricalDistribution)
    rows = [
        {"trial": trial.number, "value": goal.value(trial)}
        | {"setting": _shown(trial.params[name]) if discrete else trial.params[name]}
        for trial in trials
        if name in trial.params
    ]
    x = alt.X("setting:N" if discrete else "setting:Q", title=wrap(_shown(name), 44))
    if discrete:
        x = x.scale(domain=list(map(_shown, kind.choices))).axis(labelAngle=-30, labelLimit=120)
    else:
        x = x.scale(domain=[kind.low, kind.high], type="log" if kind.log else "linear")
        whole = WHOLE if isinstance(kind, IntDistribution) else {"format": "~g"}
        x = x.axis(tickCount=5, grid=False, **whole)
    chart = _chart(rows, "trial", "setting", "value").encode(x, _axis(alt.Y, "value", goal.title))
    return chart.mark_point(filled=True, color=COLOURS[1]).properties(width=230, height=230)


def _chart(rows: Sequence[Mapping[str, Any]], *shown: str) -> alt.Chart:
    """Return a chart of rows; its tooltips show the fields ``shown``, numbers with six digits."""
    return alt.Chart(data_of(rows)).encode(tooltip=[_tooltip(rows, name) for name in shown])


def _tooltip(rows: Sequence[Mapping[str, Any]], name: str) -> alt.Tooltip:
    if all(isinstance(row.get(name), int | float | None) for row in rows):
        return alt.Tooltip(f"{name}:Q", format=".6~r")
    return alt.Tooltip(f"{name}:N")


def _axis(channel: Any, field: str, title: str, **axis: Any) -> Any:
    return channel(f"{field}:Q", title=title).scale(zero=False).axis(tickCount=6, **axis)


def _looks(field: str, names: Sequence[str], width: Width = "container") -> Iterator[Any]:
    """Yield the encodings of a field by colours and by shapes, with one legend."""
    legend = legend_of(names, width)
    colours, shapes, _ = looks_scales({name: name for name in names})
    for channel, scale in ((alt.Color, colours), (alt.Shape, shapes)):
        yield channel(f"{field}:N", title=None, scale=scale, legend=legend)


def _shown(value: Any) -> str:
    """Return a value as Hydra reads it, without the control characters that no SVG can hold."""
    text = f"{value:.6g}" if isinstance(value, float) else hydra_value(value)
    return "".join(each if each.isprintable() else "\ufffd" for each in text)
