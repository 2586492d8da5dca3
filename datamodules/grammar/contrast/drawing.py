"""Contrastive pairs of all categories, spread over the distances."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice, zip_longest
from statistics import median
from typing import Any

from typing_extensions import override

from datamodules.contrast_pairs import ContrastPair
from datamodules.grammar.contrast.edits import Right, Site
from datamodules.grammar.contrast.errors import CATEGORIES, CONTROLLED
from datamodules.grammar.drawing.draws import Pool
from datamodules.grammar.drawing.plans import ClausePlace, Plan
from datamodules.grammar.drawing.sentences import Sentences
from datamodules.grammar.drawing.writer import NothingLeftError
from datamodules.grammar.languages.language import Language
from datamodules.grammar.meaning.phrases import Clause, Joined, NounPhrase
from datamodules.grammar.pairs import punctuated

FARTHEST = 20  # largest distance of a pair, in words
DISTANCES = range(1, FARTHEST + 1)
EACH = 500  # pairs of every distance, over all categories
MOST_OF_ONE = 2 * EACH  # pairs of one category and distance to choose from
ANY_SENTENCES, MOST_SENTENCES = 20_000, 75_000  # sentences for all distances, and in all
RICH: dict[str, Any] = {"ambiguity": 0.6, "coordination": 0.9, "moods": 0.3, "separable": 0.3}
"""Knobs of every other sentence, at least, if the corpus has the construction at all."""
FAR: dict[str, Any] = {
    "distance": 10.0,
    "embedding": 1.0,
    "coordination": 0.9,
    "pronouns": 0.0,
    "questions": 0.0,
}
"""Knobs of later sentences, for more words between a noun and its verb."""
SHORTEST = 5  # fewest words of a sentence
SPARE = 2  # pairs of a form that may be too many
STEP = 7  # forms from the first form of a distance to that of the next
PRESENT = Pool(("present",), (1,))  # its verbs show the number of their subject

Cells = dict[tuple[int, str, str], list[ContrastPair]]  # pairs by distance, category and right form


class FarSentences(Sentences):
    """Writer of sentences whose subjects hold two or three relative clauses, one in another."""

    @override
    def _draw_subject(
        self, clause: Clause, frame: str, distance: int, plan: Plan | None, place: ClausePlace
    ) -> NounPhrase:
        if distance and not clause.gap:
            plan = Plan(1, Plan(2, Plan(3) if self.random() < 0.5 else None))
            self.budget.clauses += 3
        return super()._draw_subject(clause, frame, distance, plan, place)


def draw_contrast(
    sentences: Sentences, source: Language, target: Language, longest: int
) -> list[ContrastPair]:
    """Draw ``EACH`` pairs of every distance, as evenly over categories and forms as they occur."""
    random, lexicon = sentences.random, sentences.vocabulary.lexicon
    cells: Cells = defaultdict(list)
    made: Counter[int | tuple[int, str]] = Counter()  # by distance, and by category as well
    forms: dict[str, Counter[str]] = defaultdict(Counter)
    for far, meaning in _meanings(sentences, longest):
        lacking = [distance for distance in DISTANCES if made[distance] < EACH]
        if far and not lacking:
            break
        wanted = lacking if far else DISTANCES
        right = Right(meaning, source, target, lexicon, random)
        found = ((name, site) for name, find in CATEGORIES.items() for site in find(right))
        for category, site in found:
            distance = _distance(right, site.decides, site.near)
            often = made[distance, category] >= MOST_OF_ONE
            if distance in wanted and not often and not _is_common(forms[category], site.form):
                pair = _pair(right, category, site)
                if pair is not None and pair.distance is not None:
                    made.update((pair.distance, (pair.distance, category)))
                    forms[category][site.form] += 1
                    cells[pair.distance, category, site.form].append(pair)
    return [pair for distance in DISTANCES for pair in _evenly(cells, distance)]


def _is_common(forms: Counter[str], form: str) -> bool:
    """Return whether a form has twice as many pairs as the median of a category's forms."""
    return bool(forms) and forms[form] >= SPARE + 2 * median(forms.values())


def _meanings(sentences: Sentences, longest: int) -> Iterator[tuple[bool, list[Joined]]]:
    """Yield sentences, each with whether it is one of the later ones: for errors far away.

    Every other one is rich in constructions that are rare. Few English verbs far from their subject
    show a number: most in the present, behind a relative clause.
    """
    vocabulary, knobs, random = sentences.vocabulary, sentences.knobs, sentences.random
    rich = {name: max(getattr(knobs, name), least) for name, least in RICH.items()}
    rich = {name: share for name, share in rich.items() if getattr(knobs, name)}
    writers = sentences, Sentences(vocabulary, replace(knobs, **rich), random)
    for number in range(min(ANY_SENTENCES, MOST_SENTENCES)):
        words = SHORTEST + int(random() * (longest - SHORTEST + 1))
        yield False, writers[number % 2].sentence(words)
    later = FarSentences(vocabulary, replace(knobs, **FAR), random)
    later.tenses = PRESENT
    for _ in range(ANY_SENTENCES, MOST_SENTENCES):
        with suppress(NothingLeftError):  # few subjects are followed by so much
            yield True, later.sentence(longest - int(random() * (longest // 4 + 1)))


def _evenly(cells: Cells, distance: int) -> Iterator[ContrastPair]:
    """Yield pairs of a distance: of one category after the other, and of one form after another.

    Every distance begins with another form: some have more forms than pairs are wanted.
    """
    columns: dict[str, list[list[ContrastPair]]] = defaultdict(list)
    for far, category, form in sorted(cells):
        if far == distance:
            columns[category].append(cells[far, category, form])
    for forms in columns.values():
        first = STEP * distance % len(forms)
        forms[:] = forms[first:] + forms[:first]
    return islice(_in_turn(list(_in_turn(forms)) for forms in columns.values()), EACH)


def _in_turn(lists: Iterable[list[ContrastPair]]) -> Iterator[ContrastPair]:
    """Yield the first pair of each list, then the second of each, and so on."""
    return (pair for row in zip_longest(*lists) for pair in row if pair is not None)


def _pair(right: Right, category: str, site: Site) -> ContrastPair | None:
    """Return a pair, or None if the error shows in no word, or in their number, or is too far."""
    words = site.wrong()
    if words is None:
        return None
    both = enumerate(zip_longest(right.text.texts, words))
    place = next((number for number, (one, other) in both if one != other), None)
    reference, contrastive = (
        punctuated(right.finish(each)[0], right.meaning) for each in (right.text.texts, words)
    )
    equally_long = len(contrastive.split()) == len(reference.split())
    if place is None or contrastive == reference or not (equally_long or category in CONTROLLED):
        return None
    distance = _distance(right, site.decides, place)
    if distance not in DISTANCES:
        return None
    source = punctuated(right.source_sentence, right.meaning)
    return ContrastPair(source, reference, contrastive, category, distance, site.attractor)


def _distance(right: Right, one: int, other: int) -> int:
    return abs(right.numbers[one] - right.numbers[other])
