"""Figures of studies: importances, trials, slices; what a search is expected to find."""

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from math import isfinite
from textwrap import wrap
from typing import Any, NamedTuple

import altair as alt
import numpy as np
from optuna.distributions import CategoricalDistribution, IntDistribution
from optuna.importance import get_param_importances
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from lightning_modules.figures.charts import Chart, Width, as_spec, data_of, opacity_by
from lightning_modules.figures.lines import finish_chart, looks_scales
from lightning_modules.figures.palette import COLOURS
from lightning_modules.figures.system_looks import legend_of
from sweeps.comparison.tables import Column, Table
from sweeps.report.findings import StudyFigure
from sweeps.studies.plan import order_of
from sweeps.studies.settings import hydra_value

TITLES = {
    "bleu": "validation BLEU",
    "loss": "validation loss (nats per token)",
    "parameters": "parameters",
    "seconds": "seconds of training",
}
"""Titles of the objectives."""
DECIMALS = {"bleu": 2, "loss": 3, "parameters": 0, "seconds": 1}
WHOLE: Mapping[str, Any] = {"tickMinStep": 1, "format": "~s"}  # ticks of an axis of whole numbers


class Goal(NamedTuple):
    """An objective of a study."""

    place: int  # place of the objective among the values of a trial
    title: str
    maximize: bool

    def value(self, trial: FrozenTrial) -> float:
        """Return the value of a trial."""
        return trial.values[self.place]

    def loss(self, trial: FrozenTrial) -> float:
        """Return a number that is lower for better trials."""
        return -self.value(trial) if self.maximize else self.value(trial)


def study_figures(study: Study, objectives: Sequence[str]) -> list[StudyFigure]:
    """Draw the finished trials of a study; ``objectives`` names the values of a trial, in order."""
    finished_trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    trials = [trial for trial in finished_trials if all(map(isfinite, trial.values))]
    directions = zip(objectives, study.directions, strict=True)
    goals = [
        Goal(place, TITLES[name], direction == StudyDirection.MAXIMIZE)
        for place, (name, direction) in enumerate(directions)
    ]
    none = "" if trials else "no trial finished"
    said = _outcome(trials, goals)
    return [
        _figure("importances", said, _too_alike(trials), lambda: _importances(study, goals)),
        _figure("trials", said, none, lambda: _trials(study, trials, goals)),
        _figure("slices", said, none, lambda: _slices(trials, goals[0])),
    ]


def _outcome(trials: Sequence[FrozenTrial], goals: Sequence[Goal]) -> str:
    """Return the number of trials and the best of them in words."""
    said = f"{len(trials)} finished trials."
    if len(goals) == 1 and trials:
        best = min(trials, key=lambda trial: order_of(trial, goals[0].maximize))
        said += f" Best {goals[0].title}: {best.values[0]:.4g}, in trial {best.number}."
    return said


def _figure(name: str, said: str, why_not: str, draw: Callable[[], Chart]) -> StudyFigure:
    title = name.capitalize()
    if why_not:
        return StudyFigure(name, title, why_not=why_not)
    try:
        chart = draw().properties(
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


def _ranges(trials: Sequence[FrozenTrial]) -> dict[str, Any]:
    return {name: kind for trial in trials for name, kind in trial.distributions.items()}


def _too_alike(trials: Sequence[FrozenTrial]) -> str:
    """Return why there are no importances; empty where there are."""
    if len(trials) < 2:
        return "takes two finished trials"
    if len(_ranges(trials)) < 2:
        return "takes two parameters"
    return "" if len({tuple(trial.values) for trial in trials}) > 1 else "values are all alike"


def _importances(study: Study, goals: Sequence[Goal]) -> Chart:
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
    colour, _ = colours_and_shapes("objective", list(importances))
    text = base.mark_text(align="left", dx=4).encode(text=alt.Text("importance:Q", format=".2f"))
    return alt.layer(base.mark_bar(size=min(24, 250 / len(rows))).encode(colour), text)


def _trials(study: Study, trials: Sequence[FrozenTrial], goals: Sequence[Goal]) -> Chart:
    """Draw the values of all trials: by their order, or the second objective by the first."""
    if len(goals) > 1:
        return _pareto_front(study, trials, *goals[:2])
    [goal] = goals
    best = accumulate(map(goal.value, trials), max if goal.maximize else min)
    rows = [
        {"trial": trial.number, "value": goal.value(trial), "best": best_so_far}
        for trial, best_so_far in zip(trials, best, strict=True)
    ]
    title = f"{goal.title} (line: best so far)"
    axes = _axis(alt.X, "trial", "trial", **WHOLE), _axis(alt.Y, "value", title)
    base = _chart(rows, "trial", "value").encode(*axes)
    points = base.mark_point(filled=True, size=40, color=COLOURS[1])
    line = base.mark_line(interpolate="step-after", color=COLOURS[2])
    return alt.layer(line.encode(_axis(alt.Y, "best", title)), points)


def _pareto_front(study: Study, trials: Sequence[FrozenTrial], x: Goal, y: Goal) -> Chart:
    front, kinds = {trial.number for trial in study.best_trials}, ["dominated", "Pareto front"]
    rows = [
        {"trial": t.number, "x": x.value(t), "y": y.value(t), "kind": kinds[t.number in front]}
        for t in trials
    ]
    axes = _axis(alt.X, "x", x.title), _axis(alt.Y, "y", y.title)
    points = _chart(rows, "trial", "x", "y").mark_point(filled=True, size=60)
    return points.encode(*axes, *colours_and_shapes("kind", kinds))


def _slices(trials: Sequence[FrozenTrial], goal: Goal) -> Chart:
    panels = [_slice(trials, name, kind, goal) for name, kind in _ranges(trials).items()]
    return alt.concat(*panels, columns=3).resolve_scale(y="shared")


def _slice(trials: Sequence[FrozenTrial], name: str, kind: Any, goal: Goal) -> alt.Chart:
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
    scale = {"zero": False, "padding": 8}  # points at the ends are whole
    return channel(f"{field}:Q", title=title).scale(**scale).axis(tickCount=6, **axis)


def colours_and_shapes(
    field: str, names: Sequence[str], width: Width = "container"
) -> Iterator[Any]:
    """Yield the encodings of a field by colours and by shapes, with one legend."""
    legend = legend_of(names, width)
    colours, shapes, _ = looks_scales({name: name for name in names})
    for channel, scale in ((alt.Color, colours), (alt.Shape, shapes)):
        yield channel(f"{field}:N", title=None, scale=scale, legend=legend)


def _shown(value: Any) -> str:
    """Return a value as Hydra reads it, without the control characters that no SVG can hold."""
    text = f"{value:.6g}" if isinstance(value, float) else hydra_value(value)
    return "".join(each if each.isprintable() else "\ufffd" for each in text)


PERFORMANCE = "search_performance"
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


class SearchPoint(NamedTuple):
    """What a study is expected to find with a number of trials."""

    study: str
    trials: int
    target_tokens: int
    expected: float  # mean of the best value
    deviation: float
    low: float
    high: float


def search_performance(
    study: str, values: Sequence[float], target_tokens: float, largest: bool
) -> list[SearchPoint]:
    """Return a point for each number of finished trials; one costs so many target tokens."""
    if not values:
        return []
    least, most = min(values), max(values)
    best = enumerate(zip(*expected_best(values, largest), strict=True), 1)
    return [
        SearchPoint(study, n, round(n * target_tokens), v, d, max(v - d, least), min(v + d, most))
        for n, (v, d) in best
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
    return Table(PERFORMANCE, "Search performance", columns, points, {"objective": objective}, NOTE)


def _performance_titles(objective: str) -> dict[str, str]:
    expected = (f"expected best {TITLES[objective]}", "standard deviation", "from", "to")
    return {"study": "study", **PACES, **dict(zip(EXPECTED, expected, strict=True))}


def performance_curves(
    points: Sequence[SearchPoint], objective: str, width: Width
) -> dict[str, Chart]:
    """Draw points against trials and against target tokens, one line for each study."""
    paces = PACES if points else ()
    return {f"{PERFORMANCE}_by_{pace}": _curve(points, objective, pace, width) for pace in paces}


def _curve(points: Sequence[SearchPoint], objective: str, pace: str, width: Width) -> Chart:
    names = list(dict.fromkeys(point.study for point in points))
    titles = _performance_titles(objective)
    colour, shape = colours_and_shapes("study", names, width)
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
    clear, pale = opacity_by(highlighted, 1, 0.15), opacity_by(highlighted, 0.16, 0.03)
    y = alt.Y("expected:Q", title=titles["expected"], scale=alt.Scale(zero=False))
    band = base.mark_area().encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), opacity=pale)
    shown = base.encode(y=y, opacity=clear)
    marks = shown.mark_point(size=40, filled=True).encode(shape=shape).add_params(highlighted)
    note = "Bands: one standard deviation of the best of n draws."
    data = data_of(point._asdict() for point in points)
    ends = {point.study: point for point in points}
    last_points = " ".join(
        f"{name}: {end.expected:.4g} after {getattr(end, pace):,}." for name, end in ends.items()
    )
    chart = alt.layer(band, shown.mark_line(strokeWidth=2), marks, data=data)
    subject = f"{titles['expected']} against {titles[pace]}."
    return finish_chart(chart, width, note, "", subject, last_points)


def expected_best(values: Sequence[float], largest: bool) -> tuple[list[float], list[float]]:
    """Return mean and deviation of the best of n draws from N ``values``, for n = 1 … N.

    As Dodge et al. (2019) do: draws are with replacement, and the best of n is at most v with
    probability F(v)ⁿ, where F(v) is the share of the N values that are at most v. With
    ``largest=False`` the lowest value is the best.
    """
    sign = 1 if largest else -1
    ordered = np.sort(sign * np.asarray(values, dtype=np.float64))
    count = len(ordered)
    draws = np.arange(1, count + 1)[:, None]
    # How equal values share their probability does not matter: the sums are the same.
    mass = np.diff((np.arange(count + 1) / count) ** draws, axis=1)
    best = mass @ ordered
    deviation = np.sqrt((mass * (ordered - best[:, None]) ** 2).sum(axis=1))
    return list(map(float, sign * best)), list(map(float, deviation))
