"""Accuracy of words by group: by frequency in training, by case, or by a given label.

After compare-mt (Neubig et al. 2019). Words are counted for each sentence, so that the counts of a
test set, of some of its sentences or of a bootstrap resample are a sum over rows.
"""

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from lightning_modules.metrics.metric import check_aligned
from lightning_modules.metrics.word_alignment import Pair

FREQUENCY_GROUPS = ("0", "1", "2", "3", "4", "5–9", "10–99", "100–999", "1000+")
"""Occurrences in the training text, as compare-mt groups them."""
CASE_GROUPS = ("lower", "Capitalised", "ALL CAPS", "other")

_FREQUENCY_EDGES = (1, 2, 3, 4, 5, 10, 100, 1000)
_TOKENIZER = Tokenizer13a()


@dataclass(frozen=True)
class GroupedWords:
    """Sentences with a group for every word: ``names[groups[n][i]]`` for word ``i`` of ``n``."""

    sentences: Sequence[Sequence[str]]
    groups: Sequence[Sequence[int]]
    names: tuple[str, ...]


def tokens(lines: Iterable[str]) -> list[list[str]]:
    """Return the tokens of each line as sacreBLEU's BLEU cuts them by default (tokeniser 13a)."""
    return [_TOKENIZER(line.rstrip()).split() for line in lines]


def frequency_group(count: int) -> str:
    """Return the entry of ``FREQUENCY_GROUPS`` for a word that occurs ``count`` times."""
    return FREQUENCY_GROUPS[bisect_right(_FREQUENCY_EDGES, count)]


@cache
def case_group(word: str) -> str:
    """Return the entry of ``CASE_GROUPS`` for a word, by its letters that have case.

    A single capital, as in ``A``, is ``Capitalised``: the word need not be written in capitals.
    ``other`` words have no letters with case (digits, punctuation, 語), or begin lower-case and
    have capitals later (``iPhone``).
    """
    letters = [letter for letter in word if letter.islower() or letter.istitle()]
    lower = [letter.islower() for letter in letters]
    if not letters or (lower[0] and not all(lower)):
        return "other"
    if lower[0]:
        return "lower"
    return "ALL CAPS" if len(letters) > 1 and not any(lower) else "Capitalised"


def group_by_frequency(
    sentences: Sequence[Sequence[str]], counts: Mapping[str, int]
) -> GroupedWords:
    """Group words by how often they occur in the training text, as ``counts`` says."""
    labels = [[frequency_group(counts.get(word, 0)) for word in words] for words in sentences]
    return group_by_label(sentences, labels, FREQUENCY_GROUPS)


def group_by_case(sentences: Sequence[Sequence[str]]) -> GroupedWords:
    """Group words by their capital letters."""
    labels = [[case_group(word) for word in words] for words in sentences]
    return group_by_label(sentences, labels, CASE_GROUPS)


def group_by_label(
    sentences: Sequence[Sequence[str]], labels: Sequence[Sequence[str]], names: Sequence[str]
) -> GroupedWords:
    """Group words by the label given for each, a part of speech for example.

    ``names`` are the labels in the order of the groups; ``label_names`` returns such names. Raises
    ``ValueError``, with the sentence counted from 1, unless each word has one known label.
    """
    check_aligned(sentences=sentences, labels=labels)
    index = {name: group for group, name in enumerate(names)}
    for number, (words, word_labels) in enumerate(zip(sentences, labels, strict=True), start=1):
        if len(words) != len(word_labels):
            raise ValueError(f"sentence {number}: {len(word_labels)} labels for {len(words)} words")
        if unknown := [label for label in word_labels if label not in index]:
            raise ValueError(f"sentence {number}: unknown label {unknown[0]!r}")
    groups = [[index[label] for label in word_labels] for word_labels in labels]
    return GroupedWords(sentences, groups, tuple(names))


def label_names(*labels: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return all labels that occur in the given texts, sorted."""
    return tuple(sorted({label for text in labels for sentence in text for label in sentence}))


def word_accuracy(references: GroupedWords, hypotheses: GroupedWords) -> NDArray[np.int64]:
    """Count the matched words of each group: ``(sentences, groups, 3)``.

    The columns are: matched, in the hypothesis, in the reference. The first of equal words in a
    hypothesis matches the first in its reference, the second the second, and so on. A matched word
    counts for the group of its reference word even where the hypothesis labels it otherwise, so
    that no group has more matches than words.

    Raises ``ValueError`` for lists of unequal length or different groups.
    """
    check_aligned(references=references.sentences, hypotheses=hypotheses.sentences)
    if references.names != hypotheses.names:
        raise ValueError(
            f"references have groups {references.names}, hypotheses {hypotheses.names}: "
            "group both alike"
        )
    width = len(references.names)
    counts = np.zeros((len(references.sentences), width, 3), dtype=np.int64)
    for row, reference, hypothesis, reference_groups, hypothesis_groups in zip(
        counts,
        references.sentences,
        hypotheses.sentences,
        references.groups,
        hypotheses.groups,
        strict=True,
    ):
        partners = _partners(reference, hypothesis)
        matched = _histogram([reference_groups[partner] for partner in partners.values()], width)
        wrong = [group for place, group in enumerate(hypothesis_groups) if place not in partners]
        row[:, 0] = matched
        row[:, 1] = matched + _histogram(wrong, width)
        row[:, 2] = _histogram(reference_groups, width)
    return counts


def _partners(reference: Sequence[str], hypothesis: Sequence[str]) -> dict[int, int]:
    """Map each matched position in the hypothesis to the position of its word in the reference."""
    places: defaultdict[str, deque[int]] = defaultdict(deque)
    for place, word in enumerate(reference):
        places[word].append(place)
    return {place: places[word].popleft() for place, word in enumerate(hypothesis) if places[word]}


def _histogram(groups: Sequence[int], width: int) -> NDArray[np.int64]:
    return np.bincount(np.asarray(groups, dtype=np.int64), minlength=width)


def precision_recall_f1(sums: NDArray[np.integer] | NDArray[np.floating]) -> NDArray[np.float64]:
    """Return precision, recall and F1 ``(…, 3)``, 0 to 100, of ``word_accuracy`` sums ``(…, 3)``.

    NaN instead of a division by 0: precision of a group without words in the hypotheses, recall of
    a group without words in the references, F1 of a group without words in either.
    """
    matched, hypothesis, reference = np.moveaxis(np.asarray(sums, dtype=np.float64), -1, 0)
    words = np.stack([hypothesis, reference, (hypothesis + reference) / 2], axis=-1)
    undefined = np.full_like(words, np.nan)
    return np.divide(100 * matched[..., None], words, out=undefined, where=words > 0)


def source_recall(
    sources: GroupedWords,
    references: Sequence[Sequence[str]],
    hypotheses: Sequence[Sequence[str]],
    alignments: Sequence[Sequence[Pair]],
) -> NDArray[np.int64]:
    """Count the translated source words of each group: ``(sentences, groups, 2)``.

    The columns are: recalled links, links. ``alignments`` links source words to words of the
    references; a link is recalled when its reference word is matched as in ``word_accuracy``.
    A link given twice counts once. A source word without links does not count (compare-mt counts
    it as wrong).

    Raises ``ValueError`` for lists of unequal length and, with the sentence counted from 1, for a
    link that points past its sentence.
    """
    check_aligned(
        sources=sources.sentences,
        references=references,
        hypotheses=hypotheses,
        alignments=alignments,
    )
    counts = np.zeros((len(sources.sentences), len(sources.names), 2), dtype=np.int64)
    for number, links in enumerate(alignments):
        words, reference = len(sources.sentences[number]), references[number]
        recalled = set(_partners(reference, hypotheses[number]).values())
        for source, target in sorted(set(links)):
            if not (0 <= source < words and 0 <= target < len(reference)):
                raise ValueError(
                    f"sentence {number + 1}: link {source}-{target} points past "
                    f"{words} source and {len(reference)} reference words, counted from 0"
                )
            counts[number, sources.groups[number][source]] += (target in recalled, 1)
    return counts
