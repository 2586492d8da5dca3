"""The budget of a training: the group ``budget`` of the configuration."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, PositiveInt, model_validator

Kind = Literal["target_tokens", "updates", "flops", "seconds"]
UNITS: dict[Kind, str] = {
    "target_tokens": "target tokens",
    "updates": "updates",
    "flops": "FLOPs",
    "seconds": "seconds",
}
UNEQUALLY_LONG: tuple[Kind, ...] = ("flops", "seconds")
"""Budgets that end trainings of different variants after different updates."""
Cost = dict[Kind, float]
"""Amounts spent, by kind of budget."""
Amount = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Budget(BaseModel, extra="forbid"):
    """An amount of one kind of cost, after which training ends."""

    target_tokens: PositiveInt | None = None
    """Number of real target tokens, EOS counted."""
    updates: PositiveInt | None = None
    flops: Amount | None = None
    """FLOPs, forward and backward; see ``lightning_modules.training.control.flops``."""
    seconds: Amount | None = None
    """Seconds of training, validation left out."""

    @model_validator(mode="before")
    @classmethod
    def _of_one_kind(cls, given: Any) -> Any:
        known = [kind for kind in UNITS if kind in given]
        if len(known) != 1 or given[known[0]] is None:
            kinds = ", ".join(UNITS)
            raise ValueError(f"give an amount of one kind; budget=KIND chooses it, of {kinds}")
        return given

    @property
    def kind(self) -> Kind:
        """The kind of the amount."""
        return next(kind for kind in UNITS if getattr(self, kind) is not None)

    @property
    def amount(self) -> float:
        """The amount, in the unit of its kind."""
        amount: float = getattr(self, self.kind)
        return amount


def total(costs: Sequence[Cost]) -> Cost:
    """Return the sum of costs, by kind."""
    return {kind: sum(cost.get(kind, 0) for cost in costs) for kind in UNITS}


def kind_of(config: Mapping[str, Any]) -> Kind:
    """Return the kind of budget of a recorded configuration; target tokens without a budget."""
    recorded = config.get("budget") or {}
    return next((kind for kind in UNITS if kind in recorded), "target_tokens")
