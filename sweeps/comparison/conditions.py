"""Conditions of a fair comparison: what must be equal between runs, checked and reported."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, NamedTuple

from pydantic import ConfigDict

from lightning_modules.metrics.words import usual_tokenizer
from lightning_modules.runs.schema import (
    MEASURES,
    Data,
    Environment,
    Measure,
    Result,
    SizeMatch,
    Training,
)
from lightning_modules.runs.settings import (
    OF_CANDIDATES,
    flatten,
    group_files,
    key_of,
    labelling_overrides,
    setting_of,
    settings,
)
from lightning_modules.training.budgets import find_kind, kind_of, plateau_of

State = Literal["held", "differs by design", "not known", "NOT HELD"]
MARKS: dict[State, str] = {"held": "✓", "differs by design": "≠", "not known": "?", "NOT HELD": "✗"}
"""Signs before the states, for readers who see no colours."""
PARAMETER_TOLERANCE = 0.10
"""Largest relative difference of parameters between variants that were not matched in size."""
MATCH_TOLERANCE = 0.02  # largest relative difference between sizes that were to match
BATCH_TOLERANCE = 0.01
"""Largest share of a budget that the last batch may add; the last batch depends on the seed."""
FOR_RESULTS = ("precision", "decoding", "attention step", "words of scores")
"""Conditions on settings in which no system may differ from another."""
FOR_TRAINING = (
    "optimizer",
    "learning rate",
    "schedule",
    "label smoothing",
    "dropout",
    "teacher forcing",
    "averaging",
)
"""Conditions on settings in which systems may differ by design."""
KERNELS = ("kernels", "packed", "capture", "compile")
"""Settings of the kernels; which follow from a setting depends on the device and on the model."""
MEASUREMENTS = ("seconds", "sentences_per_second")
"""Entries of ``Result.decoding`` that are not settings."""
ORACLE = "decoding.length"
"""Setting of a test that a comparison may vary: nobody takes an oracle for a search."""
WITHOUT_EFFECT = ("_partial_", "fused")  # keys that change no result beyond the last digits


@dataclass(frozen=True)
class Condition:
    """One condition of a fair comparison; ``text`` gives the compared values in one line."""

    name: str
    holds: bool  # whether the comparison is fair in this respect
    text: str
    by_design: bool = False
    """Whether the values differ because the comparison, or the files of its systems, say so."""
    unknown: bool = False  # whether nothing records the values
    __pydantic_config__ = ConfigDict(extra="forbid")  # as a ``Record``

    @property
    def state(self) -> State:
        """The state as readers see it."""
        if not self.holds:
            return "NOT HELD"
        if self.unknown:
            return "not known"
        return "differs by design" if self.by_design else "held"


def check_equal(
    name: str, labels: Sequence[str], values: Sequence[Hashable], template: str = "{}"
) -> Condition:
    """Check that all values are equal; the text names the runs with unusual values."""
    if missing := unrecorded(name, labels, values):
        return missing
    [(usual, _), *others] = Counter(values).most_common()
    text = template.format(usual)
    if others:
        unusual = [
            f"{label}: {template.format(value)}"
            for label, value in dict.fromkeys(zip(labels, values, strict=True))
            if value != usual
        ]
        text += f", but {'; '.join(unusual)}"
    return Condition(name, not others, text)


def unrecorded(name: str, labels: Sequence[str], values: Sequence[Hashable]) -> Condition | None:
    """Return a condition that does not hold if a run did not record its value, else None."""
    missing = [label for label, value in zip(labels, values, strict=True) if value is None]
    if not missing:
        return None
    return Condition(name, False, f"not recorded by {', '.join(dict.fromkeys(missing))}")


def check_conditions(
    labels: Sequence[str], results: Sequence[Result], tuned: Collection[str] = ()
) -> list[Condition]:
    """Check all conditions over the finished runs; ``labels[i]`` names ``results[i]``.

    What depends on the corpus is checked on each corpus alone. ``tuned`` are the
    keys of the settings that studies have chosen.
    """

    def equal(name: str, value: Callable[[Result], Hashable], template: str = "{}") -> Condition:
        return check_equal(name, labels, [value(result) for result in results], template)

    by_corpus = [
        _check_on_corpus([labels[n] for n in numbers], [results[n] for n in numbers])
        for numbers in _by_corpus(results)
    ]
    return [
        *map(_join, zip(*by_corpus, strict=True)),
        *check_settings(labels, results, tuned),
        equal("products", lambda result: result.environment.products, "multiplied by {}"),
        equal("matmul precision", lambda result: result.environment.matmul_precision),
        _check_kernels(labels, results),
        equal("code", _code_version, "version {}"),
    ]


def _by_corpus(results: Sequence[Result]) -> list[list[int]]:
    """Return the numbers of the runs on each corpus, if each has the same systems and seeds.

    Such a comparison is one controlled comparison per corpus, and each is checked alone. In any
    other comparison, runs on different corpora are a mistake, and all runs are checked together.
    """
    numbers: dict[tuple[str, ...], list[int]] = defaultdict(list)
    jobs: dict[tuple[str, ...], Counter[tuple[str, ...]]] = defaultdict(Counter)
    for number, result in enumerate(results):
        overrides = labelling_overrides(result.overrides, result.variant)
        corpus = tuple(each for each in overrides if key_of(each).partition(".")[0] == "data")
        others = (each for each in overrides if each not in corpus)
        numbers[corpus].append(number)
        jobs[corpus][result.variant, *others, str(result.seed)] += 1
    first, *rest = jobs.values()
    if rest and all(each == first for each in rest):
        return list(numbers.values())
    return [list(range(len(results)))]


def _check_on_corpus(labels: Sequence[str], results: Sequence[Result]) -> list[Condition]:
    fingerprints = [_data_version(result.data) for result in results]
    return [
        check_equal("data", labels, fingerprints, "fingerprint {}"),
        _check_budget(labels, results),
        _check_data_order(labels, results),
        _check_size(labels, results),
    ]


def _data_version(data: Data) -> str | None:
    """Return the fingerprint of the text, with the names of test sets that are not the corpus's."""
    if data.fingerprint is None or not data.test_sets:
        return data.fingerprint
    return f"{data.fingerprint}, tested on {', '.join(data.test_sets)}"


def _join(conditions: Sequence[Condition]) -> Condition:
    """Join one condition on several corpora; where it is broken, the text is of those corpora."""
    if len(conditions) == 1:
        return conditions[0]
    broken = [each for each in conditions if not each.holds]
    texts = "; ".join(dict.fromkeys(each.text for each in broken or conditions))
    text = f"on each of {len(conditions)} corpora alone: {texts}"
    return Condition(conditions[0].name, not broken, text)


def _check_budget(labels: Sequence[str], results: Sequence[Result]) -> Condition:
    """Check that all runs have one kind of budget, and spent the whole budget."""
    spent = _check_spent(labels, results)
    early = dict.fromkeys(
        f"{label} by {result.training.ended_by}"
        for label, result in zip(labels, results, strict=True)
        if result.training.ended_early
    )
    if not early:
        return spent
    return replace(spent, holds=False, text=f"{spent.text}; ended early: {'; '.join(early)}")


def _check_spent(labels: Sequence[str], results: Sequence[Result]) -> Condition:
    """Check that all runs have one kind of budget and spent equally much of the budget."""
    name, kinds = "budget", [kind_of(result.config) for result in results]
    if len(set(kinds)) > 1:
        return check_equal(name, labels, [f"in {find_kind(kind).unit}" for kind in kinds], "{}")
    kind = find_kind(kinds[0])
    recorded = [result.training.spent(kinds[0]) for result in results]
    if missing := unrecorded(name, labels, recorded):
        return missing
    spent = [cost or 0 for cost in recorded]
    if any(plateau_of(result.config) is not None for result in results):
        return _check_plateaus(labels, results, spent, kind.unit)
    if not (kind.exact or kind.unequally_long):
        return _check_by_seed(name, labels, [result.seed for result in results], spent, kind.unit)
    low, high = min(spent), max(spent)
    amounts = f"{low:,}" if low == high else f"{low:,.6g} to {high:,.6g}"
    text = f"{amounts} {kind.unit}"
    if not kind.exact:
        text += f", {high / low - 1:.2%} apart because the last update exceeds the budget"
    tokens = [result.training.target_tokens or 0 for result in results]
    text += f"; trained on {min(tokens):,} to {max(tokens):,} target tokens"
    return Condition(name, high <= (1 if kind.exact else 1 + BATCH_TOLERANCE) * low, text)


def _check_plateaus(
    labels: Sequence[str], results: Sequence[Result], spent: Sequence[float], unit: str
) -> Condition:
    """Check that all runs had one plateau to reach; how much each spent is its own decision."""
    plateaus = [plateau_of(result.config) for result in results]
    named = ["none" if plateau is None else f"{plateau:.3g}" for plateau in plateaus]
    if len(set(named)) > 1:
        return check_equal("budget", labels, named, "plateau {}")
    low, high = min(spent), max(spent)
    text = (
        f"until a doubling takes less than {plateaus[0]:.3g} of the validation loss off: "
        f"{low:,.9g} to {high:,.9g} {unit}"
    )
    pairs = zip(labels, results, strict=True)
    others = [label for label, result in pairs if result.training.ended_by is None]
    if others:
        text += f"; the most was spent before the plateau by {', '.join(dict.fromkeys(others))}"
    return Condition("budget", True, text, by_design=low != high)


def _check_by_seed(
    name: str, labels: Sequence[str], seeds: Sequence[int], spent: Sequence[float], unit: str
) -> Condition:
    """Check that runs of one seed spent equally much; the last batch depends on the seed."""
    by_seed: dict[int, Counter[float]] = {}
    for seed, amount in zip(seeds, spent, strict=True):
        by_seed.setdefault(seed, Counter())[amount] += 1
    usual = {seed: tally.most_common(1)[0][0] for seed, tally in by_seed.items()}
    unusual = [
        f"{label}: {amount:,}"
        for label, seed, amount in zip(labels, seeds, spent, strict=True)
        if amount != usual[seed]
    ]
    low, high = min(usual.values()), max(usual.values())
    to_high = "" if low == high else f" to {high:,}"
    text = f"{low:,}{to_high} {unit}{', by seed' if to_high else ''}"
    if unusual:
        text += f", but {'; '.join(dict.fromkeys(unusual))}"
    return Condition(name, not unusual and high <= (1 + BATCH_TOLERANCE) * low, text)


def _check_data_order(labels: Sequence[str], results: Sequence[Result]) -> Condition:
    """Check the order of batches within each seed, because the order may depend on the seed."""
    name = "data order"
    if missing := unrecorded(name, labels, [result.training.data_order for result in results]):
        return missing
    by_seed: dict[int, list[Training]] = {}
    for result in results:
        by_seed.setdefault(result.seed, []).append(result.training)
    mixed = [seed for seed, runs in by_seed.items() if len({run.data_order for run in runs}) > 1]
    text = "every run of a seed saw the same batches in the same order"
    if not mixed:
        return Condition(name, True, text)
    if all(_ends_by_itself(result) for result in results):
        updates = [_last_common_update(by_seed[seed]) for seed in mixed]
        if all(updates):
            text += f", compared up to update {min(updates):,}: the budget ends runs unequally long"
            return Condition(name, True, text)
    seeds = ", ".join(map(str, sorted(mixed)))
    return Condition(name, False, f"the runs of seed {seeds} saw different batches")


def _ends_by_itself(result: Result) -> bool:
    """Whether the budget may end this run after another update than the runs of other variants."""
    config = result.config
    return plateau_of(config) is not None or find_kind(kind_of(config)).unequally_long


def _last_common_update(trainings: Sequence[Training]) -> int:
    """Return the last update at which all runs recorded the data order; 0 if the orders differ."""
    common = set.intersection(*(set(training.data_order_at) for training in trainings))
    last = max(common, default=0)
    return last if len({training.data_order_at.get(last) for training in trainings}) == 1 else 0


def _check_size(labels: Sequence[str], results: Sequence[Result]) -> Condition:
    """Check sizes that were matched; without matching, check for similar numbers of parameters."""
    measures = {by for result in results if (by := _match_settings(result).get("by"))}
    if not measures:
        return _check_parameters(labels, results)
    if len(measures) > 1:
        return Condition("size", False, f"matched by {' and by '.join(sorted(measures))}")
    return _check_matched_size(measures.pop(), labels, results)


def _check_matched_size(
    measure: Measure, labels: Sequence[str], results: Sequence[Result]
) -> Condition:
    """Check each run's count against the count of the variant that was to be matched."""
    unit = MEASURES[measure]
    counts: list[float | None] = [result.parameters for result in results]
    if measure != "parameters":
        counts = [_flops_per_target_token(result) for result in results]
    if missing := unrecorded(measure, labels, counts):
        return missing
    references = {
        (str(match["variant"]), SizeMatch.model_validate(match["found"]).other)
        for match in map(_match_settings, results)
        if match.get("found")
    }
    sizes = [f"{count:,.0f} of {variant}" for variant, count in sorted(references)]
    if len(references) != 1:
        return Condition(measure, False, f"{unit} matched to {' and to '.join(sizes) or 'nothing'}")
    [(_, reference)] = references
    rows = dict.fromkeys(
        (label, count, abs((count or 0) / reference - 1) <= MATCH_TOLERANCE)
        for label, count in zip(labels, counts, strict=True)
    )
    each = [
        f"{label} {count:,.0f} ({count / reference - 1:+.1%}{'' if near else ', too far'})"
        for label, count, near in rows
        if count is not None
    ]
    text = f"{unit} within {MATCH_TOLERANCE:.0%} of the {sizes[0]}: {', '.join(each)}"
    return Condition(measure, all(near for _, _, near in rows), text)


def _match_settings(result: Result) -> dict[str, Any]:
    return result.config.get("match") or {}


def _flops_per_target_token(result: Result) -> float | None:
    """Return the FLOPs that the size matching computed, or else the mean over the training."""
    sizes, training = _match_settings(result).get("found"), result.training
    if sizes:
        return SizeMatch.model_validate(sizes).own
    if not training.flops or not training.target_tokens:
        return None
    return training.flops / training.target_tokens


def _check_parameters(labels: Sequence[str], results: Sequence[Result]) -> Condition:
    name = "parameters"
    if missing := unrecorded(name, labels, [result.parameters for result in results]):
        return missing
    counts = [result.parameters or 0 for result in results]
    low, high = min(counts), max(counts)
    spread = (high - low) / low if low else float(high > 0)
    text = f"{low:,} to {high:,}, {spread:.1%} apart"
    if spread > PARAMETER_TOLERANCE:
        smallest, largest = labels[counts.index(low)], labels[counts.index(high)]
        text += f" ({smallest} smallest, {largest} largest; at most {PARAMETER_TOLERANCE:.0%})"
    return Condition(name, spread <= PARAMETER_TOLERANCE, text)


def _check_kernels(labels: Sequence[str], results: Sequence[Result]) -> Condition:
    """Check that all runs had the same kernels, but for those that one policy chose by the model.

    On a CPU the policy chooses PyTorch's own for every model, so that runs on a CPU and on a GPU
    are told apart.
    """
    kernels = [result.environment.kernels for result in results]
    condition = check_equal("kernels", labels, kernels)
    settings = [{key: result.config.get(key) for key in KERNELS} for result in results]
    differing = [key for key in KERNELS if len({str(each[key]) for each in settings}) > 1]
    by_system = len(set(zip(labels, kernels, strict=True))) == len(set(labels))
    if differing:
        on_purpose = all(_on_purpose(key, results) for key in differing)
    else:
        on_purpose = Environment().kernels not in kernels
    if condition.holds or not (by_system and on_purpose):
        return condition
    return replace(condition, holds=True, by_design=True)


def _code_version(result: Result) -> str | None:
    """Return the code versions without the user's own classes, in which variants differ."""
    trained, tested = (
        None if version is None else version.partition("+")[0]
        for version in (result.code, result.testing_code)
    )
    if trained and tested and trained != tested:
        return f"{trained} (trained) and {tested} (tested)"
    return trained or tested


def check_settings(
    labels: Sequence[str], results: Sequence[Result], tuned: Collection[str] = ()
) -> list[Condition]:
    """Check the settings of all conditions; ``tuned`` are the keys that studies have chosen.

    Settings that decide results, besides ``ORACLE``, are equal in a fair comparison. Another
    setting differs by design if every run's command gives it (the lists of a multirun), if files
    of ``conf/model`` set it and no run's command does, or if studies have chosen it.
    """
    checked = []
    for name in (*FOR_RESULTS, *FOR_TRAINING):
        free = name in FOR_TRAINING
        values = [_compared_settings(name, result) for result in results]
        shown = [_in_one_line(name, each) or ("none" if free else None) for each in values]
        condition = check_equal(name, labels, shown)
        differing = _differing(values)
        by_design = (
            bool(differing)
            and (free or differing == {ORACLE})
            and all(key in tuned or _on_purpose(key, results) for key in sorted(differing))
        )
        checked.append(replace(condition, holds=True, by_design=True) if by_design else condition)
    return checked


def _compared_settings(condition: str, result: Result) -> dict[str, Any]:
    """Return the settings of a run that a condition compares, by dotted key, without nulls."""
    decoding = {key: value for key, value in result.decoding.items() if key not in MEASUREMENTS}
    config = flatten(result.config | {"decoding": decoding})
    for side in ("source", "target"):  # null is what the language needs
        key = f"scoring.tokenize.{side}"
        if key in config:
            config[key] = config[key] or usual_tokenizer(getattr(result.data, side))
    return {
        key: value
        for key, value in sorted(config.items())
        if value is not None
        and (setting := setting_of(key))
        and setting.condition == condition
        and key.rpartition(".")[2] not in WITHOUT_EFFECT
    }


def _in_one_line(condition: str, values: Mapping[str, Any]) -> str | None:
    """Return values in one line, of switches those that are on; None without values."""
    if len(_settings(condition)) == 1:
        return next(map(str, values.values()), None)
    parts = []
    for key, value in values.items():
        name = key.rpartition(".")[2]
        if OF_CANDIDATES.match(key):  # which has the same settings
            name = f"candidates.{name}"
        if name.endswith("_target_"):
            parts.append(name.replace("_target_", str(value).rpartition(".")[2]))
        elif not isinstance(value, bool):
            parts.append(f"{name} {value}")
        elif value:
            parts.append(name)
    return ", ".join(parts) or None


@cache
def _settings(condition: str) -> list[str]:
    return [
        key for key, each in settings().items() if each.condition == condition and not each.is_group
    ]


def _differing(values: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the settings in which runs differ."""
    return {
        key for key in set().union(*values) if len({str(of_run.get(key)) for of_run in values}) > 1
    }


def _on_purpose(key: str, results: Sequence[Result]) -> bool:
    # A command gives a setting itself or by the choice of its group.
    given = [
        any(f"{key}.".startswith(f"{key_of(each)}.") for each in result.overrides)
        for result in results
    ]
    return all(given) or (not any(given) and key in _set_by_models())


@cache
def _set_by_models() -> frozenset[str]:
    """Return the settings that files of ``conf/model`` set."""
    return frozenset(key for file in group_files() if file.group == "model" for key in file.values)


class StudyCost(NamedTuple):
    """What a study has cost."""

    study: str
    trials: int
    spent: float  # in the unit of the trials' budget


def not_tuned() -> Condition:
    """Return what is known of the effort of tuning without studies."""
    text = (
        "no search: learning rates and other settings are those of conf/model and of the command, "
        "chosen by hand; how many values were tried for each system is not recorded"
    )
    return Condition("tuning", True, text, unknown=True)


def equally_tuned(costs: Sequence[StudyCost], kind: str) -> Condition:
    """Check that every study had as many trials and spent as much."""
    spent = [cost.spent for cost in costs]
    budget = find_kind(kind)
    tolerance = BATCH_TOLERANCE if budget.unequally_long else 0.0
    equal = len({cost.trials for cost in costs}) == 1
    holds = equal and max(spent) <= (1 + tolerance) * min(spent)
    amounts = [f"{cost.trials} trials, {cost.spent:,.9g} {budget.unit}" for cost in costs]
    if holds and len(set(amounts)) == 1:
        return Condition("tuning", True, f"{amounts[0]} for each system")
    each = "; ".join(f"{cost.study}: {amount}" for cost, amount in zip(costs, amounts, strict=True))
    return Condition("tuning", holds, each)
