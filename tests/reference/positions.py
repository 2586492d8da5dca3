"""Biases of energies by the distance between query i and key j, one pair at a time."""

import math


def bucket(i: int, j: int, buckets: int, most: int, causal: bool) -> int:
    """Raffel et al. 2020, section 2.1: exact distances, then logarithmic ranges up to ``most``."""
    before = 0
    if not causal:
        buckets //= 2
        before = buckets if j > i else 0
    distance = abs(i - j)
    exact = buckets // 2
    if distance < exact:
        return before + distance
    ratio = math.log(distance / exact) / math.log(most / exact)
    # Logarithms of exact powers are a little off whole numbers.
    return before + min(buckets - 1, exact + math.floor(ratio * (buckets - exact) + 1e-9))


def slopes(heads: int) -> list[float]:
    """Press et al. 2022, section 3: a geometric sequence from 2^(-8/n); the authors' extension."""
    start = 2 ** (-8 / heads)
    if math.log2(heads).is_integer():
        return [start ** (head + 1) for head in range(heads)]
    closest = 2 ** math.floor(math.log2(heads))
    return slopes(closest) + slopes(2 * closest)[0::2][: heads - closest]
