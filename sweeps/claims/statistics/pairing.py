"""Systems that are one training read in several ways, such as with beams of several sizes.

Their seeds are the same trainings, so that what a seed adds to all of them is no noise of their
differences: each difference is computed within its seed, and takes the place of a system.
"""

from collections.abc import Sequence

import numpy as np

from sweeps.claims.statistics.differences import Differences
from sweeps.claims.statistics.draws import Values
from sweeps.claims.statistics.intervals import Spread


def paired(values: Sequence[Values], differences: Differences) -> tuple[list[Values], Differences]:
    """Return each difference as a system of its own, and the differences of these systems.

    ``values`` are those of systems with the same trainings, in the same order of seeds.
    """
    systems = differences.weights.shape[-1]
    weights = differences.weights.reshape(-1, systems)
    observed, resampled = (
        np.einsum("ds,s...->d...", weights, np.stack(parts)) for parts in zip(*values, strict=True)
    )
    return list(map(Values, observed, resampled)), _each_alone(differences)


def paired_spread(spread: Spread, differences: Differences) -> tuple[Spread, Differences]:
    """Return the same of assumed variances: what a seed adds to all systems, no difference has.

    The differences must be of systems with each other, so that their weights sum to 0.
    """
    weights = differences.weights.reshape(-1, len(spread.means))
    both = weights**2 @ spread.both
    of_differences = Spread(
        means=weights @ spread.means,
        seeds=np.full(len(weights), spread.seeds.min()),
        between_seeds=both,
        both=both,
        sentences=weights @ spread.sentences @ weights.T,
    )
    return of_differences, _each_alone(differences)


def _each_alone(differences: Differences) -> Differences:
    """Return the differences where each of them has become a system."""
    rows, columns, _ = differences.weights.shape
    own = np.eye(rows * columns).reshape(rows, columns, -1)
    return Differences(own, differences.reference)
