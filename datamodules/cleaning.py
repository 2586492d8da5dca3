"""Cleaning of a corpus: the same steps for every variant, each counted with examples."""

import hashlib
import re
import time
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from datamodules.corpus import ParallelText, examples_of
from datamodules.errors import UserError
from datamodules.words import lengths_in_words

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

SEPARATOR = "<\n"
"""Joins lines for Moses's rules. Only a rule for a quote after full stops looks past the end of a
line, and this rule stops at ``<``."""
CHECKED = 200  # pairs of a split that are checked for swapped languages
MOST_SWAPPED = 0.5  # share of these pairs that are swapped in a swapped corpus
AT_ONCE = 2**23  # digests that are sorted at once
FOREIGN = "another language"
Mask = NDArray[np.bool_]
Digests = NDArray[np.uint64]
Lines = Sequence[str]
Text = tuple[Lines, Lines]  # the lines of both sides


@dataclass(frozen=True)
class Cleaning:
    """Which steps clean the training text; instantiated from ``conf/cleaning``.

    The first two steps change lines, also the sources of validation and test and other text to
    translate. References stay as given, since scores must be comparable. All other steps leave
    training pairs out.
    """

    unicode: bool  # whether characters are composed (Unicode's normal form C)
    punctuation: bool  # whether punctuation becomes that of Moses's normaliser
    ratio: float | None  # most words of the longer side for each word of the shorter side
    copies: bool  # whether to leave out pairs whose target is the source
    language: float | None  # least probability of the right language on each side
    held_out: bool  # whether to leave out pairs with a side of validation or test
    duplicates: bool  # whether to leave out pairs that came before

    def lines(self, lines: Lines, language: str) -> list[str]:
        """Return lines of a language as the training text has such lines."""
        composed = compose(lines) if self.unicode else list(lines)
        return normalise_punctuation(composed, language) if self.punctuation else composed

    def text(self, text: ParallelText, language: str) -> ParallelText:
        """Return text of validation or test whose source, in ``language``, is cleaned.

        Raises ``UserError`` if gold alignments count words that cleaning joins or cuts.
        """
        if text.alignments is None:
            return replace(text, source=self.lines(text.source, language))
        return replace(text, source=self.aligned_lines(text.source, language))

    def aligned_lines(self, lines: Lines, language: str) -> list[str]:
        """Return ``lines``, whose words an alignment counts.

        Raises ``UserError`` if cleaning joins or cuts words.
        """
        cleaned = self.lines(lines, language)
        for number, (before, after) in enumerate(zip(lines, cleaned, strict=True), 1):
            if len(before.split()) != len(after.split()):
                raise UserError(
                    f"cleaning.punctuation=true changes the number of words of sentence {number}, "
                    f"whose words an alignment counts (“{before[:80]}” becomes “{after[:80]}”): "
                    "write the sentence so, or set cleaning.punctuation=false for the training"
                )
        return cleaned


@dataclass(frozen=True)
class StepCount:
    """What one step did to the training text."""

    step: str  # what was done to the lines, or why pairs were left out
    leaves_out: bool  # whether the step leaves pairs out; other steps change lines
    seen: int  # pairs that the step checked
    count: int  # pairs that the step changed or left out
    examples: list[str]  # sources of the first such pairs, shortened
    seconds: float  # processor time of the step; 0 for a limit of the corpus


@dataclass(frozen=True)
class Cleaner:
    """All steps of cleaning that look at one pair alone."""

    cleaning: Cleaning
    languages: tuple[str, str]  # source and target language
    held_out: tuple[frozenset[str], frozenset[str]]  # cleaned, of validation and test

    def clean(self, text: Text) -> tuple[Text, list[StepCount]]:
        """Return the cleaned text of a block, and what each step did."""
        counts: list[StepCount] = []
        if self.cleaning.unicode:
            text = _change(text, counts, "characters composed (NFC)", lambda s, _: compose(s))
        if self.cleaning.punctuation:
            text = _change(text, counts, "punctuation normalised", self._punctuation)
        for why, step in self._steps().items():
            started = time.process_time()
            leave_out = step(*text)
            seconds = time.process_time() - started
            left = list(compress(text[0], leave_out))
            examples = examples_of(left)
            counts.append(StepCount(why, True, len(text[0]), len(left), examples, seconds))
            if left:
                kept = (~leave_out).tolist()
                text = list(compress(text[0], kept)), list(compress(text[1], kept))
        return text, counts

    def _steps(self) -> dict[str, Callable[[Lines, Lines], Mask]]:
        cleaning, languages = self.cleaning, self.languages
        steps: dict[str, Callable[[Lines, Lines], Mask]] = {}
        if cleaning.unicode or cleaning.punctuation:
            steps["empty after cleaning"] = _empty
        if cleaning.copies:
            steps["target is the source"] = equal_sides
        if cleaning.held_out:
            steps["a side stands in validation or test"] = self._known
        if (ratio := cleaning.ratio) is not None:
            longer = f"one side {ratio:g} times as long"
            steps[longer] = lambda *sides: _unequal(sides, languages, ratio)
        if (least := cleaning.language) is not None:
            steps[FOREIGN] = lambda *sides: _foreign(sides, languages, least)
        return steps

    def _punctuation(self, lines: Lines, side: int) -> list[str]:
        return normalise_punctuation(lines, self.languages[side])

    def _known(self, *sides: Lines) -> Mask:
        source, target = (
            np.array([line in known for line in lines], np.bool_)
            for known, lines in zip(self.held_out, sides, strict=True)
        )
        return source | target


def total_counts(counts: Iterable[StepCount]) -> list[StepCount]:
    """Add the counts of the same steps of several blocks."""
    totals: dict[str, StepCount] = {}
    for new in counts:
        old = totals.get(new.step, StepCount(new.step, new.leaves_out, 0, 0, [], 0.0))
        totals[new.step] = StepCount(
            new.step,
            new.leaves_out,
            old.seen + new.seen,
            old.count + new.count,
            examples_of([*old.examples, *new.examples]),
            old.seconds + new.seconds,
        )
    return list(totals.values())


def nothing_left(steps: Iterable[StepCount]) -> str:
    """Return the message of a cleaning that leaves no training pair."""
    counts = {step.step: step.count for step in steps if step.leaves_out and step.count}
    shown = ", ".join(f"{count} {why}" for why, count in counts.items())
    swapped = counts.get(FOREIGN, 0) > sum(counts.values()) / 2
    hint = "see if data.source and data.target are swapped, or " if swapped else ""
    return f"cleaning leaves no training pair ({shown}): {hint}set cleaning=none"


def compose(lines: Lines) -> list[str]:
    """Return lines in Unicode's normal form C."""
    return [unicodedata.normalize("NFC", line) for line in lines]


def normalise_punctuation(lines: Lines, language: str) -> list[str]:
    """Return lines as ``sacremoses`` normalises their punctuation.

    The rules are applied to all lines at once, three times as fast as line by line.
    """
    if not lines:
        return []
    joined = SEPARATOR.join(lines)
    for pattern, replacement in _punctuation_rules(language):
        joined = pattern.sub(replacement, joined)
    return [line.strip() for line in joined.split(SEPARATOR)]


def pair_digests(source: Lines, target: Lines) -> Digests:
    """Return a 64-bit digest of each pair.

    Among 100 million different pairs, two have the same digest with probability 0.0003.
    """
    pairs = zip(source, target, strict=True)
    encoded = (f"{s}\n{t}".encode("utf-8", "surrogatepass") for s, t in pairs)
    digests = b"".join(hashlib.blake2b(pair, digest_size=8).digest() for pair in encoded)
    return np.frombuffer(digests, np.uint64)


def first_occurrences(digests: Digests) -> Mask:
    """Return which digests come in no earlier place; about ``AT_ONCE`` are sorted at a time."""
    first = np.zeros(len(digests), np.bool_)
    ranges = -(-len(digests) // AT_ONCE)
    for number in range(ranges):
        width = np.uint64((2**64 - 1) // ranges)
        places = np.flatnonzero(np.minimum(digests // width, ranges - 1) == number)
        first[places[np.unique(digests[places], return_index=True)[1]]] = True
    return first


def swapped(text: ParallelText, languages: tuple[str, str]) -> tuple[list[str], int]:
    """Return the sources of pairs whose sides are each in the other's language, and of how many.

    At most ``CHECKED`` pairs are checked, evenly spaced; an empty list means that fewer than half
    of these pairs, or none of a language that the classifier does not know, are swapped.
    """
    if not (len(text) and set(languages) <= set(_classifier().labels)):
        return [], 0
    step = -(-len(text) // CHECKED)
    pairs = list(zip(text.source[::step], text.target[::step], strict=True))
    other = languages[::-1]
    classify = _classifier().classify
    found = [pair[0] for pair in pairs if tuple(classify(side)[0] for side in pair) == other]
    return found if len(found) > MOST_SWAPPED * len(pairs) else [], len(pairs)


def equal_sides(source: Lines, target: Lines) -> Mask:
    """Return which targets equal their source."""
    return np.array([s == t for s, t in zip(source, target, strict=True)], np.bool_)


def _change(
    text: Text, counts: list[StepCount], name: str, change: Callable[[Lines, int], list[str]]
) -> Text:
    started = time.process_time()
    source, target = (change(lines, side) for side, lines in enumerate(text))
    seconds = time.process_time() - started
    both = zip(*text, source, target, strict=True)
    different = [s for s, t, new_s, new_t in both if (s, t) != (new_s, new_t)]
    examples = examples_of(different)
    counts.append(StepCount(name, False, len(source), len(different), examples, seconds))
    return source, target


def _empty(source: Lines, target: Lines) -> Mask:
    return np.array([not (s.strip() and t.strip()) for s, t in zip(source, target, strict=True)])


def _unequal(sides: tuple[Lines, Lines], languages: tuple[str, str], ratio: float) -> Mask:
    words = list(map(lengths_in_words, sides, languages))
    return np.maximum(*words) > ratio * np.minimum(*words)


def _foreign(sides: tuple[Lines, Lines], languages: tuple[str, str], least: float) -> Mask:
    """Return the pairs with a side that is less than so probably in its language.

    Raises ``UserError`` for a language that the classifier does not know.
    """
    classifier, each = _classifier(), []
    for lines, language in zip(sides, languages, strict=True):
        if language not in classifier.labels:
            raise UserError(
                f"cleaning.language: py3langid does not know the language {language!r}; set "
                "cleaning.language=null, or data.source and data.target to two-letter codes"
            )
        each.append([dict(classifier.rank(line))[language] for line in lines])
    return np.min(np.array(each), axis=0) < least


@cache
def _classifier() -> "LanguageIdentifier":
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # imported late: takes a second

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


@cache
def _punctuation_rules(language: str) -> list[tuple[re.Pattern[str], str]]:
    from sacremoses import MosesPunctNormalizer  # imported late: few corpora need the rules

    rules = MosesPunctNormalizer(language).substitutions
    return [(re.compile(pattern), replacement) for pattern, replacement in rules]
