"""The budget of a training: the group ``budget`` of the configuration."""

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from omegaconf import DictConfig
from pydantic import BaseModel, Field, PositiveInt, TypeAdapter, ValidationError, model_validator
from typing_extensions import override

from datamodules.errors import UserError, first_mistake, validated
from datamodules.plugs import find_plug, make_plug

if TYPE_CHECKING:  # torch and Lightning take seconds, and a report needs neither
    from datamodules.batching import EncodedPairs
    from datamodules.translation_data import TranslationData
    from lightning_modules.training.flops import Flops

log = logging.getLogger(__name__)

Cost = dict[str, float]  # amounts spent, by kind of budget
Amount = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Update(NamedTuple):
    """An update, as a budget counts it: equal on all ranks, except for the seconds."""

    ids: NDArray[np.int64]  # `(update,)`: rows of `pairs` that the update was trained on
    pairs: "EncodedPairs"  # all training sentences, in tokens without EOS and without BPE dropout
    target_tokens: int  # number of real target tokens, EOS counted
    flops: float  # FLOPs of matrix products, forward and backward, padding left out
    seconds: float  # seconds of the update, validation left out


class BudgetKind(ABC):
    """What a training may spend, and how much of it an update costs."""

    amount_type: ClassVar[Any] = Amount  # type of the amount, for pydantic, such as `PositiveInt`
    exact: ClassVar[bool] = False
    """Whether a training spends exactly the amount; else the last update may exceed it."""
    unequally_long: ClassVar[bool] = False
    """Whether trainings of different variants end after different updates."""
    equal_on_ranks: ClassVar[bool] = False
    """Whether all ranks count the same, so that the ranks need not agree on the end."""

    @property
    @abstractmethod
    def unit(self) -> str:
        """Unit of the amount in words, in the plural."""

    @abstractmethod
    def cost(self, update: Update) -> float:
        """Return how much of the budget an update costs: a finite number, not below 0."""

    def updates(self, amount: float, data: "TranslationData", flops: "Flops") -> int | None:
        """Return how many updates an amount makes; None for a kind that cannot tell."""
        return None


class TargetTokens(BudgetKind):
    """Real target tokens, EOS counted."""

    amount_type = PositiveInt
    equal_on_ranks = True
    unit = "target tokens"

    @override
    def cost(self, update: Update) -> float:
        return update.target_tokens

    @override
    def updates(self, amount: float, data: "TranslationData", flops: "Flops") -> int:
        return data.updates(int(amount))


class Updates(BudgetKind):
    """Optimizer steps."""

    amount_type = PositiveInt
    exact = True
    equal_on_ranks = True
    unit = "updates"

    @override
    def cost(self, update: Update) -> float:
        return 1

    @override
    def updates(self, amount: float, data: "TranslationData", flops: "Flops") -> int:
        return int(amount)


class FloatingPointOperations(BudgetKind):
    """FLOPs, forward and backward; see ``lightning_modules.training.flops``."""

    unequally_long = True
    equal_on_ranks = True
    unit = "FLOPs"

    @override
    def cost(self, update: Update) -> float:
        return update.flops

    @override
    def updates(self, amount: float, data: "TranslationData", flops: "Flops") -> int:
        return data.updates(math.ceil(amount / flops.per_target_token(data.training_pairs)))


class Seconds(BudgetKind):
    """Seconds of training, validation left out."""

    unequally_long = True
    unit = "seconds"

    @override
    def cost(self, update: Update) -> float:
        return update.seconds


KINDS: dict[str, type[BudgetKind]] = {
    "target_tokens": TargetTokens,
    "updates": Updates,
    "flops": FloatingPointOperations,
    "seconds": Seconds,
}
"""Kinds of the harness, by name."""


def find_kind(name: str) -> BudgetKind:
    """Return a kind of budget by name or dotted path. Raises ``UserError`` if there is none."""
    return make_plug("budget.kind", name, find_plug("budget.kind", name, KINDS, BudgetKind))


class Budget(BaseModel, extra="forbid"):
    """An amount of one kind of cost, after which training ends.

    Written ``{KIND: amount}`` for a kind of the harness, or ``{kind: …, amount: …}`` for any kind.
    With ``plateau``, training may end before: see ``training.learning_curve``.
    """

    kind: str  # a name of `KINDS`, or the dotted path of a `BudgetKind` class
    amount: float  # the amount, in the unit of the kind
    plateau: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Share of the validation loss that a doubling of the target tokens must take off."""
    rungs: list[float] = []  # smaller amounts at which the training is tested too
    rung_checkpoints: bool = True  # whether runs at these amounts keep their checkpoints

    @model_validator(mode="before")
    @classmethod
    def _of_one_kind(cls, given: Any) -> Any:
        """Read both ways to write a budget. Raises ``UserError`` for a wrong kind or amount."""
        keys = [key for key in (*KINDS, "kind") if key in given]
        if len(keys) != 1 or given[keys[0]] is None:
            kinds = ", ".join(KINDS)
            raise ValueError(f"give an amount of one kind; budget=KIND chooses it, of {kinds}")
        [key] = keys
        rest = {name: value for name, value in given.items() if name != key}
        kind = given["kind"] if key == "kind" else key
        written = "amount" if key == "kind" else key
        amount = rest.pop("amount", None) if key == "kind" else given[key]
        try:
            amount = TypeAdapter(find_kind(str(kind)).amount_type).validate_python(amount)
        except ValidationError as error:
            raise UserError(first_mistake(error, "budget", written)) from None
        return {"kind": str(kind), "amount": amount, **rest}


def read_budget(config: DictConfig) -> Budget:
    """Return the budget of a configuration. Raises ``UserError``."""
    return validated(Budget, config.budget, "budget")


def total(costs: Sequence[Cost]) -> Cost:
    """Return the sum of costs, by kind."""
    kinds = dict.fromkeys([*KINDS, *chain.from_iterable(costs)])
    return {kind: sum(cost.get(kind, 0) for cost in costs) for kind in kinds}


def kind_of(config: Mapping[str, Any]) -> str:
    """Return the kind of budget of a recorded configuration; target tokens without a budget."""
    recorded = config.get("budget") or {}
    known = next((kind for kind in KINDS if kind in recorded), "target_tokens")
    return str(recorded.get("kind", known))


def plateau_of(config: Mapping[str, Any]) -> float | None:
    """Return ``budget.plateau`` of a recorded configuration; None without."""
    plateau: float | None = (config.get("budget") or {}).get("plateau")
    return plateau


FIRST_BUDGETS = ((15_000, 1_000_000), (30_000, 1_500_000), (170_000, 4_000_000))
"""Training pairs of a corpus, and the target tokens of a first training on it, both rising.

Lower bounds, since losses still fell there: the built-in corpus (docs/findings/quickstart.md), and
30,000 and all pairs of a corpus of law (docs/findings/starts.md), whose systems with attention had
begun to translate. tests/tools/benchmarks/first_budgets.py finds where losses fall no more.
"""


def first_budget(pairs: int) -> int:
    """Return the target tokens of a first training on so many pairs, to two digits.

    Between the points of ``FIRST_BUDGETS``, the logarithm of the tokens is linear in that of the
    pairs; beyond them, the line through the two nearest points continues.
    """
    points = np.log(FIRST_BUDGETS)
    place = int(np.clip(np.searchsorted(points[:, 0], np.log(pairs)), 1, len(points) - 1))
    (low_pairs, low), (high_pairs, high) = points[place - 1 : place + 1]
    slope = (high - low) / (high_pairs - low_pairs)
    tokens = math.exp(low + slope * (math.log(pairs) - low_pairs))
    return int(float(f"{tokens:.2g}"))


def is_open(config: DictConfig) -> bool:
    """Whether the corpus, which is not read yet, has to say how many target tokens to train on."""
    return "target_tokens" in config.budget and config.budget.target_tokens is None


def fill_budget(config: DictConfig, data: "TranslationData") -> None:
    """Set an open budget to the first budget of the corpus, and log it."""
    if is_open(config):
        pairs = len(data.encoded_corpus.encoded["train"])
        config.budget.target_tokens = first_budget(pairs)
        line = "budget.target_tokens=%s: the first budget for %s training pairs"
        log.info(line, config.budget.target_tokens, f"{pairs:,}")
