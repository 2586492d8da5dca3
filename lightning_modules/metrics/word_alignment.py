"""Word alignments: from attention weights, in Pharaoh format, by annotators, and their error.

Och and Ney 2003 (Computational Linguistics 29:1), section 5.1: with predicted links A, sure links S
and possible links P ⊇ S, precision is ``|A∩P| / |A|``, recall ``|A∩S| / |S|``, and the alignment
error rate ``1 - (|A∩S| + |A∩P|) / (|A| + |S|)``.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from datamodules.corpus import ParallelText
from datamodules.phrase_table import read_links

Pair = tuple[int, int]  # source word and target word, both counted from 0
Counts = NDArray[Any]

_LINK = re.compile(r"([0-9]+)([-?])([0-9]+)")
_NUMBERED = re.compile(
    r"(?P<sentence>[0-9]+)\s+(?P<source>[0-9]+|NULL)\s+(?P<target>[0-9]+|NULL)"
    r"(\s+(?P<kind>[SP]))?(\s+[0-9.]+)?"
)


def shared_words(reference: Sequence[str], translation: Sequence[str]) -> dict[int, int]:
    """Return the place in the translation of each shared word, by its place in the reference.

    These are the matching blocks of Ratcliff and Obershelp, as in ``difflib``.
    """
    matcher = SequenceMatcher(None, reference, translation, autojunk=False)
    return {
        block.a + place: block.b + place
        for block in matcher.get_matching_blocks()
        for place in range(block.size)
    }


def word_weights(
    weights: NDArray[np.floating], src_words: Sequence[int], tgt_words: Sequence[int]
) -> NDArray[np.float64]:
    """Merge weights ``(…, tgt tokens, src tokens)`` of subwords to ``(…, tgt words, src words)``.

    ``src_words[i]`` is the word of source token ``i``, or ``-1`` for a special token, whose weight
    is dropped; ``tgt_words[j]`` is the word of target token ``j`` in the same way. Attention *to* a
    word is the sum over its pieces, attention *from* a word the mean over its pieces, so that a row
    still sums to at most 1 (Clark et al. 2019). The weights of a word without pieces are 0.
    """
    from_target = _membership(tgt_words)
    pieces = from_target.sum(axis=1, keepdims=True)
    averaged = (from_target / np.maximum(pieces, 1)) @ np.asarray(weights, dtype=np.float64)
    return averaged @ _membership(src_words).T


def _membership(words: Sequence[int]) -> NDArray[np.float64]:
    """Return a matrix ``(words, tokens)`` that is 1 where the token is a piece of the word."""
    index = np.asarray(words, dtype=np.int64)
    count = int(index.max(initial=-1)) + 1
    return (index == np.arange(count)[:, None]).astype(np.float64)


def hard_alignment(weights: NDArray[np.floating]) -> list[Pair]:
    """Link each target word to its source word of highest weight ``(tgt words, src words)``.

    The first of equal weights wins. A target word whose weights are all 0 stays unaligned.
    """
    return [(int(row.argmax()), j) for j, row in enumerate(np.asarray(weights)) if row.any()]


def format_pharaoh(pairs: Iterable[Pair]) -> str:
    """Return pairs as ``0-0 1-2``, sorted, source word first."""
    return " ".join(f"{source}-{target}" for source, target in sorted(set(pairs)))


def format_soft_pharaoh(weights: NDArray[np.floating], at_least: float = 0.01) -> str:
    """Return weights ``(tgt words, src words)`` as ``0-0:0.93 1-0:0.05``: source-target:weight.

    Target words follow one another in order. Weights below ``at_least`` are left out.
    """
    weights = np.asarray(weights)
    return " ".join(
        f"{source}-{target}:{weights[target, source]:.4g}"
        for target, source in np.argwhere((weights >= at_least) & (weights > 0))
    )


class Gold(NamedTuple):
    """The links of one sentence pair as annotators drew them."""

    sure: frozenset[Pair]
    possible: frozenset[Pair]  # possible links, the sure links included

    @classmethod
    def of(cls, sure: Iterable[Pair], possible: Iterable[Pair] = ()) -> Self:
        """Make a gold alignment in which every sure link is also possible."""
        sure = frozenset(sure)
        return cls(sure, sure.union(possible))


def parse_gold(line: str) -> Gold:
    """Read a line like ``0-0 1?2``. Raises ``ValueError`` that names a wrong pair."""
    links: dict[str, set[Pair]] = {"-": set(), "?": set()}
    for piece in line.split():
        match = _LINK.fullmatch(piece)
        if match is None:
            raise ValueError(f"{piece!r} is no alignment pair: write source-target, like 0-0 1-2")
        links[match[2]].add((int(match[1]), int(match[3])))
    return Gold.of(links["-"], links["?"])


def read_gold(lines: Sequence[str], text: ParallelText) -> list[Gold]:
    """Read the gold alignments of a text, in the format of the first line that has links.

    - Pharaoh: a line for each sentence pair, ``i-j`` a sure link, ``i?j`` a possible link, source
      word first, counted from 0;
    - NAACL 2003 (Mihalcea and Pedersen 2003): a line for each link, ``sentence source target``
      counted from 1, then optionally ``S`` (the default) or ``P``, and a confidence, which is not
      read. A word numbered ``0`` or ``NULL`` has no link, nor has a sentence without lines.

    Raises ``ValueError``, with the number of the line, for a line that is no link, or a link past
    its sentence or to no sentence; in the Pharaoh format, also for another number of lines.
    """
    first = next((line.split()[0] for line in lines if line.strip()), "")
    if first.isdecimal():
        return _read_naacl(lines, text)
    if len(lines) != len(text):
        raise ValueError(
            f"{len(lines)} lines for {len(text)} sentence pairs: write one line for each, empty "
            "where nothing is linked"
        )
    read_links(replace(text, alignments=list(lines)))
    return [parse_gold(line) for line in lines]


def _read_naacl(lines: Sequence[str], text: ParallelText) -> list[Gold]:
    links: dict[str, defaultdict[int, set[Pair]]] = {kind: defaultdict(set) for kind in "SP"}
    for number, line in enumerate(map(str.strip, lines), start=1):
        match = _NUMBERED.fullmatch(line)
        if match is None:
            if not line:
                continue
            raise ValueError(
                f"line {number}: {line!r} is no link: write sentence, source word, target "
                "word, maybe S or P, like 1 3 2 S"
            )
        row = int(match["sentence"]) - 1
        if not 0 <= row < len(text):
            raise ValueError(
                f"line {number}: there is no sentence {row + 1}: the text has {len(text)}, "
                "counted from 1"
            )
        words = len(text.source[row].split()), len(text.target[row].split())
        source, target = (
            0 if match[side] == "NULL" else int(match[side]) for side in ("source", "target")
        )
        if source > words[0] or target > words[1]:
            raise ValueError(
                f"line {number}: {source} {target} points past its sentence pair ({words[0]} "
                f"source and {words[1]} target words, counted from 1)"
            )
        if source and target:
            links[match["kind"] or "S"][row].add((source - 1, target - 1))
    return [Gold.of(links["S"][row], links["P"][row]) for row in range(len(text))]


def links_of_translation(
    gold: Iterable[Pair], reference: Sequence[str], translation: Sequence[str]
) -> list[Pair]:
    """Return gold links to words of a reference as links to the same words of a translation.

    A link to a word that the translation does not share with the reference has no place there.
    """
    places = shared_words(reference, translation)
    return sorted((source, places[target]) for source, target in gold if target in places)


def alignment_statistics(
    predicted: Sequence[Collection[Pair]], gold: Sequence[Gold]
) -> NDArray[np.int64]:
    """Count ``|A∩S|, |A∩P|, |A|, |S|`` for each sentence: ``(sentences, 4)``.

    Counts of several sentences add up. Raises ``ValueError`` for unequal numbers of sentences.
    """
    counts = [
        (len(links & sure), len(links & possible), len(links), len(sure))
        for links, (sure, possible) in zip(map(set, predicted), gold, strict=True)
    ]
    return np.array(counts, dtype=np.int64).reshape(-1, 4)


def error_precision_recall(counts: Counts) -> NDArray[np.float64]:
    """Return error rate, precision and recall, 0 to 1, from summed counts: ``(…, 4) -> (3, …)``.

    NaN where there is nothing to divide by.
    """
    in_sure, in_possible, predicted, sure = np.moveaxis(np.asarray(counts, np.float64), -1, 0)
    parts = np.stack([in_sure + in_possible, in_possible, in_sure])
    wholes = np.stack([predicted + sure, predicted, sure])
    shares = np.divide(parts, wholes, out=np.full(parts.shape, np.nan), where=wholes != 0)
    shares[0] = 1 - shares[0]
    return shares


ATTENTION_VALUES = ("entropy", "distance", "coverage")
"""Names of the rows of ``attention_statistics``."""


def attention_statistics(weights: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return sum and count of entropy, distance and coverage, ``(3, 2)``, of one sentence.

    ``weights`` are ``(tgt words, src words)`` from ``word_weights``. For entropy and distance,
    target words whose weights are all 0 are left out, and the weights of each other target word are
    scaled to sum to 1.

    - entropy of each target word's weights, ``-Σ_i p_i ln p_i`` in nats, 0 (all weight on one
      source word) to ln S (equal weights on all S), over target words;
    - distance from the diagonal, ``Σ_i p_i |(i + ½)/S - (j + ½)/T|`` between the middles of the
      words as shares of their sentences, from 0 to less than 1, over target words;
    - coverage, ``min(1, Σ_j w_ij)``, 0 to 1, over source words: how much weight each source word
      receives, at most 1 (Wu et al. 2016, arXiv 1609.08144, eq. 14).
    """
    weights = np.asarray(weights, dtype=np.float64)
    sums = weights.sum(1)
    attending = sums > 0
    shares = weights[attending] / sums[attending, None]
    logarithms = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    target_places, source_places = [(np.arange(words) + 0.5) / words for words in weights.shape]
    distances = np.abs(target_places[attending, None] - source_places)
    covered = np.minimum(weights.sum(0), 1)
    return np.array(
        [
            (abs((shares * logarithms).sum()), attending.sum()),
            ((shares * distances).sum(), attending.sum()),
            (covered.sum(), len(covered)),
        ]
    )
