"""Claims of known truth: how often are verdicts wrong, and do the promised seeds decide?

``python -m tests.tools.simulate_claims [COUNT]`` prints the tables of ``docs/claims.md``. Seeds are
drawn from normal distributions, many times; and from translations whose words were made wrong at
random, scored with BLEU and resampled, fewer times.
"""

import sys
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

from lightning_modules.metrics.bleu import sacrebleu_counts
from lightning_modules.metrics.chosen_metrics import METRICS
from lightning_modules.metrics.metric import Array
from lightning_modules.metrics.resampling import Resamples
from lightning_modules.metrics.words import PLAIN, counter_of
from sweeps.claims.intervals import (
    Differences,
    Draws,
    Spread,
    difference,
    effect_interval,
    optimum,
    order,
    score_on,
)
from sweeps.claims.power import find_requirement
from sweeps.claims.verdict import Margin, decide
from tests.helpers.made_text import corrupted
from tests.helpers.simulations import POPULATION, population

MARGIN = Margin(1.0)
SAME = Margin(1.0, "no_difference")
EFFECTS = {"opposite": -1.0, "0": 0.0, "at the margin": 1.0, "beyond": 3.0}
BOTH, SENTENCES, SHARED = 0.3, 0.5, 0.8
"""Deviations over sentences in BLEU, as on 1,200; two systems correlate in the second."""


class Noise(NamedTuple):
    """Deviations of the first, and of the other systems over seeds, in BLEU."""

    name: str
    first: float
    others: float


NOISES = (
    Noise("none", 0, 0),
    Noise("0.3 and 0.3", 0.3, 0.3),
    Noise("1.0 and 1.4", 1.0, 1.4),
    Noise("0.1 and 2.9", 0.1, 2.9),
    Noise("6.1 and 0.5", 6.1, 0.5),
)
"""None, as much as sentences explain, and pairs of systems of ``docs/quickstart.md`` and
``docs/family.md``."""


class Rates(NamedTuple):
    """Shares of the simulated claims."""

    held: float
    failed: float

    @classmethod
    def of(cls, spread: Spread, differences: Differences, margin: Margin = MARGIN) -> "Rates":
        held, failed = decide(spread, differences, margin)
        return cls(float(held.mean()), float(failed.mean()))


def trained(means: Array, noise: Noise, seeds: int, count: int, rng: np.random.Generator) -> Spread:
    """What ``count`` repetitions of ``seeds`` trainings of each system see."""
    systems = len(means)
    own = np.array([noise.first, *[noise.others] * (systems - 1)]) ** 2
    shares = np.full((systems, systems), SHARED) + (1 - SHARED) * np.eye(systems)
    sentences = SENTENCES**2 * shares
    between = own + BOTH**2
    shared = rng.multivariate_normal(means, sentences, count)
    return Spread(
        means=shared + rng.normal(size=shared.shape) * np.sqrt(between / seeds),
        seeds=np.full(systems, seeds),
        between_seeds=between * rng.chisquare(seeds - 1, shared.shape) / (seeds - 1),
        both=np.full(systems, BOTH**2),
        sentences=sentences,
    )


def of_two(effect: float, noise: Noise, seeds: int, count: int, margin: Margin = MARGIN) -> Rates:
    """A claim about the difference of two systems."""
    rng = np.random.default_rng([seeds, count])
    spread = trained(np.array([effect, 0.0]), noise, seeds, count, rng)
    return Rates.of(spread, difference(), margin)


def of_several(effect: float, noise: Noise, seeds: int, count: int, optimal: bool) -> Rates:
    """A claim about an order of four, or an optimum at one of four rungs.

    All true differences but one are large, so that the claim is as easily wrong as it can be.
    """
    rng = np.random.default_rng([seeds, count])
    if optimal:
        means, differences = np.array([effect, 0, -20, -20.0]), optimum(4, 0)
    else:
        means, differences = np.array([effect, 0, -20, -40.0]), order(4)
    return Rates.of(trained(means, noise, seeds, count, rng), differences)


def of_equals(noise: Noise, seeds: int, count: int, optimal: bool) -> Rates:
    """The same with all true differences at the margin, or all rungs equal to the margin's best."""
    rng = np.random.default_rng([seeds, count])
    means = np.array([1, 0, 0, 0.0]) if optimal else np.array([3, 2, 1, 0.0])
    spread = trained(means, noise, seeds, count, rng)
    return Rates.of(spread, optimum(4, 0) if optimal else order(4))


def looked_twice(noise: Noise, count: int) -> float:
    """Share of effects at the margin that did not hold with three seeds, or then with five."""
    rng = np.random.default_rng(7)
    own = np.array([noise.first, noise.others])
    cover = np.linalg.cholesky(SENTENCES**2 * np.array([[1, SHARED], [SHARED, 1]]))
    shared = rng.normal(size=(count, 2)) @ cover.T + [1.0, 0.0]
    noises = rng.normal(size=(count, 2, 5)) * np.sqrt(own**2 + BOTH**2)[:, None]
    values = shared[..., None] + noises
    failed = np.zeros(count, bool)
    for seeds in (3, 5):
        chosen = values[..., :seeds]
        both, variance = np.full(2, BOTH**2), chosen.var(-1, ddof=1)
        spread = Spread(chosen.mean(-1), np.full(2, seeds), variance, both, cover @ cover.T)
        failed |= decide(spread, difference(), MARGIN)[1]
    return float(failed.mean())


def collapsed(count: int, seeds: int, share: float = 0.1, fall: float = 20.0) -> float:
    """Share of wrong "did not hold" where one training in ten of the second system collapses."""
    rng = np.random.default_rng(8)
    values = rng.normal(size=(count, 2, seeds))
    values[:, 1] -= fall * (rng.random((count, seeds)) < share)
    none, variance = np.zeros((2, 2)), values.var(-1, ddof=1)
    spread = Spread(values.mean(-1), np.full(2, seeds), variance, none[0], none)
    return Rates.of(spread, difference(), Margin(share * fall)).failed


class Promise(NamedTuple):
    """What became of the planner's promises."""

    decided: float  # share of the promised plans that decide
    wrong: float  # share of the promised plans that decide wrongly
    median: float  # median number of promised seeds
    none: float  # share of pilots for which the planner promises nothing


def promises(effect: float, noise: Noise, pilots: int, known: bool = False) -> Promise:
    """Plan from pilots of three seeds, or from the true variance; train the promised seeds."""
    rng = np.random.default_rng(9)
    means = np.array([effect, 0.0])
    decided, wrong, seeds = [], [], []
    for _ in range(pilots):
        pilot = trained(means, noise, 1000 if known else 3, 1, rng)
        asked = Spread(means, pilot.seeds, pilot.between_seeds[0], pilot.both, pilot.sentences)
        count = find_requirement(asked, difference(), MARGIN, 1000).seeds
        if count is None:
            continue
        held, failed = Rates.of(trained(means, noise, count, 20, rng), difference())
        seeds.append(count)
        decided.append(held + failed)
        wrong.append(failed if effect > MARGIN.size else held)
    if not seeds:
        return Promise(np.nan, np.nan, np.nan, 1.0)
    means_of_both = float(np.mean(decided)), float(np.mean(wrong))
    return Promise(*means_of_both, float(np.median(seeds)), 1 - len(seeds) / pilots)


POOL = 40
RATES = {"first": 0.30, "second": 0.33}


@cache
def pool(rate: float, deviation: float) -> Array:
    """BLEU's counts of 40 trainings, ``(trainings, sentences, 10)``; rates of wrong words vary."""
    references = population()[0]
    rng = np.random.default_rng([10, int(1000 * rate), int(1000 * deviation)])
    rates = rate + deviation * rng.normal(size=POOL)
    texts = [corrupted(references, rate, rng) for rate in rates]
    return np.stack([sacrebleu_counts(counter_of(PLAIN), lines, references) for lines in texts])


def of_text(deviation: float, seeds: int, count: int, equal: bool = False) -> tuple[Rates, float]:
    """A claim about BLEU at its margin (or of equal systems, margin tiny), and the coverage of 95%.

    Test sets of 250 sentences and trainings are drawn from populations; the true effect is that of
    all trainings on all sentences.
    """
    bleu = METRICS["bleu"]
    trainings = [pool(RATES["first" if equal or not n else "second"], deviation) for n in (0, 1)]
    truth = np.array([bleu.score(each.sum(1)).mean() for each in trainings])
    effect = float(truth[0] - truth[1])
    margin = Margin(max(effect, 1e-9))
    rng = np.random.default_rng([11, seeds])
    outcomes, covered = [], []
    for number in range(count):
        drawn = rng.integers(POPULATION, size=250)
        draws = Draws(np.arange(250), Resamples(500, number))
        chosen = rng.permuted(np.tile(np.arange(POOL), (2, 1)), axis=1)[:, :seeds]
        if equal:  # both from one pool: never the same training
            chosen[1] = rng.permutation(np.setdiff1d(np.arange(POOL), chosen[0]))[:seeds]
        pairs = zip(trainings, chosen, strict=True)
        counts = [list(of[which][:, drawn]) for of, which in pairs]
        spread = Spread.of([draws.values(score_on(bleu), each) for each in counts])
        outcomes.append(decide(spread, difference(), margin))
        low, high = effect_interval(spread, difference(), 0.95)
        covered.append(low <= effect <= high)
    held, failed = np.mean(outcomes, axis=0)
    return Rates(float(held), float(failed)), float(np.mean(covered))


def tables(count: int) -> Iterator[str]:
    """Yield the lines of the tables."""
    yield from head(
        *("seeds", "seed noise", "effect", "held", "did not hold"),
        *("no difference: held", "did not hold"),
    )
    for seeds, noise in product((3, 5), NOISES):
        for name, effect in EFFECTS.items():
            rates = [of_two(effect, noise, seeds, count, margin) for margin in (MARGIN, SAME)]
            yield row(seeds, noise.name, name, *sum(rates, ()))
    kinds = ("order of four", "place of four", "order, all alike", "place, all alike")
    yield from head("seeds", "seed noise", *(f"{k}: {o}" for k in kinds for o in ("held", "not")))
    for seeds, noise in product((3, 5), NOISES):
        rates = [of_several(1.0, noise, seeds, count, optimal) for optimal in (False, True)]
        rates += [of_equals(noise, seeds, count, optimal) for optimal in (False, True)]
        yield row(seeds, noise.name, *sum(rates, ()))
    yield from head("seeds", "deviation of the errors", "held", "did not hold", "95% covers")
    for seeds, deviation in product((3, 5), (0.0, 0.01)):
        at_margin, covered = of_text(deviation, seeds, count // 20)
        yield row(seeds, str(deviation), *at_margin, covered)
    yield from head("effect", "seed noise", "variance", "seeds", "decided", "wrong", "no promise")
    for effect, noise, known in product((0.0, 2.0, 4.0), NOISES[:3], (False, True)):
        found = promises(effect, noise, max(20, count // 250), known)
        seen = "known" if known else "of three seeds"
        yield row(f"{effect:g}", noise.name, seen, f"{found.median:.0f}", *found[:2], found.none)
    yield from head("seed noise", "three seeds, then five: did not hold, at the margin")
    for noise in NOISES:
        yield row(noise.name, looked_twice(noise, count))
    yield from head("seeds", "one training in ten collapses: did not hold, at the margin")
    for seeds in (3, 5, 10):
        yield row(seeds, collapsed(count, seeds))


def head(*names: str) -> tuple[str, str]:
    return f"\n| {' | '.join(names)} |", "|---" * len(names) + "|"


def row(*cells: int | float | str) -> str:
    """Return a line of a table; fractions are shares."""
    texts = (f"{cell:.1%}" if isinstance(cell, float) else str(cell) for cell in cells)
    return f"| {' | '.join(texts)} |".replace("nan%", "–").replace("nan", "–")


def main() -> None:
    for line in tables(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000):
        print(line, flush=True)


if __name__ == "__main__":
    main()
