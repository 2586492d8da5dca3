"""Claims of known truth: how often are verdicts wrong, and how often is there one?

``python -m tests.tools.simulate_claims [COUNT]`` prints the tables of
``docs/project/verdict_rates.txt``. Seeds are drawn from normal, heavy-tailed and bimodal
distributions; from trajectories that converge or cross; from corpora that differ; from papers of
several claims; and from translations whose words were made wrong at random, scored with BLEU and
resampled.
"""

import sys
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

from lightning_modules.metrics.bleu import sacrebleu_counts
from lightning_modules.metrics.chosen_metrics import METRICS
from lightning_modules.metrics.metric import Array
from lightning_modules.metrics.resampling import Interval, Resamples
from lightning_modules.metrics.words import PLAIN, counter_of
from sweeps.claims.families import correct
from sweeps.claims.gates import COLLAPSED, ENOUGH_SEEDS, why_not_fair
from sweeps.claims.intervals import (
    Differences,
    Draws,
    Spread,
    SystemValues,
    above,
    agreement_spread,
    difference,
    effect_interval,
    optimum,
    rank_agreement,
    score_on,
)
from sweeps.claims.pooling import CorpusEffect, pool
from sweeps.claims.trajectory import Ladder, follow
from sweeps.claims.verdict import LEAST_SEEDS, Margin, Outcome, Says, decide, judge
from tests.helpers.made_text import corrupted
from tests.helpers.simulations import POPULATION, population

MARGIN = Margin(1.0)
SAYS: tuple[Says, ...] = ("larger", "not_smaller", "no_difference")
EFFECTS = (-3.0, -1.0, 0.0, 1.0, 3.0)  # in BLEU, as the margin is
BASE = 45.0  # BLEU of the second system


class Noise(NamedTuple):
    """Deviations of the first, and of the other systems over seeds, in BLEU."""

    name: str
    first: float
    others: float
    heavy: bool = False  # Student's distribution with three degrees of freedom


NOISES = (
    Noise("0.3 and 0.3", 0.3, 0.3),
    Noise("1.0 and 1.4", 1.0, 1.4),
    Noise("0.1 and 2.9", 0.1, 2.9),
    Noise("6.1 and 0.5", 6.1, 0.5),
    Noise("1.0 and 1.0, heavy tails", 1.0, 1.0, True),
    Noise("0.1 and 2.9, heavy tails", 0.1, 2.9, True),
)


class Rates(NamedTuple):
    """Shares of the simulated claims."""

    supported: float
    reversed: float
    negligible: float

    @property
    def decided(self) -> float:
        return sum(self)


KINDS = (Outcome.SUPPORTED, Outcome.REVERSED, Outcome.NEGLIGIBLE)


def rates_of(outcomes: Sequence[Outcome]) -> Rates:
    return Rates(*(float(np.mean([each is kind for each in outcomes])) for kind in KINDS))


def wrong(rates: Rates, effect: float, margin: Margin) -> float:
    """The largest share of an outcome that is wrong for a true effect."""
    size, found = margin.size, [0.0]
    small = abs(effect) < size
    if margin.says == "larger":
        found += [rates.supported] * (effect <= size) + [rates.reversed] * (effect >= -size)
        found += [rates.negligible] * (not small)
    elif margin.says == "not_smaller":
        found += [rates.supported] * (effect <= -size) + [rates.reversed] * (effect >= -size)
    else:
        found += [rates.supported] * (not small) + [rates.reversed] * (abs(effect) <= size)
    return max(found)


def trainings(effect: float, noise: Noise, seeds: int, count: int, rng: np.random.Generator):
    """BLEU of both systems of ``count`` claims, ``(count, 2, seeds)``, each on its own test set."""
    shape = (count, 2, seeds)
    drawn = rng.standard_t(3, shape) / 3**0.5 if noise.heavy else rng.normal(size=shape)
    deviations = np.array([noise.first, noise.others])[:, None]
    return np.array([BASE + effect, BASE])[:, None] + deviations * drawn


def verdicts(values: Array, margin: Margin, differences: Differences | None = None) -> Rates:
    """Outcomes of claims ``(count, systems, seeds)``, with the gate of collapsed trainings."""
    count, systems, seeds = values.shape
    healthy = values >= COLLAPSED * values.max(-1, keepdims=True)
    left = healthy.sum(-1)
    judged = (left >= LEAST_SEEDS).all(-1) & ((seeds >= ENOUGH_SEEDS) | healthy.all((-2, -1)))
    shares = dict.fromkeys(Outcome, 0.0)
    for counts in np.unique(left[judged], axis=0):
        chosen = judged & (left == counts).all(-1)
        kept = np.where(healthy[chosen], values[chosen], np.nan)
        means, variances = np.nanmean(kept, -1), np.nanvar(kept, -1, ddof=1)
        nothing = np.zeros((systems, systems))
        spread = Spread(means, counts, variances, nothing[0], nothing)
        for outcome, shown in decide(spread, differences or difference(), margin).items():
            shares[outcome] += float(shown.sum()) / count
    return Rates(*(shares[each] for each in KINDS))


def of_two(effect: float, noise: Noise, seeds: int, count: int, says: Says = "larger") -> Rates:
    """A claim about the difference of two systems."""
    rng = np.random.default_rng([1, seeds, count])
    return verdicts(trainings(effect, noise, seeds, count, rng), Margin(1.0, says))


class Collapse(NamedTuple):
    """Shares of the trainings that fall, of the first and of the second system, and how far."""

    first: float
    second: float
    fall: float  # in BLEU

    @property
    def name(self) -> str:
        return f"{self.first:.0%} and {self.second:.0%} by {self.fall:g}"


COLLAPSES = tuple(
    Collapse(*shares, fall)
    for fall in (5.0, 10.0, 20.0)
    for shares in ((0.0, 0.1), (0.1, 0.0), (0.0, 0.2), (0.2, 0.0), (0.2, 0.2), (0.33, 0.33))
)


def of_bimodal(
    effect: float, collapse: Collapse, seeds: int, count: int, says: Says = "larger"
) -> Rates:
    """The same where some trainings fall; the true effect is that of the others."""
    rng = np.random.default_rng([2, seeds, count])
    values = trainings(effect, Noise("", 1.0, 1.0), seeds, count, rng)
    shares = np.array([collapse.first, collapse.second])[:, None]
    values = values - collapse.fall * (rng.random(values.shape) < shares)
    return verdicts(values, Margin(1.0, says))


def of_optimum(noise: Noise, seeds: int, count: int, alike: bool) -> Rates:
    """An optimum at one of four rungs that is better by the margin: than one other, or than all."""
    rng = np.random.default_rng([3, seeds, count])
    means = np.array([1.0, 0, 0, 0] if alike else [1.0, 0, -8, -8])
    deviations = np.array([noise.first, *[noise.others] * 3])
    drawn = rng.normal(size=(count, 4, seeds))
    return verdicts(BASE + means[:, None] + deviations[:, None] * drawn, MARGIN, optimum(4, 0))


def of_order(systems: int, step: float, seeds: int, count: int) -> tuple[float, Rates]:
    """An order whose neighbours differ by ``step`` deviations; the margin is its mean τ.

    Returns that τ and the outcomes.
    """
    rng = np.random.default_rng([4, seeds, count])
    scores = step * np.arange(systems)[::-1, None] + rng.normal(size=(count, systems, seeds))

    taus = [rank_agreement([*map(SystemValues, each)]) for each in scores]
    true = float(np.mean([each.observed for each in taus]))
    shown = [decide(agreement_spread(each), above(0.0), Margin(true)) for each in taus]
    return true, Rates(*(float(np.mean([each[kind] for each in shown])) for kind in KINDS))


class Way(NamedTuple):
    """A trajectory: effects at the rungs, and what the training tends to."""

    name: str
    effects: Sequence[float]
    limit: float
    falls: float = 0.0  # share by which the losses still fall with the last doubling


WAYS = (
    Way("flat at the margin", (1.0, 1.0, 1.0, 1.0), 1.0),
    Way("flat beyond", (3.0, 3.0, 3.0, 3.0), 3.0),
    Way("converges to beyond", (-8.0, 1.0, 2.6, 2.9), 3.0),
    Way("still rises to beyond", (-8.0, -4.0, -1.0, 1.0), 3.0),
    Way("still falls to below", (8.0, 5.0, 3.0, 1.5), -1.0),
    Way("flat, losses still fall", (3.0, 3.0, 3.0, 3.0), -3.0, falls=0.05),
    Way("creeps to the margin", (4.0, 2.6, 1.9, 1.5), 1.0),
)


def of_trajectory(
    way: Way, noise: float, seeds: int, count: int
) -> tuple[Rates, float, float, float]:
    """Outcomes with the gate of the plateau by the limit; the share of converged trajectories; and
    how often the 95% intervals of the extrapolation hold the limit, and the last rung.

    Half of the variance over seeds stays with a training through all rungs.
    """
    rng = np.random.default_rng([5, seeds, count])
    amounts = 2e5 * 2.0 ** np.arange(len(way.effects))
    losses = np.full((len(amounts), seeds), 2.0)
    losses[:-1] /= 1 - way.falls
    outcomes, converged, limits, last = [], [], [], []
    for _ in range(count):
        own = rng.normal(size=(2, seeds))
        values = [
            [
                SystemValues(BASE + mean + noise * (own[place] + rng.normal(size=seeds)) / 2**0.5)
                for place, mean in enumerate((effect, 0.0))
            ]
            for effect in way.effects
        ]
        ladder = Ladder([*map(float, amounts)], values, difference(), {"first": losses}, {})
        found = follow(ladder, MARGIN)
        shown = decide(Spread.of(values[-1]), difference(), MARGIN)
        decided = [each for each in KINDS if found.converged and shown[each]]
        outcomes.append((*decided, Outcome.UNDECIDED)[0])
        converged.append(found.converged)
        assert found.effect is not None
        assert found.effect.held_out is not None
        limits.append(_holds(found.effect.interval, way.limit))
        last.append(_holds(found.effect.held_out.interval, way.effects[-1]))
    shares = [float(np.mean(each)) for each in (converged, limits, last)]
    return rates_of(outcomes), shares[0], shares[1], shares[2]


def _holds(interval: Interval | None, value: float) -> bool:
    return interval is not None and interval.low <= value <= interval.high


def of_corpora(
    corpora: int, tau: float, mean: float, seeds: int, count: int, deviation: float = 1.0
) -> tuple[Rates, float, float]:
    """Pooled effects of corpora whose true effects deviate by ``tau``; how often the 95% intervals
    hold the mean, and the true effect of one more corpus.

    With one seed, the corpora are random ones, whose errors are not known.
    """
    rng = np.random.default_rng([6, corpora, seeds, count])
    outcomes, means, predicted = [], [], []
    for _ in range(count):
        true = mean + tau * rng.normal(size=corpora + 1)
        drawn = deviation * rng.normal(size=(2, corpora, seeds))
        effects = true[:-1] + (drawn[0] - drawn[1]).mean(-1)
        errors = np.zeros(corpora)
        if seeds > 1:
            errors = np.sqrt(drawn.var(-1, ddof=1).sum(0) / seeds)
        found = pool(
            [*map(CorpusEffect, map(str, range(corpora)), effects, errors)],
            "as measured",
            False,
            MARGIN,
        )
        assert found.outcome is not None
        outcomes.append(found.outcome)
        means.append(_holds(found.interval, mean))
        predicted.append(_holds(found.prediction, float(true[-1])))
    return rates_of(outcomes), float(np.mean(means)), float(np.mean(predicted))


def of_papers(claims: int, papers: int, true: float, count: int) -> tuple[float, float, float]:
    """Papers half of whose claims are at the margin, the others ``true`` BLEU, with five seeds.

    Returns the share of papers with a wrong verdict before and after the corrections, and the share
    of the true claims that are supported after them.
    """
    rng = np.random.default_rng([7, claims, papers, count])
    before: list[bool] = []
    after: list[bool] = []
    found: list[bool] = []
    for _ in range(count):
        single = {}
        for paper, claim in product(range(papers), range(claims)):
            effect = true if claim % 2 else MARGIN.size
            values = trainings(effect, NOISES[1], 5, 1, rng)[0]
            spread = Spread.of([*map(SystemValues, values)])
            single[f"{paper}.{claim}"] = judge(spread, difference(), MARGIN)
        corrected = correct(single, [])
        for paper in range(papers):
            at_margin = [f"{paper}.{claim}" for claim in range(0, claims, 2)]
            before.append(any(single[name].outcome.decided for name in at_margin))
            after.append(any(corrected[name].outcome.decided for name in at_margin))
            others = [f"{paper}.{claim}" for claim in range(1, claims, 2)]
            found += [corrected[name].outcome is Outcome.SUPPORTED for name in others]
    return float(np.mean(before)), float(np.mean(after)), float(np.mean(found))


def below_floor(reached: float, floor: float, deviation: float, count: int) -> float:
    """Share of tests that are not fair, of a system with five seeds that reaches so much."""
    means = reached + deviation * np.random.default_rng(8).normal(size=(count, 5)).mean(1)
    unfair = [why_not_fair({"one": mean}, {"one": floor}, "1–10 words") for mean in means]
    return float(np.mean([why is not None for why in unfair]))


def looked_twice(noise: Noise, count: int) -> float:
    """Share of effects at the margin that are supported with three seeds, or then with five."""
    rng = np.random.default_rng(9)
    values = trainings(MARGIN.size, noise, 5, count, rng)
    nothing = np.zeros((2, 2))
    supported = np.zeros(count, bool)
    for seeds in (3, 5):
        chosen = values[..., :seeds]
        spread = Spread(
            chosen.mean(-1), np.full(2, seeds), chosen.var(-1, ddof=1), nothing[0], nothing
        )
        supported |= decide(spread, difference(), MARGIN)[Outcome.SUPPORTED]
    return float(supported.mean())


POOL = 40
RATES = {"first": 0.30, "second": 0.33}


@cache
def counts_of(rate: float, deviation: float) -> Array:
    """BLEU's counts of 40 trainings, ``(trainings, sentences, 10)``; rates of wrong words vary."""
    references = population()[0]
    rng = np.random.default_rng([10, int(1000 * rate), int(1000 * deviation)])
    rates = rate + deviation * rng.normal(size=POOL)
    texts = [corrupted(references, rate, rng) for rate in rates]
    return np.stack([sacrebleu_counts(counter_of(PLAIN), lines, references) for lines in texts])


def of_text(deviation: float, seeds: int, count: int) -> tuple[Rates, float]:
    """A claim about BLEU at its margin, and the coverage of 95%; all seeds share a test set.

    Test sets of 250 sentences and trainings are drawn from populations; the true effect is that of
    all trainings on all sentences.
    """
    bleu = METRICS["bleu"]
    pools = [counts_of(RATES[name], deviation) for name in RATES]
    truth = np.array([bleu.score(each.sum(1)).mean() for each in pools])
    effect = float(truth[0] - truth[1])
    rng = np.random.default_rng([11, seeds])
    outcomes, covered = [], []
    for number in range(count):
        drawn = rng.integers(POPULATION, size=250)
        draws = Draws(np.arange(250), Resamples(500, number))
        chosen = rng.permuted(np.tile(np.arange(POOL), (2, 1)), axis=1)[:, :seeds]
        counts = [list(of[which][:, drawn]) for of, which in zip(pools, chosen, strict=True)]
        spread = Spread.of([draws.values(score_on(bleu), each) for each in counts])
        outcomes.append(judge(spread, difference(), Margin(effect)).outcome)
        low, high = effect_interval(spread, difference(), 0.95)
        covered.append(low <= effect <= high)
    return rates_of(outcomes), float(np.mean(covered))


OUTCOMES = ("supported", "reversed", "negligible")


def tables(count: int) -> Iterator[str]:
    """Yield the lines of the tables."""
    few = max(50, count // 20)  # of what takes milliseconds
    yield from head("says", "seeds", "deviation of seeds", *(f"{e:+g}: wrong" for e in EFFECTS))
    for says, seeds, noise in product(SAYS, (3, 5), NOISES):
        rates = [of_two(effect, noise, seeds, count, says) for effect in EFFECTS]
        pairs = zip(rates, EFFECTS, strict=True)
        yield row(says, seeds, noise.name, *(wrong(*each, Margin(1.0, says)) for each in pairs))
    yield from head(
        *("seeds", "runs that fall", "supported at +1", "reversed at −1", "negligible at ±1"),
        "supported at +4",
    )
    for seeds, collapse in product((3, 5), COLLAPSES):
        low, high, far = (of_bimodal(e, collapse, seeds, count) for e in (-1.0, 1.0, 4.0))
        worse = max(low.negligible, high.negligible)
        yield row(seeds, collapse.name, high.supported, low.reversed, worse, far.supported)
    yield from head("seeds", "deviation of seeds", "optimum of four", *OUTCOMES)
    for seeds, noise, alike in product((3, 5), NOISES[:4], (False, True)):
        found = of_optimum(noise, seeds, count, alike)
        yield row(seeds, noise.name, "all others alike" if alike else "one other near", *found)
    yield from head("seeds", "systems", "true τ, the margin", *OUTCOMES)
    for seeds, systems, step in product((3, 5), (3, 5), (0.2, 0.5, 1.0, 2.0)):
        true, found = of_order(systems, step, seeds, count // 4)
        yield row(seeds, systems, f"{true:.2f}", *found)
    yield from head(
        *("trajectory", "limit", "deviation", *OUTCOMES, "converged"),
        *("95% holds the limit", "95% holds the last rung"),
    )
    for way, deviation in product(WAYS, (0.2, 0.5, 1.0)):
        settled, *shares = of_trajectory(way, deviation, 5, few)
        yield row(way.name, f"{way.limit:+g}", f"{deviation:g}", *settled, *shares)
    yield from head(
        *("corpora", "seeds", "τ", "mean effect", *OUTCOMES, "95% holds the mean"),
        "prediction holds a new corpus",
    )
    for (corpora, seeds), tau, mean in product(
        ((2, 5), (4, 5), (10, 5), (8, 1)), (0.0, 1.0, 3.0), (1.0, 3.0)
    ):
        pooled, *shares = of_corpora(corpora, tau, mean, seeds, few)
        yield row(corpora, seeds, f"{tau:g}", f"{mean:+g}", *pooled, *shares)
    yield from head("effect", "deviation", "seeds", "one corpus: supported", *POWER_CORPORA)
    for effect, deviation, seeds in product((2.0, 3.0, 5.0), (0.5, 1.0), (3, 5, 8, 12)):
        alone = of_two(effect, Noise("", deviation, deviation), seeds, count).supported
        several = [of_corpora(k, 0.5, effect, seeds, few, deviation)[0] for k in (2, 4, 10)]
        chances = (alone, *(each.supported for each in several))
        yield row(f"{effect:+g}", f"{deviation:g}", seeds, *chances)
    yield from head("claims of a paper", "papers", "wrong", "wrong, corrected", "found, corrected")
    for claims, papers in ((2, 10), (6, 10), (12, 10)):
        yield row(claims, papers, *of_papers(claims, papers, 4.0, few // 5))
    yield from head("BLEU that is reached", "floor", "deviation", "not a fair test")
    for reached, floor, deviation in ((5.9, 35.0, 1.0), (34.0, 35.0, 1.0), (36.0, 35.0, 1.0)):
        yield row(
            f"{reached:g}",
            f"{floor:g}",
            f"{deviation:g}",
            below_floor(reached, floor, deviation, count),
        )
    yield from head("seeds", "deviation of the errors", *OUTCOMES, "95% covers")
    for seeds, deviation in product((3, 5), (0.0, 0.01)):
        at_margin, covered = of_text(deviation, seeds, few)
        yield row(seeds, str(deviation), *at_margin, covered)
    yield from head("deviation of seeds", "three seeds, then five: supported, at the margin")
    for noise in NOISES:
        yield row(noise.name, looked_twice(noise, count))


POWER_CORPORA = ("two corpora", "four", "ten")


def head(*names: str) -> tuple[str, str]:
    return f"\n| {' | '.join(names)} |", "|---" * len(names) + "|"


def row(*cells: int | float | str) -> str:
    """Return a line of a table; fractions are shares."""
    texts = (f"{cell:.1%}" if isinstance(cell, float) else str(cell) for cell in cells)
    return f"| {' | '.join(texts)} |".replace("nan%", "–")


def main() -> None:
    for line in tables(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000):
        print(line, flush=True)


if __name__ == "__main__":
    main()
