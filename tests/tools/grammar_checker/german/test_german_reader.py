"""What the German part of the checker counts; sentences.txt has right and wrong sentences."""

from tests.tools.grammar_checker.german.reader import GermanReader, GermanReading
from tests.tools.grammar_checker.translation import Mention, Placed


def only(sentence: str) -> GermanReading:
    """Return the reading of a sentence that has no other."""
    (reading,) = GermanReader(sentence).readings
    return reading


def test_times_and_places_belong_to_clauses() -> None:
    """The bracket of the verbs tells to which clause they belong."""
    inside = only("Der Mann hat die Bälle, die der Soldat montags nahe einem Haus findet, gekauft.")
    assert sorted(inside.placed) == [
        Placed("place", "Haus", "finden"),
        Placed("time", "", "finden"),
    ]
    outside = only("Montags kauft er die Bälle, die ich finde, nahe einem Haus.")
    assert sorted(outside.placed) == [
        Placed("place", "Haus", "kaufen"),
        Placed("time", "", "kaufen"),
    ]


def test_what_is_counted() -> None:
    seen = only("Wenn der Hund größer wäre als der Baum, würde er sich dort waschen.").seen
    assert seen["tense"] == {"unreal": 2}
    assert seen["comparison"] == {"more": 1}
    assert seen["person"] == {"3": 1, "self": 1}
    assert seen["adverb"] == {"place": 1}
    assert only("Wo ist das Haus verkauft worden?").seen["question"] == {"where": 1}
    passive = only("Das Haus ist von ihm verkauft worden.")
    assert (passive.seen["verb"], passive.seen["tense"]) == ({"verkaufen": 1}, {"past": 1})


def test_a_shared_subject_is_the_subject_of_both_clauses() -> None:
    reading = only("Der Mann kauft den Hund und wäscht ihn.")
    assert [roles.subject and roles.subject.noun for roles in reading.mains] == ["Mann", "Mann"]


def test_what_the_antecedent_is() -> None:
    uses = {
        "Der Mann, dessen Hund schläft, hustet.": "owner",
        "Der Bus, auf den ich warte, brennt.": "object",
        "Das Haus, in dem ich schlafe, brennt.": "place",
        "Das Haus, das verkauft wurde, brennt.": "subject",
    }
    assert {each: only(each).attached[0].use for each in uses} == uses


def test_two_nouns_are_one_subject() -> None:
    subject = only("Der Mann und die Frau schlafen.").mains[0].subject
    assert subject == Mention("Mann", frozenset("p"), noun="Mann")


def test_a_relative_pronoun_that_may_be_the_subject_is_read_as_the_subject() -> None:
    assert only("Die Männer, die die Frauen sehen, schlafen.").attached[0].use == "subject"
    assert only("Der Mann, den die Frauen sehen, schläft.").attached[0].use == "object"


def test_a_time_that_stands_first_reaches_the_clauses_behind_it() -> None:
    wide = {
        "Montags schläft er, und ich lache.": True,
        "Er schläft montags, und ich lache.": False,
        "Montags schläft er, weil ich lache.": False,
        "Montags versucht er, zu schlafen.": True,
        "Montags kann er schlafen.": False,
    }
    assert {each: only(each).placed[0].wide for each in wide} == wide
