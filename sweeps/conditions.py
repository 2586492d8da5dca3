"""What must be equal for a comparison to be fair, checked and put into words."""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from lightning_modules.budgets import UNEQUALLY_LONG, UNITS, Kind, kind_of
from lightning_modules.match import MEASURES, Found, Measure
from lightning_modules.run_folder import Result, Training
from sweeps.evaluation.tables import Table

PARAMETER_TOLERANCE = 0.10
MATCH_TOLERANCE = 0.02
"""Of sizes that were to match."""
BATCH_TOLERANCE = 0.01
"""Part of a budget that its last batch may add, which differs from seed to seed."""
TIMINGS = ("seconds", "sentences_per_second")


@dataclass(frozen=True)
class Condition:
    """One condition of a fair comparison; ``text`` says in a line what was found."""

    name: str
    holds: bool
    text: str


def check_conditions(labels: Sequence[str], results: Sequence[Result]) -> list[Condition]:
    """Check all conditions over the finished runs; ``labels[i]`` names ``results[i]``."""

    def same(name: str, value: Callable[[Result], Hashable], show: str = "{}") -> Condition:
        return _same(name, labels, [value(result) for result in results], show)

    return [
        same("data", lambda result: result.data.fingerprint, "fingerprint {}"),
        _same_budget(labels, results),
        _same_data_order(labels, results),
        _similar_size(labels, results),
        same("precision", _precision),
        same("decoding", _decoding),
        same("attention step", lambda result: result.attention_step),
        same("code", _code, "version {}"),
    ]


def equally_tuned(studies: Table, kind: Kind) -> Condition:
    """Check that every study had the same trials and spent as much, by a table of theirs."""
    keys = [column.key for column in studies.columns]
    rows = [dict(zip(keys, row, strict=True)) for row in studies.rows]
    spent = [cast(float, row["spent"]) for row in rows]
    tolerance = BATCH_TOLERANCE if kind in UNEQUALLY_LONG else 0.0
    equal = len({row["trials"] for row in rows}) == 1
    holds = equal and max(spent) <= (1 + tolerance) * min(spent)
    told = [
        f"{row['trials']} trials, {amount:,.9g} {UNITS[kind]}"
        for row, amount in zip(rows, spent, strict=True)
    ]
    if holds and len(set(told)) == 1:
        return Condition("tuning", True, f"{told[0]} for each system")
    each = "; ".join(f"{row['study']}: {text}" for row, text in zip(rows, told, strict=True))
    return Condition("tuning", holds, each)


def _same(name: str, labels: Sequence[str], values: Sequence[Hashable], show: str) -> Condition:
    missing = _unrecorded(name, labels, values)
    if missing:
        return missing
    counts = Counter(values)
    [(usual, _), *others] = counts.most_common()
    text = show.format(usual)
    if others:
        odd = [
            f"{label}: {show.format(value)}"
            for label, value in dict.fromkeys(zip(labels, values, strict=True))
            if value != usual
        ]
        text += f", but {'; '.join(odd)}"
    return Condition(name, not others, text)


def _unrecorded(name: str, labels: Sequence[str], values: Sequence[Hashable]) -> Condition | None:
    missing = [label for label, value in zip(labels, values, strict=True) if value is None]
    if not missing:
        return None
    return Condition(name, False, f"not recorded by {', '.join(dict.fromkeys(missing))}")


def _same_budget(labels: Sequence[str], results: Sequence[Result]) -> Condition:
    """One kind of budget, and as much spent of it."""
    name, kinds = "budget", [kind_of(result.config) for result in results]
    if len(set(kinds)) > 1:
        return _same(name, labels, [f"in {UNITS[kind]}" for kind in kinds], "{}")
    spent = [getattr(result.training, kinds[0]) for result in results]
    missing = _unrecorded(name, labels, spent)
    if missing:
        return missing
    if kinds[0] == "target_tokens":
        return _same_target_tokens(name, labels, results)
    low, high = min(spent), max(spent)
    exact = kinds[0] == "updates"
    amounts = f"{low:,}" if low == high else f"{low:,.6g} to {high:,.6g}"
    text = f"{amounts} {UNITS[kinds[0]]}"
    if not exact:
        text += f", {high / low - 1:.2%} apart as the last update ends them"
    bought = [result.training.target_tokens or 0 for result in results]
    text += f"; they bought {min(bought):,} to {max(bought):,} target tokens"
    return Condition(name, high <= (1 if exact else 1 + BATCH_TOLERANCE) * low, text)


def _same_target_tokens(name: str, labels: Sequence[str], results: Sequence[Result]) -> Condition:
    """The last batch ends a budget, and which that is depends on the seed: equal within a seed."""
    counts = [result.training.target_tokens or 0 for result in results]
    by_seed: dict[int, Counter[int]] = {}
    for result, count in zip(results, counts, strict=True):
        by_seed.setdefault(result.seed, Counter())[count] += 1
    usual = {seed: found.most_common(1)[0][0] for seed, found in by_seed.items()}
    odd = [
        f"{label}: {count:,}"
        for label, result, count in zip(labels, results, counts, strict=True)
        if count != usual[result.seed]
    ]
    low, high = min(usual.values()), max(usual.values())
    some = "" if low == high else f" to {high:,}"
    text = f"{low:,}{some} target tokens{', by seed' if some else ''}"
    if odd:
        text += f", but {'; '.join(dict.fromkeys(odd))}"
    return Condition(name, not odd and high <= (1 + BATCH_TOLERANCE) * low, text)


def _same_data_order(labels: Sequence[str], results: Sequence[Result]) -> Condition:
    """The order of batches may depend on the seed, so it is compared within each seed."""
    name = "data order"
    missing = _unrecorded(name, labels, [result.training.data_order for result in results])
    if missing:
        return missing
    by_seed: dict[int, list[Training]] = {}
    for result in results:
        by_seed.setdefault(result.seed, []).append(result.training)
    mixed = [seed for seed, found in by_seed.items() if len({one.data_order for one in found}) > 1]
    text = "every run of a seed saw the same batches in the same order"
    if not mixed:
        return Condition(name, True, text)
    if all(kind_of(result.config) in UNEQUALLY_LONG for result in results):
        shared = [_shared_updates(by_seed[seed]) for seed in mixed]
        if all(shared):
            told = f"{text}, compared up to update {min(shared):,}; their budget ends them apart"
            return Condition(name, True, told)
    seeds = ", ".join(map(str, sorted(mixed)))
    return Condition(name, False, f"the runs of seed {seeds} saw different batches")


def _shared_updates(trainings: Sequence[Training]) -> int:
    """The last update that all have recorded the order at, if it is one order; 0 if not."""
    common = set.intersection(*(set(training.data_order_at) for training in trainings))
    last = max(common, default=0)
    return last if len({training.data_order_at.get(last) for training in trainings}) == 1 else 0


def _similar_size(labels: Sequence[str], results: Sequence[Result]) -> Condition:
    """As ``match`` wants it, or else about as many parameters."""
    wanted = {by for result in results if (by := _match(result).get("by"))}
    if len(wanted) > 1:
        return Condition("size", False, f"matched by {' and by '.join(sorted(wanted))}")
    return _matched(wanted.pop(), labels, results) if wanted else _similar(labels, results)


def _matched(measure: Measure, labels: Sequence[str], results: Sequence[Result]) -> Condition:
    """Every row's count beside that of the variant which was to be matched."""
    unit = MEASURES[measure]
    counts = [_parameters(one) if measure == "parameters" else _flops(one) for one in results]
    missing = _unrecorded(measure, labels, counts)
    if missing:
        return missing
    references = {
        (str(match["variant"]), Found.model_validate(match["found"]).other)
        for match in map(_match, results)
        if match.get("found")
    }
    told = [f"{count:,.0f} of {variant}" for variant, count in sorted(references)]
    if len(references) != 1:
        return Condition(measure, False, f"{unit} matched to {' and to '.join(told) or 'nothing'}")
    [(_, wanted)] = references
    rows = dict.fromkeys(
        (label, count, abs((count or 0) / wanted - 1) <= MATCH_TOLERANCE)
        for label, count in zip(labels, counts, strict=True)
    )
    each = [
        f"{label} {count:,.0f} ({count / wanted - 1:+.1%}{'' if near else ', too far'})"
        for label, count, near in rows
        if count is not None
    ]
    text = f"{unit} within {MATCH_TOLERANCE:.0%} of the {told[0]}: {', '.join(each)}"
    return Condition(measure, all(near for _, _, near in rows), text)


def _match(result: Result) -> dict[str, Any]:
    return result.config.get("match") or {}


def _parameters(result: Result) -> float | None:
    return result.parameters


def _flops(result: Result) -> float | None:
    """Of a target token of its training data, or else of those it was trained on."""
    found, training = _match(result).get("found"), result.training
    if found:
        return Found.model_validate(found).own
    if not training.flops or not training.target_tokens:
        return None
    return training.flops / training.target_tokens


def _similar(labels: Sequence[str], results: Sequence[Result]) -> Condition:
    name = "parameters"
    missing = _unrecorded(name, labels, [result.parameters for result in results])
    if missing:
        return missing
    counts = [result.parameters or 0 for result in results]
    low, high = min(counts), max(counts)
    spread = (high - low) / low if low else float(high > 0)
    text = f"{low:,} to {high:,}, {spread:.1%} apart"
    if spread > PARAMETER_TOLERANCE:
        smallest, largest = labels[counts.index(low)], labels[counts.index(high)]
        text += f" ({smallest} smallest, {largest} largest; at most {PARAMETER_TOLERANCE:.0%})"
    return Condition(name, spread <= PARAMETER_TOLERANCE, text)


def _precision(result: Result) -> str:
    """Of the numbers in training, as the trainer was told."""
    trainer = result.config.get("trainer") or {}
    return str(trainer.get("precision", "32-true"))


def _code(result: Result) -> str | None:
    """Without scores of one's own, in which variants differ."""
    return result.code.partition("+")[0] if result.code else None


def _decoding(result: Result) -> str | None:
    settings = {key: value for key, value in result.decoding.items() if key not in TIMINGS}
    return ", ".join(f"{key} {value}" for key, value in sorted(settings.items())) or None
