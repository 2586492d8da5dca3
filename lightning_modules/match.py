"""What a variant's size is to match: the group ``match`` of the configuration."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

Measure = Literal["parameters", "flops"]
MEASURES: dict[Measure, str] = {
    "parameters": "trained parameters",
    "flops": "FLOPs a target token",
}


class Found(BaseModel, extra="forbid"):
    """Counts of the measure."""

    own: float
    other: float
    """Of the variant that was to be matched."""

    @property
    def apart(self) -> float:
        """By which part of the other's the own is larger."""
        return self.own / self.other - 1


class Match(BaseModel, extra="forbid"):
    """As large as which variant, by what."""

    by: Measure | None
    variant: str
    """A file of ``conf/model``."""
    tolerance: Annotated[float, Field(gt=0, lt=1)]
    """Part of the other's count."""
    found: Found | None = None
    """What came of it."""
