"""Systems that are one training read in several ways, such as with beams of several sizes.

Their seeds are the same trainings, so that what a seed adds to all of them is no noise of their
differences: each difference is computed within its seed, and takes the place of a system.
"""

from collections.abc import Sequence

import numpy as np

from sweeps.claims.statistics.differences import Differences
from sweeps.claims.statistics.draws import Values


def paired(values: Sequence[Values], differences: Differences) -> tuple[list[Values], Differences]:
    """Return each difference as a system of its own, and the differences of these systems.

    ``values`` are those of systems with the same trainings, in the same order of seeds.
    """
    rows, columns, systems = differences.weights.shape
    weights = differences.weights.reshape(-1, systems)
    observed, resampled = (
        np.einsum("ds,s...->d...", weights, np.stack(parts)) for parts in zip(*values, strict=True)
    )
    own = np.eye(rows * columns).reshape(rows, columns, -1)
    return list(map(Values, observed, resampled)), Differences(own, differences.reference)
