"""Parameters as NumPy arrays."""

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
