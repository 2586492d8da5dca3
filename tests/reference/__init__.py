"""The papers' equations in float64 NumPy: one sentence and one number at a time.

Nothing here imports torch or the code under test. Parameters come as a flat dictionary of arrays
under their names in a model's ``state_dict`` (``arrays``); settings as ``conf/model`` has them.
"""

from typing import Any

import numpy as np

Parameters = dict[str, np.ndarray]


def arrays(module: Any) -> Parameters:
    """Copy all parameters of a torch module; a tied table appears under each of its names."""
    return {
        name: value.detach().cpu().numpy().astype(np.float64)
        for name, value in module.state_dict().items()
    }


def part(parameters: Parameters, name: str) -> Parameters:
    """Return the parameters below ``name``, without the prefix."""
    prefix = f"{name}."
    return {
        key.removeprefix(prefix): value
        for key, value in parameters.items()
        if key.startswith(prefix)
    }


def affine(parameters: Parameters, name: str, x: np.ndarray) -> np.ndarray:
    """Return ``W x + b``, or ``W x`` for a layer without bias."""
    return parameters[f"{name}.weight"] @ x + parameters.get(f"{name}.bias", 0.0)
