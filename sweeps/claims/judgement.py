"""The verdicts on claims: on each corpus over its ladder, over corpora, and over claims.

Each claim is judged on its own systems alone.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.stats import trim_mean

from datamodules.errors import UserError
from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.metric import Array
from lightning_modules.metrics.resampling import probability_above
from lightning_modules.runs.checksums import BrokenFileError
from lightning_modules.runs.files import read_learning_curve
from lightning_modules.testing.scoring import Scoring
from sweeps.claims.claim import Claim
from sweeps.claims.corpora import DRAWS, ClaimCorpus
from sweeps.claims.evidence import (
    ClaimResult,
    ClaimRun,
    CorpusResult,
    Evidence,
    Planned,
    Records,
    RungResult,
    UnusableError,
)
from sweeps.claims.families import correct
from sweeps.claims.gates import find_collapsed, why_no_plateau, why_not_fair, why_too_few
from sweeps.claims.intervals import (
    Differences,
    Spread,
    SystemValues,
    effect_interval,
    pair_differences,
    standard_error,
)
from sweeps.claims.measures import Measure, Order, ScoreDifference
from sweeps.claims.plan import ClaimsPlan
from sweeps.claims.pooling import CommonScale, CorpusEffect, PooledEffect, pool
from sweeps.claims.trajectory import Ladder, Trajectory, follow
from sweeps.claims.verdict import WIDE, Margin, Outcome, judge


def judge_all(plan: ClaimsPlan, scoring: Scoring) -> list[ClaimResult]:
    """Return the verdicts on the claims of a plan, each independent of the others, in order.

    Claims that cannot be run at the tier come last.
    """
    records = Records(scoring, {claim.measure.score for claim in plan.claims})
    results = [_judge_claim(claim, plan, records) for claim in plan.claims]
    verdicts = {one.claim.name: one.verdict for one in results if one.verdict is not None}
    extensions = {one.claim.name for one in results if one.extension is not None}
    corrected = correct(verdicts, extensions)
    return [
        *(replace(one, corrected=corrected.get(one.claim.name)) for one in results),
        *(ClaimResult(claim, not_run=why) for claim, why in plan.skipped),
    ]


def _judge_claim(claim: Claim, plan: ClaimsPlan, records: Records) -> ClaimResult:
    trials = [_Trial(claim, plan, corpora) for corpora in _rows(plan.corpora[claim.name])]
    judged = [_judge_corpus(trial, records) for trial in trials]
    fair = [
        (trial, rung)
        for trial, (result, rung) in zip(trials, judged, strict=True)
        if rung is not None and result.verdict and result.verdict.outcome is not Outcome.NOT_FAIR
    ]
    return ClaimResult(
        claim,
        corpora=[result for result, _ in judged],
        pooled=_pool(claim, fair),
        extension=claim.extension(plan.tier),
    )


def _rows(corpora: Sequence[ClaimCorpus]) -> list[list[ClaimCorpus]]:
    """Return the corpora that are judged together: each alone, and the random ones as one."""
    drawn = [corpus for corpus in corpora if corpus.seeds is not None]
    return [[corpus] for corpus in corpora if corpus.seeds is None] + ([drawn] if drawn else [])


class _Trial(NamedTuple):
    """A claim on a corpus, or on all random ones: each of these has one training of each system."""

    claim: Claim
    plan: ClaimsPlan
    corpora: Sequence[ClaimCorpus]

    @property
    def name(self) -> str:
        return DRAWS if self.drawn else self.corpora[0].name

    @property
    def drawn(self) -> bool:
        return self.corpora[0].seeds is not None

    @property
    def attention(self) -> float | None:
        """The BLEU that attention brings, mean over random corpora; None if it is not known."""
        known = [corpus.attention for corpus in self.corpora if corpus.attention is not None]
        return sum(known) / len(known) if len(known) == len(self.corpora) else None

    def planned(self, rung: float) -> Planned:
        """Return the runs of each system; on random corpora, a seed is the number of a draw."""
        every = [self.plan.of(self.claim, corpus.name, rung) for corpus in self.corpora]
        return {
            system: [run for of_systems in every for run in of_systems.get(system, ())]
            for system in self.claim.systems
        }


class _Rung(NamedTuple):
    """What a rung compares: values of each seed, in one order at all rungs."""

    result: RungResult
    raw: Sequence[SystemValues]  # the quantity of each system of the measure
    values: Sequence[SystemValues]  # of what `differences` compare
    differences: Differences


def _judge_corpus(trial: _Trial, records: Records) -> tuple[CorpusResult, _Rung | None]:
    """Return the verdict on a corpus, and its last rung; none where runs cannot be judged."""
    claim, name = trial.claim, trial.name
    try:
        margin = claim.decision_margin(trial.attention)
        amounts = trial.plan.rungs[claim.name]
        ladder = [records.evidence(claim, trial.planned(amount)) for amount in amounts]
        collapsed = _collapsed(ladder[-1], trial.drawn)
        floors = {
            system: floor
            for system, runs in ladder[-1].runs.items()
            if (floor := _floor(claim, system, runs)) is not None
        }
        paired = trial.drawn or isinstance(claim.measure, Order) or ladder[-1].one_training
        healthy = [evidence.without(collapsed, paired) for evidence in ladder]
        if not all(healthy[-1].seeds.values()):
            raise UnusableError("of no seed have the trainings of all systems begun")
        rungs = [
            _judge_rung(claim.measure, evidence, amount, margin, trial.drawn)
            for amount, evidence in zip(amounts, healthy, strict=True)
        ]
        lost = [
            {
                system: [run for run in evidence.runs[system] if run.seed in seeds]
                for system, seeds in collapsed.items()
            }
            for evidence in ladder
        ]
        trajectory = _follow(rungs, margin)
    except (UnusableError, UserError, ValueError) as error:
        return CorpusResult(name, failure=str(error)), None
    last = healthy[-1]
    reached = {key: float(np.mean([run.reached for run in of])) for key, of in last.runs.items()}
    shortest = last.runs[claim.measure.systems[0]][0].shortest.bounds.label + " words"
    verdict = rungs[-1].result.verdict
    unfair = why_not_fair(reached, floors, shortest)
    too_few = why_too_few(ladder[-1].seeds, collapsed)
    why = too_few or _why_unsettled(trajectory, trial)
    if unfair is not None:
        verdict = verdict.without(Outcome.NOT_FAIR, unfair)
    elif why is not None:
        verdict = verdict.without(Outcome.UNDECIDED, why)
    result = CorpusResult(
        corpus=name,
        rungs=[replace(rung.result, lost=of) for rung, of in zip(rungs, lost, strict=True)],
        collapsed=collapsed,
        too_few=too_few,
        floors=floors,
        reached=reached,
        margin=margin,
        trajectory=trajectory,
        verdict=verdict,
    )
    return result, rungs[-1]


def _collapsed(evidence: Evidence, drawn: bool) -> dict[str, list[int]]:
    """Return the seeds of each system whose training collapsed.

    Random corpora are not equally hard, so that BLEU on them cannot be compared: there, a training
    counts that never learned to use its source.
    """
    if not drawn:
        return find_collapsed(
            {
                system: {run.seed: run.whole_bleu for run in runs}
                for system, runs in evidence.runs.items()
            }
        )
    lost = {
        system: [run.seed for run in runs if not run.result.training.convergence.began]
        for system, runs in evidence.runs.items()
    }
    # A system that never begins has no healthy trainings to be compared with: its floor tells.
    return {key: seeds for key, seeds in lost.items() if 0 < len(seeds) < len(evidence.runs[key])}


def _floor(claim: Claim, system: str, runs: Sequence[ClaimRun]) -> float | None:
    """Return the floor of a system; None if it needs none.

    Raises ``UnusableError`` if the usual floor is not known and the claim has no other.
    """
    known = [floor for run in runs if (floor := run.usual_floor) is not None]
    usual = float(np.mean(known)) if len(known) == len(runs) else np.nan
    floor = claim.floor(system, usual)
    if floor is not None and np.isnan(floor):
        raise UnusableError(
            f"{system}: no run without a model tells its floor; give the claim floors"
        )
    return floor


def _judge_rung(
    measure: Measure, evidence: Evidence, amount: float, margin: Margin, drawn: bool
) -> _Rung:
    raw, paired = _values(measure, evidence), drawn or evidence.one_training
    values, differences = _compare(measure, raw, paired)
    observed = [each.observed for each in values]
    # Of systems that are compared within seeds, each seed is one case; of others, each choice of
    # a training of each system is.
    cases = observed if paired else np.meshgrid(*observed, indexing="ij")
    effects = differences.effect(np.stack(cases, axis=-1))
    result = RungResult(
        amount=amount,
        verdict=judge(measure.spread(values), differences, margin),
        values=dict(zip(measure.systems, (each.observed for each in raw), strict=True)),
        seeds=evidence.seeds,
        losses={key: np.array([run.loss for run in of]) for key, of in evidence.runs.items()},
        evidence=evidence,
        middle=float(differences.effect(np.array([trim_mean(each, 0.25) for each in observed]))),
        improvement=probability_above(effects),
        beside=None if measure.beside is None else _estimate(measure.beside, evidence, drawn),
    )
    return _Rung(result, raw, values, differences)


def _values(measure: Measure, evidence: Evidence) -> list[SystemValues]:
    return [evidence.values(measure.quantity, system) for system in measure.systems]


def _compare(
    measure: Measure, raw: Sequence[SystemValues], paired: bool
) -> tuple[Sequence[SystemValues], Differences]:
    """Return the values that a verdict is about, and their differences.

    Systems of one training, and those on random corpora, are compared within each seed.
    """
    values, differences = measure.compared(raw), measure.differences
    return pair_differences(values, differences) if paired else (values, differences)


def _estimate(measure: Measure, evidence: Evidence, drawn: bool) -> Estimate | None:
    try:
        raw = _values(measure, evidence)
    except ValueError:  # such as a slope over a single length group
        return None
    values, differences = _compare(measure, raw, drawn or evidence.one_training)
    spread = Spread.of(values)
    effect = float(differences.effect(spread.means))
    if spread.seeds.min() == 1:
        return Estimate(effect)
    low, high = effect_interval(spread, differences, WIDE)
    return Estimate(effect, float(low), float(high))


def _follow(rungs: Sequence[_Rung], margin: Margin) -> Trajectory:
    last = rungs[-1].result
    ladder = Ladder(
        amounts=[rung.result.amount for rung in rungs],
        values=[rung.values for rung in rungs],
        differences=rungs[-1].differences,
        losses={
            system: np.stack([rung.result.losses[system] for rung in rungs])
            for system in last.losses
        },
        curves={
            system: [_curve(run, last.amount) for run in runs]
            for system, runs in last.evidence.runs.items()
        },
    )
    return follow(ladder, margin)


def _curve(run: ClaimRun, amount: float) -> Array:
    """Return amounts and losses of a learning curve, ``(2, points)``, which ends at ``amount``."""
    try:
        points = read_learning_curve(run.folder)
    except BrokenFileError as error:
        raise UnusableError(str(error)) from None
    found = np.array([(point.target_tokens, point.val_loss) for point in points])
    if not len(found):
        return np.zeros((2, 0))
    return np.stack([amount * found[:, 0] / found[-1, 0], found[:, 1]])


def _why_unsettled(trajectory: Trajectory, trial: _Trial) -> str | None:
    exempt = why_no_plateau(trial.claim, trial.plan.tier, len(trajectory.amounts))
    return None if exempt else trajectory.why_not_converged


def _pool(claim: Claim, rungs: Sequence[tuple[_Trial, _Rung]]) -> list[PooledEffect]:
    """Return the effect over synthetic corpora and over those of real text, where there are two."""
    scale = _common_scale(claim.measure, [trial for trial, _ in rungs])
    if scale is None:
        return []
    margin = None
    if scale == "as measured" or (scale != "log ratio" and claim.margin.unit == "attention"):
        margin = Margin(claim.margin.value, claim.says)
    pooled = []
    for real in (False, True):
        of_kind = [each for each in rungs if each[0].corpora[0].real is real]
        effects = _effects(claim.measure, of_kind, scale)
        if len(effects) > 1:
            pooled.append(pool(effects, scale, real, margin))
    return pooled


def _common_scale(measure: Measure, trials: Sequence[_Trial]) -> CommonScale | None:
    """Return the scale on which effects are pooled; None where there is none.

    An optimum is one of several differences, and not the same one on each corpus.
    """
    if measure.differences.weights.shape[:2] != (1, 1):
        return None
    if not measure.of_bleu_differences:
        return "as measured"
    corpora = [corpus for trial in trials for corpus in trial.corpora]
    if all(corpus.attention is not None for corpus in corpora):
        return "share of the attention effect"
    return "log ratio" if isinstance(measure, ScoreDifference) else None


def _effects(
    measure: Measure, rungs: Sequence[tuple[_Trial, _Rung]], scale: CommonScale
) -> list[CorpusEffect]:
    """Return the effect on each corpus on a common scale, with its standard error.

    A random corpus has one training of each system, which tells no error: it has that of a single
    training on the other corpora, and 0 where there are none, so that all differs over corpora.
    """
    found: list[CorpusEffect] = []
    variances: list[float] = []
    drawn: list[tuple[str, float]] = []
    for trial, rung in rungs:
        values, differences = _on_scale(measure, trial, rung, scale)
        if trial.drawn:
            effects = differences.effect(values[0].observed[:, None])
            names = [f"draw-{seed}" for seed in rung.result.seeds[measure.systems[0]]]
            drawn += zip(names, map(float, effects), strict=True)
        elif (spread := measure.spread(values)).seeds.min() > 1:
            effect = float(differences.effect(spread.means))
            found.append(CorpusEffect(trial.name, effect, standard_error(spread, differences)))
            alone = replace(spread, seeds=np.ones_like(spread.seeds))
            variances.append(standard_error(alone, differences) ** 2)
    error = float(np.sqrt(np.mean(variances))) if variances else 0.0
    return [*found, *(CorpusEffect(name, effect, error) for name, effect in drawn)]


def _on_scale(
    measure: Measure, trial: _Trial, rung: _Rung, scale: CommonScale
) -> tuple[Sequence[SystemValues], Differences]:
    """Return the values and differences of a rung on a common scale."""
    if scale == "as measured":
        return rung.values, rung.differences
    by_draw = {corpus.seeds[0]: corpus.attention for corpus in trial.corpora if corpus.seeds}

    def scaled(system: str, values: Array) -> Array:
        if scale == "log ratio":
            return np.log(values)
        seeds = rung.result.seeds[system]
        brings = np.array([by_draw.get(seed, trial.attention) for seed in seeds], float)
        return values / brings.reshape(-1, *[1] * (values.ndim - 1))

    raw = [
        SystemValues(
            scaled(system, observed), None if resampled is None else scaled(system, resampled)
        )
        for system, (observed, resampled) in zip(measure.systems, rung.raw, strict=True)
    ]
    return _compare(measure, raw, trial.drawn or rung.result.evidence.one_training)
