"""Statistics of the drawn sentences against the knobs: within a tenth of what was asked."""

import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from random import Random

import pytest

from datamodules.grammar.drawing.circumstances import may_compare, takes_time
from datamodules.grammar.drawing.clauses import last_part
from datamodules.grammar.drawing.noun_phrases import CLAUSES_TO_A_PHRASE, kind_of, may_be_two
from datamodules.grammar.drawing.sentences import Sentences, closes, holds_clause, joins_shareable
from datamodules.grammar.drawing.vocabulary import OFFSET, Vocabulary
from datamodules.grammar.languages import find_language
from datamodules.grammar.languages.language import NOUN, VERB, Text, is_topic
from datamodules.grammar.meaning.lexicon import lexicon
from datamodules.grammar.meaning.phrases import (
    Adverbial,
    Clause,
    Joined,
    NounPhrase,
    Pronoun,
    inner_clauses,
)
from datamodules.grammar.pairs import add_noise
from tests.datamodules.grammar.samples import bare_words, meanings, pairs, parsed_links
from tests.helpers.data_settings import grammar_corpus

TENTH = 0.1
Meaning = Sequence[Joined]


def position(text: Text, unit: int, role: int) -> int:
    """Return the number of the first word of a unit with a role."""
    return next(
        first + number
        for piece, owner, first in text.pieces
        if owner == unit
        for number, played, _ in piece.played
        if played == role >> 1
    )


def clauses(meaning) -> list[Clause]:
    return [inner for joined in meaning for inner in inner_clauses(joined.clause)]


@cache
def gaps(distance: float, attractors: float) -> list[tuple[int, bool | None]]:
    """Words between subject and verb, and whether the last noun there is an attractor."""
    english, found = find_language("en"), []
    for meaning in meanings(800, 60, distance=distance, attractors=attractors):
        text = english.sentence(meaning)
        for clause in clauses(meaning):
            subject = clause.object if clause.mode.passive else clause.subject
            if isinstance(subject, NounPhrase):
                noun = position(text, subject.unit, NOUN)
                verb = next(
                    first for piece, unit, first in text.pieces
                    if unit == clause.unit and any(role == VERB >> 1 for _, role, _ in piece.played)
                )  # fmt: skip
                found.append((verb - noun - 1, is_attractor(subject)))
    return found


def is_attractor(subject: NounPhrase) -> bool | None:
    last = last_part(subject)
    if last is subject or subject.beside is not None or not last.core.noun.counted:
        return None
    return last.core.plural != subject.core.plural


@pytest.mark.parametrize("distance", [0.5, 1.0, 1.5])
def test_distance(distance):
    found = [words for words, _ in gaps(distance, 0.5)]
    assert sum(found) / len(found) == pytest.approx(distance, rel=TENTH)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_attractors(share):
    marked = [attractor for _, attractor in gaps(2.0, share) if attractor is not None]
    assert sum(marked) / len(marked) == pytest.approx(share, rel=TENTH)


def is_moved(clause: Clause) -> bool:
    return is_topic(clause) and not clause.time_first


def told(conjunction: Adverbial | None) -> bool:
    """Return whether a conjunction tells what its clause is like."""
    return conjunction is not None and conjunction.expression.name in ("because", "before")


def main_clauses(meaning: Meaning) -> Iterator[Clause]:
    """Yield the main clauses in which a time may stand first, but those of past habits."""
    for number, (clause, conjunction, comma) in enumerate(meaning):
        first = number == 0 and conjunction is None and not clause.question
        later = comma and conjunction is not None and conjunction.expression.name != "so:then"
        if (first or later) and not clause.mode.habit:
            yield clause


# What a knob is the share of: whether it is so, for each place where it may be.


def embedding(meaning: Meaning) -> Iterator[bool]:
    inside = len(clauses(meaning)) - len(meaning)
    yield from [True] * inside + [False] * (len(meaning) - 1)


def reordering(meaning: Meaning) -> Iterator[bool]:
    """The last clause of a sentence, if a time may stand at its opposite ends."""
    for clause in main_clauses(meaning):
        if clause is meaning[-1].clause and takes_time(clause) and not closes(clause):
            yield is_moved(clause)


def fronting(meaning: Meaning) -> Iterator[bool]:
    for clause in main_clauses(meaning):
        if clause.time and not is_moved(clause) and not closes(clause):
            yield clause.time_first


def coordination(meaning: Meaning) -> Iterator[bool]:
    for before, each in pairwise(meaning):
        if joins_shareable(before, each):
            yield each.clause.gap == "shared"


def pronouns(meaning: Meaning) -> Iterator[bool]:
    clause = meaning[0].clause
    if not (clause.question or clause.mode.passive):
        yield isinstance(clause.subject, Pronoun)


def moods(meaning: Meaning) -> Iterator[bool]:
    modes = [clause.mode for clause in clauses(meaning)]
    if len(modes) > 1:
        yield any(mode.subjunctive or mode.tense == "supposed" for mode in modes)


def passives(meaning: Meaning) -> Iterator[bool]:
    clause = meaning[0].clause
    pronoun = isinstance(clause.subject, Pronoun)
    if clause.verb.passive and not holds_clause(clause) and not pronoun:
        yield clause.mode.passive


def perfects(meaning: Meaning) -> Iterator[bool]:
    tense = meaning[0].clause.mode.tense
    if tense in ("past", "perfect"):
        yield tense == "perfect"


def questions(meaning: Meaning) -> Iterator[bool]:
    if len(meaning) == 1:
        yield meaning[0].clause.question != ""


def comparatives(meaning: Meaning) -> Iterator[bool]:
    for clause, conjunction, _ in meaning:
        if may_compare(clause) and not told(conjunction):
            yield clause.standard is not None


def separable(meaning: Meaning) -> Iterator[bool]:
    for clause, conjunction, _ in meaning:
        person = kind_of(clause.subject) == "person"
        if clause.verb.frame == "transitive" and person and not told(conjunction):
            yield clause.verb.separable


def verbosity(meaning: Meaning) -> Iterator[bool]:
    clause, conjunction, _ = meaning[0]
    if not (conjunction or clause.question):
        yield clause.particle is not None


def paraphrase(meaning: Meaning) -> Iterator[bool]:
    return (clause.synonym for clause in clauses(meaning))


MEASURES: list[tuple[Callable[[Meaning], Iterator[bool]], int, int, tuple[float, ...]]] = [
    (embedding, 1000, 30, (0.1, 0.3, 0.6)),
    (reordering, 1500, 15, (0.2, 0.5, 0.9)),
    (fronting, 9000, 13, (0.2, 0.5, 0.9)),
    (coordination, 14_000, 12, (0.4, 0.8)),
    (pronouns, 6000, 8, (0.2, 0.6)),
    (moods, 1000, 25, (0.2, 0.6)),
    (passives, 8000, 12, (0.2, 0.6)),
    (perfects, 1200, 12, (0.2, 0.6)),
    (questions, 800, 12, (0.2, 0.6)),
    (comparatives, 10_000, 12, (0.2, 0.6)),
    (separable, 6000, 12, (0.2, 0.6)),
    (verbosity, 1000, 12, (0.1, 0.5)),
    (paraphrase, 6000, 12, (0.1, 0.4)),
]
"""What a knob is the share of, in how many sentences of how many words, and shares to try."""


def assert_share(done: Iterable[bool], share: float) -> None:
    every = list(done)
    assert len(every) > 300
    assert sum(every) / len(every) == pytest.approx(share, rel=TENTH)


@pytest.mark.parametrize(
    ("measure", "count", "words", "share"),
    [(*drawn, share) for *drawn, shares in MEASURES for share in shares],
)
def test_shares(measure, count, words, share):
    drawn = meanings(count, words, **{measure.__name__: share})
    assert_share((each for meaning in drawn for each in measure(meaning)), share)


@pytest.mark.parametrize("share", [0.4, 0.8])
def test_two_subjects(share):
    firsts = [meaning[0].clause for meaning in meanings(14_000, 12, coordination=share, distance=0)]
    subjects = [first.subject for first in firsts if not first.mode.passive]
    doubled = (
        each.beside is not None
        for each in subjects
        if isinstance(each, NounPhrase) and may_be_two(each)
    )
    assert_share(doubled, share / CLAUSES_TO_A_PHRASE)


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_relatives(share):
    found = []
    knobs = grammar_corpus(relatives=share).knobs
    gaps = Sentences(Vocabulary(400, 0.9, 0.1), knobs, Random(1).random).other_gaps
    for meaning in meanings(4000, 30, relatives=share):
        for clause in clauses(meaning):
            tense, state = clause.mode.tense, clause.verb.state
            mark = "known" if tense == "present" else "known state" if state else "done"
            possible = gaps(kind_of(clause.antecedent), True, mark)
            if clause.gap not in ("", "shared") and possible:
                found.append(clause.gap in ("owner", "place", "oblique"))
    assert_share(found, share)


def test_some_objects_are_reflexive():
    objects = [meaning[0].clause.object for meaning in meanings(6000, 8, pronouns=0.6)]
    assert len({each.reflexive for each in objects if isinstance(each, Pronoun)}) == 2


def test_questions_end_with_a_question_mark_in_both_languages():
    for pair in pairs(800, 12, questions=0.6):
        if len(pair.meaning) == 1:
            assert pair.source.endswith("?") == pair.target.endswith("?")


@pytest.mark.long
def test_two_senses():
    """With ambiguity, nouns with two senses are far more frequent, and the verb decides."""

    def share(ambiguity: float) -> float:
        subjects = [
            clause.subject.core.noun.name
            for meaning in meanings(1500, 20, ambiguity=ambiguity, vocabulary=1000)
            for clause in clauses(meaning)
            if isinstance(clause.subject, NounPhrase)
        ]
        return sum(":" in name for name in subjects) / len(subjects)

    assert share(0.0) == 0
    assert 0.02 < share(0.3) < 0.5 * share(0.9)


def test_what_stands_last_belongs_to_the_clause_that_it_stands_in():
    """No time or place behind a clause, and no relative clause behind an attribute."""
    for meaning in meanings(1000, 30, embedding=0.5, reordering=0.5):
        for clause in clauses(meaning):
            if holds_clause(clause):
                assert clause.place is None
                assert clause.time is None or clause.time_first
            for part in (clause.subject, clause.object, clause.oblique):
                if isinstance(part, NounPhrase):
                    assert part.relative is None or part.attribute is None


@pytest.mark.parametrize("target", ["fr", "de"])
def test_crossings_rise_with_reordering(target):
    def far(share: float) -> float:
        """Share of links that cross a link from a word at least five words away."""
        crossing = links = 0
        for pair in pairs(600, 8, target=target, reordering=share):
            found = parsed_links(pair.links)
            links += len(found)
            crossing += sum(
                any((i - k) * (j - m) < 0 and abs(i - k) >= 3 for k, m, _ in found)
                for i, j, _ in found
            )
        return crossing / links

    least, middle, most = far(0.0), far(0.5), far(1.0)
    assert least + TENTH < middle < most - TENTH


def test_ratios_vary_with_verbosity():
    def spread(share: float) -> float:
        given = pairs(1500, 12, verbosity=share)
        return statistics.pstdev(pair.target_words / pair.source_words for pair in given)

    assert spread(0.9) > 1.05 * spread(0.0)


@pytest.mark.long
def test_paraphrases_are_several_right_targets():
    plain = Counter(word for pair in pairs(2000, 12) for word in bare_words(pair.target))
    other = Counter(
        word for pair in pairs(2000, 12, paraphrase=0.5) for word in bare_words(pair.target)
    )
    assert len(set(other) - set(plain)) > 20


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_noise(share):
    written = pairs(3000, 6)
    noisy = list(add_noise(written, share, Random(1).random))
    changed = [one.target != two.target for one, two in zip(written, noisy, strict=True)]
    assert sum(changed) / len(changed) == pytest.approx(share, rel=TENTH)
    for pair in noisy:
        assert pair.target_words == len(pair.target.split())
        assert all(j < pair.target_words for _, j, _ in parsed_links(pair.links))


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.5])
def test_zipf(exponent):
    """On log-log axes, counts fall with a slope of ``-exponent`` over the ranks and an offset."""
    vocabulary = Vocabulary(600, exponent, 0.1)
    table = vocabulary.nouns[("person", "animal"), None, ()]
    assert table is not None
    random = Random(1).random
    counts = Counter(table.draw(random)[0].name for _ in range(200_000))
    ranked = [noun.name for noun in vocabulary.lexicon.nouns]
    points = [
        (math.log(ranked.index(name) + 1 + OFFSET), math.log(count))
        for name, count in counts.items()
    ]
    mean_x, mean_y = (sum(axis) / len(points) for axis in zip(*points, strict=True))
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / sum(
        (x - mean_x) ** 2 for x, _ in points
    )
    assert -slope == pytest.approx(exponent, rel=TENTH)


def test_no_noun_takes_more_than_a_hundredth_of_the_words():
    text = [word for pair in pairs(4000, 17) for word in bare_words(pair.source)]
    nouns = {noun.name for noun in lexicon(400).nouns}
    assert max(Counter(word for word in text if word in nouns).values()) < 0.01 * len(text)


@pytest.mark.long
@pytest.mark.parametrize("nouns", [100, 400])
def test_types(nouns):
    seen = {
        part.core.noun.name
        for meaning in meanings(6000, 20, vocabulary=nouns, zipf=0.3, ambiguity=0, open_words=0)
        for clause in clauses(meaning)
        for part in (clause.subject, clause.object, clause.oblique, clause.recipient)
        if isinstance(part, NounPhrase) and part.core.noun.kind != "name"
    }
    assert len(seen) == pytest.approx(nouns, rel=TENTH)


@pytest.mark.long
def test_open_words_are_not_in_the_training_vocabulary():
    corpus = grammar_corpus(1500, 20, 300, open_words=0.3, vocabulary=60)
    known = {word for line in corpus.split("train").source for word in bare_words(line)}
    unknown = [
        (pair_source, pair_target)
        for pair_source, pair_target in zip(
            corpus.split("test").source, corpus.split("test").target, strict=True
        )
        if set(bare_words(pair_source)) - known
    ]
    assert len(unknown) > 100
    for source, target in unknown:
        for number in re.findall(r"\d+", source):
            assert number in target


def test_a_sentence_has_one_translation():
    for source in ("en", "fr"):
        targets: dict[str, str] = {}
        for pair in pairs(4000, 6, source, vocabulary=60, verbosity=0):
            known = targets.setdefault(pair.source, pair.target)
            if source == "en":
                assert known == pair.target


def test_joined_clauses_have_a_conjunction_or_an_opening():
    for meaning in meanings(300, 30):
        opens = meaning[0].conjunction is not None
        for number, joined in enumerate(meaning[1:], 1):
            assert isinstance(joined, Joined)
            assert joined.conjunction is not None or (opens and number == 1)


def test_a_past_tells_single_events_or_habits():
    """A habit is the only main clause; no clause inside it is one, and none has *yesterday*."""
    once = {time.name for time in lexicon(60).expressions["time_past"]}
    habits = inside = 0
    for meaning in meanings(6000, 12, embedding=0.5):
        every = clauses(meaning)
        if any(clause.mode.habit for clause in every):
            clause, *others = every
            assert clause.mode.habit
            assert not any(other.mode.habit for other in others)
            time = clause.time
            assert not isinstance(time, Adverbial) or time.expression.name not in once
            assert len(meaning) == 1
            habits += 1
            inside += len(others) > 0
    assert habits > 200
    assert inside > 30


def test_clauses_at_the_same_time_have_one_time():
    for meaning in meanings(3000, 20):
        opens = meaning[0].conjunction is not None
        for number, (clause, conjunction, _) in enumerate(meaning[1:], 1):
            told = conjunction is not None and conjunction.expression.name in ("when", "while")
            assert clause.time is None or not (told or (opens and number == 1))


def test_no_time_is_said_twice():
    for meaning in meanings(1000, 50, reordering=0.9):
        times = [clause.time for clause in clauses(meaning)]
        names = [time.expression.name for time in times if isinstance(time, Adverbial)]
        assert len(names) == len(set(names))
