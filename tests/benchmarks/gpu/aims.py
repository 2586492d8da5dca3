"""What follows from the figures: shares of the peak, ratios, and which aims are held."""

from typing import NamedTuple

from tests.benchmarks.gpu.cases import LOOPS, Case, Size
from tests.benchmarks.gpu.peaks import peak_flops
from tests.benchmarks.gpu.records import Figures

BASE = Case("Transformer", "published", "train", "bf16")


class Aim(NamedTuple):
    """An aim beside its figure."""

    what: str
    least: float
    figure: float | None
    """The best figure, compiled or not; None if it was not measured."""
    form: str

    @property
    def verdict(self) -> str:
        """``held`` or ``missed``, or ``not measured``."""
        if self.figure is None:
            return "not measured"
        return "held" if self.figure >= self.least else "missed"


def aims(gpu: str, figures: Figures) -> list[Aim]:
    """Return the aims for the figures of a GPU."""
    shares = [of_peak(gpu, figures, BASE._replace(compiled=on)) for on in (False, True)]
    ratios = {loop: ratio(figures, loop, "published", "bf16") for loop in LOOPS}
    beam = figures.get(BASE._replace(work="decode"), {}).get("beam")
    return [
        Aim("`transformer_base`, bf16: share of the peak", 0.4, _best(shares), ".0%"),
        *(Aim(f"{loop}, bf16: × a plain loop", 3, found, ".2f") for loop, found in ratios.items()),
        Aim("`transformer_base`, bf16, beam 5: sentences/s", 5000, beam, ",.0f"),
    ]


def rate(figures: Figures, case: Case) -> float | None:
    """Return the training tokens per second of a case; None if not measured."""
    found: float | None = figures.get(case, {}).get("tokens_per_second")
    return found


def of_peak(gpu: str, figures: Figures, case: Case) -> float | None:
    """Return the share of the peak of all GPUs of a case; None if one or the other is unknown."""
    peak, speed = peak_flops(gpu, case.precision), rate(figures, case)
    if peak is None or speed is None:
        return None
    flops: float = figures[case]["flops_per_token"]
    return speed * flops / (peak * case.gpus)


def ratio(figures: Figures, loop: str, size: Size, precision: str) -> float | None:
    """Return how many times as fast as the plain loop the harness is, compiled or not."""
    plain = rate(figures, Case(loop, size, "plain", precision))
    ours = [rate(figures, Case(loop, size, "train", precision, on)) for on in (False, True)]
    best = _best(ours)
    return None if plain is None or best is None else best / plain


def scaling(figures: Figures, case: Case) -> float | None:
    """Return the rate on several GPUs as a share of as many times the rate on one."""
    several, one = rate(figures, case), rate(figures, case._replace(gpus=1))
    return None if several is None or one is None else several / one / case.gpus


def _best(found: list[float | None]) -> float | None:
    return max((each for each in found if each is not None), default=None)
