"""``${scaled:N}`` in ``conf/model``: a width of the paper times the one ``scale`` of a run."""

import math

from omegaconf import DictConfig, OmegaConf

from datamodules.errors import UserError


def scaled(width: int, multiple: int = 2, *, _root_: DictConfig) -> int:
    """Return ``width × scale``, rounded to a multiple (of heads, or directions), at least one."""
    scale = _root_.scale
    if not isinstance(scale, int | float) or not 0 < scale < math.inf:
        raise UserError(f"scale={scale}: must be a positive number, such as scale=0.5")
    return max(1, round(width * scale / multiple)) * multiple


OmegaConf.register_new_resolver("scaled", scaled, replace=True)
