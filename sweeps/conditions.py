"""What must be equal for a comparison to be fair, checked and put into words."""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from lightning_modules.run_folder import Result
from sweeps.evaluation.tables import Table

PARAMETER_TOLERANCE = 0.10
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
        _same_target_tokens(labels, results),
        _same_data_order(labels, results),
        _similar_parameters(labels, results),
        same("decoding", _decoding),
        same("attention step", lambda result: result.attention_step),
    ]


def equally_tuned(studies: Table) -> Condition:
    """Check that every study had the same trials and tokens, by a table of theirs."""
    keys = [column.key for column in studies.columns]
    rows = [dict(zip(keys, row, strict=True)) for row in studies.rows]
    spent = {str(row["study"]): (row["trials"], row["target_tokens"]) for row in rows}
    told = {
        name: f"{trials} trials, {tokens:,} target tokens"
        for name, (trials, tokens) in spent.items()
    }
    if len(set(told.values())) == 1:
        return Condition("tuning", True, f"{next(iter(told.values()))} for each system")
    return Condition("tuning", False, "; ".join(f"{name}: {each}" for name, each in told.items()))


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


def _same_target_tokens(labels: Sequence[str], results: Sequence[Result]) -> Condition:
    """The last batch ends a budget, and which that is depends on the seed: equal within a seed."""
    name = "target tokens"
    missing = _unrecorded(name, labels, [result.training.target_tokens for result in results])
    if missing:
        return missing
    counts = [result.training.target_tokens or 0 for result in results]
    by_seed: dict[int, Counter[int]] = {}
    for result, count in zip(results, counts, strict=True):
        by_seed.setdefault(result.seed, Counter())[count] += 1
    usual = {seed: found.most_common(1)[0][0] for seed, found in by_seed.items()}
    odd = [
        f"{label}: {count:,} in training"
        for label, result, count in zip(labels, results, counts, strict=True)
        if count != usual[result.seed]
    ]
    low, high = min(usual.values()), max(usual.values())
    text = f"{low:,} in training" if low == high else f"{low:,} to {high:,} in training, by seed"
    if odd:
        text += f", but {'; '.join(dict.fromkeys(odd))}"
    return Condition(name, not odd and high <= (1 + BATCH_TOLERANCE) * low, text)


def _same_data_order(labels: Sequence[str], results: Sequence[Result]) -> Condition:
    """The order of batches may depend on the seed, so it is compared within each seed."""
    name = "data order"
    missing = _unrecorded(name, labels, [result.training.data_order for result in results])
    if missing:
        return missing
    orders: dict[int, set[str | None]] = {}
    for result in results:
        orders.setdefault(result.seed, set()).add(result.training.data_order)
    mixed = sorted(seed for seed, found in orders.items() if len(found) > 1)
    if mixed:
        seeds = ", ".join(map(str, mixed))
        return Condition(name, False, f"the runs of seed {seeds} saw different batches")
    return Condition(name, True, "every run of a seed saw the same batches in the same order")


def _similar_parameters(labels: Sequence[str], results: Sequence[Result]) -> Condition:
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


def _decoding(result: Result) -> str | None:
    settings = {key: value for key, value in result.decoding.items() if key not in TIMINGS}
    return ", ".join(f"{key} {value}" for key, value in sorted(settings.items())) or None
