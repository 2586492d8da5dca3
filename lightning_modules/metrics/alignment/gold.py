"""Gold word alignments with sure and possible links, and the error of predicted alignments.

Och and Ney 2003 (Computational Linguistics 29:1), section 5.1: with predicted links A, sure links S
and possible links P ⊇ S, precision is ``|A∩P| / |A|``, recall ``|A∩S| / |S|``, and the alignment
error rate ``1 - (|A∩S| + |A∩P|) / (|A| + |S|)``.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from lightning_modules.metrics.alignment.word_alignment import Pair, parse_pharaoh
from lightning_modules.metrics.words.shared_words import shared_words

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
