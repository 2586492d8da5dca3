"""Contrastive pairs of all categories, spread over the distances."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice, zip_longest

from datamodules.contrast_pairs import ContrastPair
from datamodules.grammar.contrast.edits import Right, Site
from datamodules.grammar.contrast.errors import CATEGORIES, CONTROLLED
from datamodules.grammar.drawing.draws import Pool, Share
from datamodules.grammar.drawing.sentences import Sentences
from datamodules.grammar.languages.language import Language
from datamodules.grammar.meaning.phrases import Joined
from datamodules.grammar.pairs import punctuated

FARTHEST = 20  # largest distance of a pair, in words
DISTANCES = range(1, FARTHEST + 1)
EACH = 500  # pairs of every distance, over all categories
MOST_OF_ONE = 2 * EACH  # pairs of one category and distance to choose from
USUAL_SENTENCES, MOST_SENTENCES = 20_000, 75_000  # sentences drawn as in the corpus, and in all
SHORTEST = 5  # fewest words of a sentence
MOST_EMBEDDING = 0.7  # the knob ``embedding`` of later sentences: more words before the verb
STEP = 7  # forms from the first form of a distance to that of the next
PRESENT = Pool(("present",), (1,))  # its verbs show the number of their subject

Cells = dict[tuple[int, str, str], list[ContrastPair]]  # pairs by distance, category and right form


def draw_contrast(
    sentences: Sentences, source: Language, target: Language, longest: int
) -> list[ContrastPair]:
    """Draw ``EACH`` pairs of every distance, as evenly over categories and forms as they occur."""
    random, lexicon = sentences.random, sentences.vocabulary.lexicon
    cells: Cells = defaultdict(list)
    made: Counter[int | tuple[int, str]] = Counter()  # by distance, and by category as well
    for usual, meaning in _meanings(sentences, longest):
        lacking = [distance for distance in DISTANCES if made[distance] < EACH]
        if not lacking:
            break
        wanted = DISTANCES if usual else lacking
        right = Right(meaning, source, target, lexicon, random)
        for category, site in _sites(right):
            distance = _distance(right, site.decides, site.near)
            if distance in wanted and made[distance, category] < MOST_OF_ONE:
                pair = _pair(right, category, site)
                if pair is not None and pair.distance is not None:
                    made.update((pair.distance, (pair.distance, category)))
                    cells[pair.distance, category, site.form].append(pair)
    return [pair for distance in DISTANCES for pair in _evenly(cells, distance)]


def _sites(right: Right) -> Iterator[tuple[str, Site]]:
    return ((category, site) for category, find in CATEGORIES.items() for site in find(right))


def _meanings(sentences: Sentences, longest: int) -> Iterator[tuple[bool, list[Joined]]]:
    """Yield sentences, each with whether it is as usual: later ones show more errors far away.

    Few English verbs far from their subject show a number: most in long sentences in the present.
    """
    for number in range(MOST_SENTENCES):
        usual = number < USUAL_SENTENCES
        if number == USUAL_SENTENCES:
            sentences.tenses, sentences.embedding = PRESENT, Share(MOST_EMBEDDING)
        least = SHORTEST if usual else longest // 2
        words = least + int(sentences.random() * (longest - least + 1))
        yield usual, sentences.sentence(words)


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
