"""Pairs that come twice in a large corpus, by 64-bit digests in bounded memory."""

import hashlib
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

AT_ONCE = 2**23
"""Digests that are sorted at once."""
Digests = NDArray[np.uint64]


def pair_digests(source: Sequence[str], target: Sequence[str]) -> Digests:
    """Return a 64-bit digest of each pair.

    Among 100 million different pairs, two have the same digest with probability 0.0003.
    """
    digests = b"".join(
        hashlib.blake2b(f"{s}\n{t}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
        for s, t in zip(source, target, strict=True)
    )
    return np.frombuffer(digests, np.uint64)


def first_occurrences(parts: Iterable[Digests]) -> list[NDArray[np.bool_]]:
    """Return, for each part, which digests come in no earlier place.

    The parts are iterated several times. If each iteration reads them from a disk, about
    ``AT_ONCE`` digests are in memory at a time.
    """
    first = [np.zeros(len(part), np.bool_) for part in parts]
    ranges = max(1, -(-sum(map(len, first)) // AT_ONCE))
    bounds = [number * 2**64 // ranges for number in range(ranges)] + [2**64 - 1]
    for low, high in pairwise(bounds):
        end = np.less_equal if high == bounds[-1] else np.less
        places, chosen = [], []
        for part in parts:
            at = np.flatnonzero((part >= np.uint64(low)) & end(part, np.uint64(high)))
            places.append(at)
            chosen.append(part[at])
        found = np.concatenate(chosen)
        kept = np.zeros(len(found), np.bool_)
        kept[np.unique(found, return_index=True)[1]] = True
        ends = np.cumsum(list(map(len, places)))[:-1]
        for mask, at, mine in zip(first, places, np.split(kept, ends), strict=True):
            mask[at] = mine
    return first
