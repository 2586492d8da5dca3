"""``${scaled:N}`` in ``conf/model``: a width of the paper times the ``scale`` of a run.

``${scaled_freely:N}`` is for a width on which no other width depends: times ``fine_scale`` too.
"""

import math
from typing import Literal

from omegaconf import DictConfig, OmegaConf
from pydantic import BaseModel

from datamodules.errors import UserError


def scaled(width: int, multiple: int = 2, *, _root_: DictConfig) -> int:
    """Return ``width × scale``, rounded to a multiple (of heads, or directions), at least one."""
    return _rounded(width * _factor(_root_, "scale"), multiple)


def scaled_freely(width: int, *, _root_: DictConfig) -> int:
    """Return ``width × scale × fine_scale``, rounded to a multiple of two."""
    return _rounded(width * _factor(_root_, "scale") * _factor(_root_, "fine_scale"), 2)


def _factor(config: DictConfig, name: str) -> float:
    factor = config[name]
    if not isinstance(factor, int | float) or not 0 < factor < math.inf:
        raise UserError(f"{name}={factor}: must be a positive number, such as {name}=0.5")
    return factor


def _rounded(width: float, multiple: int) -> int:
    return max(1, round(width / multiple)) * multiple


for resolver in (scaled, scaled_freely):
    OmegaConf.register_new_resolver(resolver.__name__, resolver, replace=True)


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
    tolerance: float
    """Largest relative difference."""
    found: SizeMatch | None = None
    """The counts that the search ended with."""
