"""``${scaled:N}`` in ``conf/model``: a width of the paper times the ``scale`` of a run.

``${scaled_freely:N}`` is for a width on which no other width depends: times ``fine_scale`` too.
"""

import math

from omegaconf import DictConfig, OmegaConf

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
