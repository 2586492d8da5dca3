"""Word alignments: from attention weights, in Pharaoh format, by annotators, and their error.

Och and Ney 2003 (Computational Linguistics 29:1), section 5.1: with predicted links A, sure links S
and possible links P ⊇ S, precision is ``|A∩P| / |A|``, recall ``|A∩S| / |S|``, and the alignment
error rate ``1 - (|A∩S| + |A∩P|) / (|A| + |S|)``.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from datamodules.errors import UserError
from datamodules.lines import read_lines


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


Pair = tuple[int, int]
"""Source word and target word, both counted from 0."""

_PAIR = re.compile(r"([0-9]+)-([0-9]+)")


def word_weights(
    weights: NDArray[np.floating], src_words: Sequence[int], tgt_words: Sequence[int]
) -> NDArray[np.float64]:
    """Merge weights ``(…, tgt tokens, src tokens)`` of subwords to ``(…, tgt words, src words)``.

    ``src_words[i]`` is the word of source token ``i``, or ``-1`` for a special token, whose weight
    is dropped; ``tgt_words[j]`` is the word of target token ``j`` in the same way. Attention *to* a
    word is the sum over its pieces, attention *from* a word the mean over its pieces, so that a row
    still sums to at most 1 (Clark et al. 2019). The weights of a word without pieces are 0.

    Raises ``ValueError`` when the shapes disagree or an index is below -1.
    """
    weights = np.asarray(weights, dtype=np.float64)
    expected = (len(tgt_words), len(src_words))
    if weights.shape[-2:] != expected:
        raise ValueError(f"weights have shape {weights.shape}, the tokens ask for {expected}")
    from_target = _membership(tgt_words)
    pieces = from_target.sum(axis=1, keepdims=True)
    return (from_target / np.maximum(pieces, 1)) @ weights @ _membership(src_words).T


def _membership(words: Sequence[int]) -> NDArray[np.float64]:
    """Return a matrix ``(words, tokens)`` that is 1 where the token is a piece of the word."""
    index = np.asarray(words, dtype=np.int64)
    if (index < -1).any():
        raise ValueError(f"word indices must be -1 or more, not {index.min()}")
    count = int(index.max(initial=-1)) + 1
    return (index == np.arange(count)[:, None]).astype(np.float64)


def hard_alignment(weights: NDArray[np.floating]) -> list[Pair]:
    """Link each target word to its source word of highest weight ``(tgt words, src words)``.

    The first of equal weights wins. A target word whose weights are all 0 stays unaligned.
    """
    return [(int(row.argmax()), j) for j, row in enumerate(np.asarray(weights)) if row.any()]


def format_pharaoh(pairs: Iterable[Pair]) -> str:
    """Return pairs as ``0-0 1-2``, sorted, source word first. Raises ``ValueError`` below 0."""
    ordered = sorted(set(pairs))
    if any(source < 0 or target < 0 for source, target in ordered):
        raise ValueError(f"word positions count from 0, not {ordered[0]}")
    return " ".join(f"{source}-{target}" for source, target in ordered)


def format_soft_pharaoh(weights: NDArray[np.floating], at_least: float = 0.01) -> str:
    """Return weights ``(tgt words, src words)`` as ``0-0:0.93 1-0:0.05``: source-target:weight.

    Target words follow one another in order. Weights below ``at_least`` are left out.
    """
    weights = np.asarray(weights)
    return " ".join(
        f"{source}-{target}:{weights[target, source]:.4g}"
        for target, source in np.argwhere((weights >= at_least) & (weights > 0))
    )


def parse_pharaoh(line: str) -> list[Pair]:
    """Read a line like ``0-0 1-2``. Raises ``ValueError`` that names a wrong pair."""
    pairs = []
    for piece in line.split():
        match = _PAIR.fullmatch(piece)
        if match is None:
            raise ValueError(f"{piece!r} is no alignment pair: write source-target, like 0-0 1-2")
        pairs.append((int(match[1]), int(match[2])))
    return pairs


Lengths = tuple[int, int]
"""Source words and target words of a sentence pair."""
Counts = NDArray[Any]

_POSSIBLE = re.compile(r"[0-9]+\?[0-9]+")
_NUMBERED = re.compile(
    r"(?P<sentence>[0-9]+)\s+(?P<source>[0-9]+|NULL)\s+(?P<target>[0-9]+|NULL)"
    r"(\s+(?P<kind>[SP]))?(\s+[0-9.]+)?"
)


class Gold(NamedTuple):
    """The links of one sentence pair as annotators drew them."""

    sure: frozenset[Pair]
    possible: frozenset[Pair]
    """Possible links, the sure links included."""

    @classmethod
    def of(cls, sure: Iterable[Pair], possible: Iterable[Pair] = ()) -> Self:
        """Make a gold alignment in which every sure link is also possible."""
        sure = frozenset(sure)
        return cls(sure, sure.union(possible))


def read_gold(lines: Sequence[str], lengths: Sequence[Lengths]) -> list[Gold]:
    """Read the gold alignments of a text, in the format of the first line that has links.

    - Pharaoh: a line for each sentence pair, ``i-j`` a sure link, ``i?j`` a possible link, source
      word first, counted from 0;
    - NAACL 2003 (Mihalcea and Pedersen 2003): a line for each link, ``sentence source target``
      counted from 1, then optionally ``S`` (the default) or ``P``, and a confidence, which is not
      read. A word numbered ``0`` or ``NULL`` has no link, nor has a sentence without lines.

    Args:
        lines: lines of the file.
        lengths: source words and target words of each sentence pair.

    Raises:
        ValueError: for a line that is no link, or a link past its sentence or to no sentence, with
            the number of the line; in the Pharaoh format, also for another number of lines.
    """
    first = next((line.split()[0] for line in lines if line.strip()), "")
    return (_read_naacl if first.isdecimal() else read_pharaoh)(lines, lengths)


def parse_gold(line: str) -> Gold:
    """Read a line like ``0-0 1?2``. Raises ``ValueError`` that names a wrong pair."""
    pieces = line.split()
    possible = [piece for piece in pieces if _POSSIBLE.fullmatch(piece)]
    sure = [piece for piece in pieces if piece not in possible]
    return Gold.of(
        parse_pharaoh(" ".join(sure)), parse_pharaoh(" ".join(possible).replace("?", "-"))
    )


def read_pharaoh(lines: Sequence[str], lengths: Sequence[Lengths]) -> list[Gold]:
    """Read the gold alignments of a text in the Pharaoh format; see ``read_gold``."""
    if len(lines) != len(lengths):
        raise ValueError(
            f"{len(lines)} lines for {len(lengths)} sentence pairs: write one line for each, empty "
            "where nothing is linked"
        )
    alignments = []
    for number, (line, words) in enumerate(zip(lines, lengths, strict=True), start=1):
        try:
            gold = parse_gold(line)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
        for source, target in sorted(gold.possible):
            if source >= words[0] or target >= words[1]:
                raise ValueError(f"line {number}: {source}-{target} {_past_the_end(words, 0)}")
        alignments.append(gold)
    return alignments


def _read_naacl(lines: Sequence[str], lengths: Sequence[Lengths]) -> list[Gold]:
    links: dict[str, defaultdict[int, set[Pair]]] = {kind: defaultdict(set) for kind in "SP"}
    for number, line in enumerate(lines, start=1):
        match = _NUMBERED.fullmatch(line.strip())
        if match is None:
            if not line.strip():
                continue
            raise ValueError(
                f"line {number}: {line.strip()!r} is no link: write sentence, source word, target "
                "word, maybe S or P, like 1 3 2 S"
            )
        sentence = int(match["sentence"])
        if not 1 <= sentence <= len(lengths):
            raise ValueError(
                f"line {number}: there is no sentence {sentence}: the text has {len(lengths)}, "
                "counted from 1"
            )
        words = lengths[sentence - 1]
        source, target = (
            0 if match[side] == "NULL" else int(match[side]) for side in ("source", "target")
        )
        if source > words[0] or target > words[1]:
            raise ValueError(f"line {number}: {source} {target} {_past_the_end(words, 1)}")
        if source and target:
            links[match["kind"] or "S"][sentence - 1].add((source - 1, target - 1))
    return [Gold.of(links["S"][row], links["P"][row]) for row in range(len(lengths))]


def _past_the_end(words: Lengths, first: int) -> str:
    return (
        f"points past its sentence pair ({words[0]} source and {words[1]} target words, counted "
        f"from {first})"
    )


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


def alignment_error_rate(counts: Counts) -> NDArray[np.float64]:
    """Return 0 to 1 from summed counts, ``(…, 4) -> (…)``; NaN without predicted or sure links."""
    in_sure, in_possible, predicted, sure = np.moveaxis(np.asarray(counts), -1, 0)
    return 1 - _ratio(in_sure + in_possible, predicted + sure)


def alignment_precision(counts: Counts) -> NDArray[np.float64]:
    """Return 0 to 1 from summed counts, ``(…, 4) -> (…)``; NaN without predicted links."""
    counts = np.asarray(counts)
    return _ratio(counts[..., 1], counts[..., 2])


def alignment_recall(counts: Counts) -> NDArray[np.float64]:
    """Return 0 to 1 from summed counts, ``(…, 4) -> (…)``; NaN without sure links."""
    counts = np.asarray(counts)
    return _ratio(counts[..., 0], counts[..., 3])


def _ratio(part: Counts, whole: Counts) -> NDArray[np.float64]:
    undefined = np.full(np.shape(whole), np.nan)
    return np.divide(part, whole, out=undefined, where=whole != 0)


class AttentionValues(NamedTuple):
    """Values described in ``attention_statistics``; NaN where nothing was counted."""

    entropy: float
    distance: float
    coverage: float


def attention_statistics(weights: NDArray[np.floating]) -> NDArray[np.float64]:
    """Sum up entropy, distance and coverage over the words of one sentence.

    For entropy and distance, target words whose weights are all 0 are left out, and the weights of
    each other target word are scaled to sum to 1.

    Args:
        weights: ``(tgt words, src words)`` from ``word_weights``, not negative.

    Returns:
        Rows of sum and count, ``(3, 2)``:

        - entropy of each target word's weights, ``-Σ_i p_i ln p_i`` in nats, 0 (all weight on one
          source word) to ln S (equal weights on all S), over target words;
        - distance from the diagonal, ``Σ_i p_i |(i + ½)/S - (j + ½)/T|`` between the middles of
          the words as shares of their sentences, from 0 to less than 1, over target words;
        - coverage, ``min(1, Σ_j w_ij)``, 0 to 1, over source words: how much weight each source
          word receives, at most 1 (Wu et al. 2016, arXiv 1609.08144, eq. 14).
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


def attention_values(sums: NDArray[np.floating]) -> AttentionValues:
    """Divide summed statistics ``(3, 2)`` by their counts."""
    totals, counts = np.asarray(sums, dtype=np.float64).T
    ratios = np.divide(totals, counts, out=np.full(3, np.nan), where=counts > 0)
    return AttentionValues(*ratios.tolist())


def pair_lengths(sources: Sequence[str], targets: Sequence[str]) -> list[Lengths]:
    """Return the number of words on both sides of each sentence pair."""
    pairs = zip(sources, targets, strict=True)
    return [(len(source.split()), len(target.split())) for source, target in pairs]


def read_gold_file(
    name: str, option: str, sources: Sequence[str], targets: Sequence[str]
) -> list[Gold]:
    """Read the gold alignments of sentence pairs. Raises ``UserError`` that names ``option``."""
    try:
        return read_gold(read_lines(name, option), pair_lengths(sources, targets))
    except ValueError as error:
        raise UserError(f"{option}={name}, {error}") from None
