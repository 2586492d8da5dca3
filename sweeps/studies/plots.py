"""Optuna's own figures of a study, by matplotlib, which is imported only to draw."""

import io
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import optuna
from optuna.trial import FrozenTrial, TrialState

from datamodules.files import whole_file
from sweeps.studies.tidying import tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE: dict[Any, Any] = {
    "savefig.bbox": "tight",
    "savefig.facecolor": "white",
    "svg.hashsalt": "study",  # the same study, the same file
    "text.parse_math": False,  # a dollar in a name is a dollar
}
PNG_DPI = 150


@dataclass(frozen=True)
class Picture:
    """One figure; ``svg`` is empty where ``why_not`` says why there is none."""

    name: str
    title: str
    svg: bytes = b""
    png: bytes = b""
    why_not: str = ""


@dataclass(frozen=True)
class _Plot:
    name: str
    title: str
    draw: Callable[[], Any]
    why_not: str = ""
    """Empty where there is enough to draw."""


def draw_pictures(study: optuna.Study, objectives: Sequence[str]) -> list[Picture]:
    """Draw what can be drawn; ``objectives`` names the study's values, in their order."""
    with _agg():
        return [_drawn(plot) for plot in _plots(study, objectives)]


def write_pictures(pictures: Sequence[Picture], folder: Path) -> None:
    """Write each as SVG and PNG, whole or not at all; take away those that are no more drawn."""
    for picture in pictures:
        for ending, content in (("svg", picture.svg), ("png", picture.png)):
            path = folder / f"{picture.name}.{ending}"
            if picture.why_not:
                path.unlink(missing_ok=True)
                continue
            with whole_file(path) as temporary:
                temporary.write_bytes(content)


def _plots(study: optuna.Study, objectives: Sequence[str]) -> Iterator[_Plot]:
    from optuna.visualization import matplotlib

    plots: Any = matplotlib
    trials = study.get_trials(deepcopy=False)
    finished = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    tuned = {name for trial in finished for name in trial.params}
    none = "" if finished else "no trial finished"
    several = len(objectives) > 1
    values = _values(objectives)

    draw = partial(plots.plot_param_importances, study, target_name=objectives[0])
    yield _Plot("importances", "Importances", draw, _too_alike(finished, tuned))
    if several:
        many = "" if len(objectives) < 4 else "takes two or three objectives"
        draw = partial(plots.plot_pareto_front, study, target_names=list(objectives))
        yield _Plot("pareto_front", "Pareto front", draw, none or many)
    for of, value in values.items():
        draw = partial(plots.plot_optimization_history, study, **value)
        yield _Plot(f"history{of}", "History", draw, none)
    told = any(trial.intermediate_values for trial in trials if trial.state != TrialState.FAIL)
    draw = partial(plots.plot_intermediate_values, study)
    yield _Plot(
        "intermediate_values", "Intermediate values", draw, "" if told else "no trial has any"
    )
    draw = partial(plots.plot_parallel_coordinate, study, target_name=objectives[0])
    yield _Plot("parallel_coordinates", "Parallel coordinates", draw, none)
    for of, value in values.items():
        draw = partial(plots.plot_slice, study, **value)
        yield _Plot(f"slices{of}", "Slices", draw, none)


def _too_alike(finished: Sequence[FrozenTrial], tuned: Collection[str]) -> str:
    """Why importances cannot be told."""
    if len(finished) < 2:
        return "takes two finished trials"
    if len(tuned) < 2:
        return "takes two parameters"
    return "" if len({tuple(trial.values) for trial in finished}) > 1 else "values are all alike"


def _values(objectives: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Arguments of figures that show one value, by what tells them apart in their names."""
    if len(objectives) == 1:  # with a target there would be no line of the best
        return {"": {"target_name": objectives[0]}}
    return {
        f"_{name}": {"target": partial(_value, place=place), "target_name": name}
        for place, name in enumerate(objectives)
    }


def _value(trial: FrozenTrial, place: int) -> float:
    return float(trial.values[place])


def _drawn(plot: _Plot) -> Picture:
    import matplotlib

    if plot.why_not:
        return Picture(plot.name, plot.title, why_not=plot.why_not)
    with matplotlib.rc_context(STYLE):
        try:
            figure = np.ravel(plot.draw())[0].figure
            tidy(figure)
            return Picture(plot.name, plot.title, _saved(figure, "svg"), _saved(figure, "png"))
        except Exception as error:  # no figure is worth the outcome of hours of training
            why = " ".join(f"{type(error).__name__}: {error}".split())
            return Picture(plot.name, plot.title, why_not=f"Optuna does not draw it ({why})")


def _saved(figure: "Figure", ending: str) -> bytes:
    content = io.BytesIO()
    metadata = {"Date": None} if ending == "svg" else {}
    figure.savefig(content, format=ending, dpi=PNG_DPI, metadata=metadata)
    return content.getvalue()


@contextmanager
def _agg() -> Iterator[None]:
    """Draw without a screen; the user's backend, style and figures are theirs again afterwards."""
    import matplotlib
    from matplotlib import pyplot

    backend, shown = matplotlib.get_backend(), set(pyplot.get_fignums())
    pyplot.switch_backend("agg")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of letters that the font lacks, of points alike
            yield
    finally:
        for number in set(pyplot.get_fignums()) - shown:
            pyplot.close(number)
        pyplot.switch_backend(backend)
