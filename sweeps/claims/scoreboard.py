"""What came out, in words: the verdict on a claim with its scope, and how many claims came out how.

Claims and extensions are counted apart: an extension tests more, or something else, than its paper
says.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.resampling import Interval
from lightning_modules.runs.settings import RESULTS, key_of, overrides_that_affect
from sweeps.claims.claim import Claim, TierName
from sweeps.claims.evidence import ClaimResult, ClaimRun, CorpusResult, RungResult
from sweeps.claims.gates import why_no_plateau
from sweeps.claims.measures import Kept, Level, Measure, Slope
from sweeps.claims.pooling import PooledEffect
from sweeps.claims.verdict import LEVEL, Margin, Outcome, Verdict
from sweeps.comparison.numbers import format_estimate, format_number, in_words
from sweeps.report.alarms import Alarms, alarms_over

SCOPES: dict[TierName, str] = {
    "laptop": "at laptop scale on a synthetic corpus",
    "bench": "at bench scale on a small corpus of real text",
    "paper": "at the paper's scale",
}
"""What a verdict says of each tier, and no more than that."""
UNMARKED = (
    *("data.name", "data.root", "data.path", "data.files", "data.columns", "data.test_sets_folder"),
    "data.skip_empty",  # local files may have lines that the paper's text has not
    *("trainer", "trainer.accelerator", "trainer.devices", "trainer.num_nodes", "trainer.strategy"),
    *(
        "trainer.precision",
        "trainer.benchmark",
        "trainer.deterministic",
        "trainer.use_distributed_sampler",
    ),
    *("threads", "products", "matmul_precision", "keep_memory", "activation_checkpointing"),
    *("kernels", "packed", "capture", "compile", "batching.decode_max_tokens", "batching.pieces"),
)
"""Keys that say where a corpus lies, or on what and how fast numbers are computed, which rounds
them differently; none says what is tested."""
BUDGETS = ("target_tokens", "updates", "flops", "seconds")
NO_VERDICT, NOT_RUN = "no verdict", "not run"
TUNED = "tuned alike"
CHANGES = "changed by"  # where a table says which overrides changed its tier
NAME, TITLE = "claims", "Published claims, tested again"
ORDER = [*map(str, Outcome), NO_VERDICT, NOT_RUN]
"""Outcomes in the order in which claims are shown."""
DECIDED = [str(outcome) for outcome in Outcome if outcome.decided]
TAKEN_BACK = "Undecided after the corrections for many claims."
DECIMALS = 2


class Scale(NamedTuple):
    """A tier, what a command changed of the tier, and the registration of the claims."""

    tier: TierName
    changes: tuple[str, ...] = ()  # overrides of the command that may change results
    registration: str | None = None  # its hash
    deviations: tuple[str, ...] = ()  # what differs from the registration, a line each

    @classmethod
    def of(
        cls,
        tier: TierName,
        shared: Sequence[str],
        registration: str | None = None,
        deviations: Sequence[str] = (),
    ) -> Self:
        """Return the scale of a command with overrides that every run takes."""
        found = overrides_that_affect(shared, RESULTS)
        changes = tuple(each for each in found if key_of(each) not in UNMARKED)
        return cls(tier, changes, registration, tuple(deviations))

    @property
    def scope(self) -> str:
        """What the verdicts are about."""
        changed = f", changed by {' '.join(self.changes)}" if self.changes else ""
        return f"{SCOPES[self.tier]}{changed}"


def outcome_of(one: ClaimResult) -> str:
    """Return the outcome of a claim as text."""
    if one.not_run is not None:
        return NOT_RUN
    return NO_VERDICT if one.verdict is None else str(one.verdict.outcome)


def in_order(results: Sequence[ClaimResult]) -> list[ClaimResult]:
    """Return claims before extensions, each by outcome, then by effect in multiples of margins."""
    return sorted(
        results,
        key=lambda one: (
            one.extension is not None,
            ORDER.index(outcome_of(one)),
            -(in_margins(one) or 0.0),
        ),
    )


def in_margins(one: ClaimResult) -> float | None:
    """Return the effect as a multiple of the smallest effect that counts; None without one."""
    return None if one.verdict is None else one.verdict.effect / margin_of(one.corpora[0], one).size


def margin_of(corpus: CorpusResult, one: ClaimResult) -> Margin:
    """Return the smallest effect that counts on a corpus, in the unit of the quantity."""
    return corpus.margin or Margin(one.claim.margin.value, one.claim.says)


def effect_of(verdict: Verdict | None) -> Estimate | None:
    """Return the effect of a claim with its interval; None without a verdict."""
    if verdict is None:
        return None
    return Estimate(verdict.effect, *(verdict.interval or (None, None)))


def unit_of(claim: Claim) -> str:
    """Return the unit of the effect of a claim, for readers."""
    measure, score = claim.measure, claim.measure.metric.label
    if measure.kind == "order":
        return f"Kendall's τ of {score}"
    if measure.kind in ("kept", "kept_difference"):
        score = f"share of {score} kept on long sentences"
    if isinstance(measure, Level | Kept):
        side, level = level_of(measure)
        return f"{score}, {side} {level:g}"
    if measure.kind in ("slope", "slope_difference"):
        of = f"log of {score}" if getattr(measure, "log", False) else score
        falls = "fall of " if isinstance(measure, Slope) and measure.sign < 0 else ""
        return f"{falls}{of} for every ten words"
    return score


def budget_of(rung: RungResult) -> str:
    """Return up to which budget a rung was trained: ``800,000 target tokens``."""
    runs = next(iter(rung.evidence.runs.values()))
    budget = runs[0].result.config.get("budget", {})
    kind = next((kind for kind in BUDGETS if budget.get(kind) is not None), BUDGETS[0])
    return f"{_amount(rung)} {kind.replace('_', ' ')}"


def _amount(rung: RungResult) -> str:
    return f"{rung.amount:,.0f}" if rung.amount < 1e10 else f"{rung.amount:.3g}"


def level_of(measure: Level | Kept) -> tuple[str, float]:
    """Return whether a value is claimed to lie above or below a level, and the level."""
    if measure.above is not None:
        return "above", measure.above
    return "below", measure.below or 0.0


def verdict_words(one: ClaimResult, scale: Scale) -> str:
    """Return the verdict on a claim with its scope, what it rests on, and the corrections."""
    return " ".join([verdict_sentence(one, scale), *([TAKEN_BACK] if taken_back(one) else [])])


def verdict_sentence(one: ClaimResult, scale: Scale | None = None) -> str:
    """Return the verdict on a claim, with its scope for a ``scale``, and what it rests on."""
    if one.not_run is not None:
        return f"Not run: {one.not_run}."
    verdict = one.verdict
    if verdict is None:
        return f"No verdict: {one.failure}."
    why = verdict.reason or _meaning(verdict.outcome, margin_of(one.corpora[0], one))
    scope = f" {scale.scope}" if scale else ""
    if so := so_far(one):
        meaning = _meaning(so.outcome, margin_of(one.corpora[0], one))
        scope += f", although at {so.budgets} {meaning}"
    elif verdict.reason and verdict.outcome is Outcome.UNDECIDED:
        why += "; the interval is wide, too" if _is_wide(one) else ""
    return f"{verdict.outcome.capitalize()}{scope}: {why}."


def _is_wide(one: ClaimResult) -> bool:
    """Return whether the interval at the last rung decides nothing, whatever the gates say."""
    last = one.corpora[0].rungs[-1].verdict
    return last.outcome is Outcome.UNDECIDED and last.interval is not None and last.reason is None


class SoFar(NamedTuple):
    """What the intervals of an undecided claim show, whose systems were still learning."""

    outcome: Outcome
    budgets: str  # at which of them, in words


def so_far(one: ClaimResult) -> SoFar | None:
    """Return what all rungs of an undecided claim show, or the last one; None if that is nothing.

    A large effect may be undecided because its systems were still learning.
    """
    if one.verdict is None or one.verdict.outcome is not Outcome.UNDECIDED:
        return None
    corpus = one.corpora[0]
    if corpus.too_few is not None or len(corpus.rungs) < 2:
        return None
    found = [rung.verdict.outcome for rung in corpus.rungs]
    every = len(set(found)) == 1
    budgets = "every budget so far" if every else "the largest budget so far"
    return SoFar(found[-1], budgets) if found[-1].decided else None


def taken_back(one: ClaimResult) -> bool:
    """Return whether the corrections for many claims leave a verdict undecided."""
    corrected, verdict = one.corrected, one.verdict
    return bool(corrected and verdict and corrected.outcome is not verdict.outcome)


def _meaning(outcome: Outcome, margin: Margin) -> str:
    """Return what an outcome of the interval alone says."""
    if outcome is Outcome.UNDECIDED:
        return "the interval is too wide to say whether the effect is large enough to count"
    if outcome is Outcome.NEGLIGIBLE or (outcome, margin.says) == (
        Outcome.SUPPORTED,
        "no_difference",
    ):
        return "any difference is too small to count"
    if outcome is Outcome.REVERSED:
        return (
            "there is a difference, large enough to count"
            if margin.says == "no_difference"
            else "the effect goes the other way, and is large enough to count"
        )
    if margin.says == "not_smaller":
        return "a loss, if there is one, is too small to count"
    return "the effect is large enough to count"


def numbers(one: ClaimResult) -> str:
    """Return the effect at the last rung, its interval, and how it moved; empty without one."""
    verdict = one.verdict
    if verdict is None or verdict.outcome is Outcome.NOT_FAIR:
        return ""
    corpus, claim = one.corpora[0], one.claim
    margin = margin_of(corpus, one)
    said = f"After {budget_of(corpus.rungs[-1])}: {effect_in_words(claim, verdict)}"
    if claim.measure.of_scores and len(claim.measure.systems) > 1:
        means = ((system, of.mean()) for system, of in corpus.rungs[-1].values.items())
        said += f" ({', '.join(f'{name} {format_number(mean, 1)}' for name, mean in means)})"
    if verdict.outcome.decided:
        said += f"; {_where(verdict.outcome, margin)}"
    said += f"; the smallest effect that counts is {format_number(margin.size, DECIMALS)}"
    if claim.margin.unit == "attention":
        brings = format_number(margin.size / claim.margin.value, 1)
        said += f" ({claim.margin.value:.0%} of the {brings} BLEU that attention brings here)"
    said += "."
    return " ".join(part for part in (said, over_ladder(one)) if part)


def over_ladder(one: ClaimResult) -> str:
    """Return how an effect moved over its ladder, as a sentence; empty for a single rung."""
    corpus, measure = one.corpora[0], one.claim.measure
    way, rungs = corpus.trajectory, corpus.rungs
    if way is None or len(way.amounts) < 2:
        return ""
    moves = "effect"
    if isinstance(measure, Level | Kept):
        moves = "distance {} {:g}".format(*level_of(measure))
    said = f"From {_amount(rungs[0])} to {budget_of(rungs[-1])}, the {moves} {way.sentence}"
    if len(way.effects) > 2:
        said += f" (at each budget: {', '.join(way.shown)})"
    return f"{said}."


def effect_in_words(claim: Claim, verdict: Verdict) -> str:
    """Return an effect with its interval and unit.

    Of a claim about a level, the value and how far it is from the level: ``alignment error 30.68%,
    19.32 [17.40, 21.24] below 50%``. Of a logarithm, first the change in percent: ``BLEU falls by
    19% for every ten words (fall of the logarithm: 0.21 [0.18, 0.24])``.
    """
    measure, effect, interval = claim.measure, verdict.effect, verdict.interval
    if not isinstance(measure, Level | Kept):
        shown = format_effect(effect, interval)
        percent = _in_percent(measure, effect)
        if not percent:
            return f"{shown} {unit_of(claim)}"
        fall = "fall of the " if isinstance(measure, Slope) and measure.sign < 0 else ""
        return f"{percent} ({fall}logarithm: {shown})"
    side, level = level_of(measure)
    value = level + (effect if side == "above" else -effect)
    if effect < 0:  # on the other side
        side = "below" if side == "above" else "above"
        interval = interval and Interval(-interval.high, -interval.low)
    name, sign = unit_of(claim).rpartition(", ")[0], ""
    if name.endswith(" (%)"):
        name, sign = name.removesuffix(" (%)"), "%"
    away = format_effect(abs(effect), interval)
    return f"{name} {format_number(value, DECIMALS)}{sign}, {away} {side} {level:g}{sign}"


def _in_percent(measure: Measure, effect: float) -> str:
    """Return what a slope of a logarithm means for the score; empty for other measures."""
    if not getattr(measure, "log", False):
        return ""
    of = measure.metric.label
    if isinstance(measure, Slope):
        effect *= measure.sign
    else:
        of += " of “{}” divided by that of “{}”".format(*measure.systems)
    change = np.expm1(effect)
    moves = "rises" if change > 0 else "falls"
    return f"{of} {moves} by {abs(change):.0%} for every ten words"


def format_effect(effect: float, interval: Interval | None) -> str:
    """Return an effect with its interval, for readers."""
    return format_estimate(Estimate(effect, *(interval or (None, None))), DECIMALS)


def pooled_sentence(pooled: PooledEffect) -> str:
    """Return an effect over several corpora as a sentence."""
    kind = "corpora of real text" if pooled.real else "synthetic corpora"
    outcome = f"; {pooled.outcome}" if pooled.outcome else ""
    return (
        f"Over {len(pooled.corpora)} {kind}: {format_effect(pooled.effect, pooled.interval)} "
        f"({pooled.scale}); it deviates by τ = {format_number(pooled.tau, DECIMALS)} over corpora; "
        f"in a new corpus {format_ends(pooled.prediction)}{outcome}."
    )


def format_ends(interval: Interval) -> str:
    """Return the ends of an interval, for readers."""
    low, high = (format_number(end, DECIMALS) for end in interval)
    return f"[{low}, {high}]"


def _where(outcome: Outcome, margin: Margin) -> str:
    """Return where the interval of a decided claim lies."""
    size = format_number(margin.size, DECIMALS)
    supported, equal = outcome is Outcome.SUPPORTED, margin.says == "no_difference"
    if outcome is Outcome.NEGLIGIBLE or (supported and equal):
        return f"the 90% interval lies inside ±{size}"
    if equal:
        return f"all of the interval lies outside ±{size}"
    if not supported:
        return f"all of the interval lies beyond {size} in the other direction"
    if margin.says == "larger":
        return f"all of the interval lies above {size}"
    return f"all of the interval lies above −{size}"


def parts(results: Sequence[ClaimResult]) -> tuple[list[ClaimResult], list[ClaimResult]]:
    """Return the claims that were run, and the extensions that were run."""
    run = [one for one in results if one.not_run is None]
    claims = [one for one in run if one.extension is None]
    return claims, [one for one in run if one.extension is not None]


def summary(results: Sequence[ClaimResult], scale: Scale) -> str:
    """Return how many claims and extensions came out how, and up to which budget."""
    claims, extensions = parts(results)
    not_run = len(results) - len(claims) - len(extensions)
    counted = count_in_words(_outcomes(claims), _outcomes(extensions), not_run)
    longest = longest_rung(results)
    until = f", up to {budget_of(longest)}" if longest else ""
    return f"{counted}; {scale.scope}{until}"


def longest_rung(results: Sequence[ClaimResult]) -> RungResult | None:
    """Return the rung with the largest budget of the claims that have a verdict."""
    last = (one.corpora[0].rungs[-1] for one in results if one.verdict)
    return max(last, key=lambda rung: rung.amount, default=None)


def _outcomes(results: Sequence[ClaimResult]) -> list[tuple[str, str]]:
    return [
        (outcome_of(one), str(one.corrected.outcome) if one.corrected else NO_VERDICT)
        for one in results
    ]


def count_in_words(
    claims: Sequence[tuple[str, str]], extensions: Sequence[tuple[str, str]], not_run: int
) -> str:
    """Return how many claims and extensions came out how, before and after the corrections."""
    said = [_counted("claim", claims)] if claims else []
    said += [_counted("extension", extensions)] if extensions else []
    return "; ".join([*said, *([f"{not_run} not run"] if not_run else [])])


def _counted(what: str, outcomes: Sequence[tuple[str, str]]) -> str:
    before, after = map(Counter, zip(*outcomes, strict=True))
    found = in_words([f"{before[outcome]} {outcome}" for outcome in ORDER if before[outcome]])
    left = [f"{after[outcome]} {outcome}" for outcome in DECIDED if after[outcome]]
    ending = "s"[: len(outcomes) > 1]
    corrected = in_words(left or ["none decided"])
    return f"{len(outcomes)} {what}{ending}: {found} (after the corrections: {corrected})"


def wrong_verdicts(outcomes: Iterable[str]) -> str:
    """Return how many verdicts may be expected to be wrong; empty if none is decided."""
    decided = sum(outcome in DECIDED for outcome in outcomes)
    if not decided:
        return ""
    wrong = format_number(LEVEL * decided, 2)
    said = "Each decided verdict is wrong with a probability of at most 5%: of"
    return f"{said} {decided}, at most {wrong} are expected to be wrong."


def unsettled(results: Sequence[ClaimResult], scale: Scale) -> str | None:
    """Return how many claims a longer ladder may decide, as a sentence; None without any."""
    undecided = [
        (one, one.corpora[0])
        for one in results
        if one.verdict and one.verdict.outcome is Outcome.UNDECIDED
    ]
    waiting = [
        corpus
        for one, corpus in undecided
        if corpus.trajectory is not None
        and not corpus.trajectory.converged
        and corpus.too_few is None
        and why_no_plateau(one.claim, scale.tier, len(corpus.rungs)) is None
    ]
    if not waiting:
        return None
    ladders = ([rung.amount for rung in corpus.rungs] for corpus in waiting)
    longest = max(ladders, key=lambda each: each[-1])
    longer = ",".join(f"{amount:_.0f}" for amount in (*longest, 2 * longest[-1]))
    return (
        f"{len(waiting)} of {len(undecided)} undecided verdicts: training ended before losses and "
        f"effect had settled. More training may decide them: rungs=[{longer}]."
    )


def last_runs(results: Sequence[ClaimResult]) -> dict[Path, tuple[str, ClaimRun]]:
    """Return the trainings at the last rung of each claim by their folders, with names.

    A training of several claims counts once, with the first of them.
    """
    found: dict[Path, tuple[str, ClaimRun]] = {}
    for one in results:
        for corpus in one.corpora:
            for rung in corpus.rungs[-1:]:
                for system, of_system in rung.evidence.runs.items():
                    for run in of_system:
                        name = f"{one.claim.name}, {system}, {corpus.corpus}, seed {run.seed}"
                        found.setdefault(run.folder, (name, run))
    return found


def alarms_of_claims(results: Sequence[ClaimResult]) -> Alarms | None:
    """Return the alarms of the trainings at the last rung of each claim; None without any.

    Not those about a floor and about the end of learning: gates of the claims judge both.
    """
    runs = ((name, run.result) for name, run in last_runs(results).values())
    return alarms_over(runs, ["alike"])
