"""The variant that another variant is sized to match: the group ``match`` of the configuration."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

Measure = Literal["parameters", "flops"]
MEASURES: dict[Measure, str] = {"parameters": "trained parameters", "flops": "FLOPs a target token"}


class SizeMatch(BaseModel, extra="forbid"):
    """Counts of the measure for two variants."""

    own: float
    """Count of the variant that was sized."""
    other: float
    """Count of the variant to match."""

    @property
    def apart(self) -> float:
        """Relative difference of the two counts."""
        return self.own / self.other - 1


class Match(BaseModel, extra="forbid"):
    """The measure, the variant to match, and the tolerance."""

    by: Measure | None
    variant: str
    """Name of a file of ``conf/model``."""
    tolerance: Annotated[float, Field(gt=0, lt=1)]
    """Largest relative difference."""
    found: SizeMatch | None = None
    """The counts that the search ended with."""
