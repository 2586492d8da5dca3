"""German word order, cases and endings, sentence by sentence."""

from dataclasses import replace

import pytest

from datamodules.grammar.languages import find_language
from datamodules.grammar.meaning.lexicon import MOST_NOUNS, lexicon
from datamodules.grammar.meaning.phrases import (
    FIRST_SINGULAR,
    THIRD_SINGULAR,
    Adjective,
    Adverbial,
    Clause,
    Core,
    Dated,
    Expression,
    Joined,
    Mode,
    Noun,
    NounPhrase,
    Prepositional,
    Pronoun,
    Verb,
)

LEXICON = lexicon(MOST_NOUNS)
NOUNS = {noun.name: noun for noun in LEXICON.nouns}
MUST = Verb("must", "modal", ())
VERBS = {verb.name: verb for verb in LEXICON.verbs}
PRESENT, PAST, FUTURE = Mode("present"), Mode("past"), Mode("future")
ME, SHE = Pronoun(FIRST_SINGULAR), Pronoun(THIRD_SINGULAR, gender="f")
ON_MONDAYS = Adverbial(90, Expression("on Mondays", ("topic",)))
YESTERDAY = Adverbial(91, Expression("yesterday"))
WHEN = Adverbial(92, Expression("when", ("subordinating",)))
SO = Adverbial(93, Expression("so:then"))


def the(name: str, plural: bool = False, determiner: str = "the", **of_core) -> NounPhrase:
    return NounPhrase(id(name) % 80, Core(NOUNS[name], plural, determiner, **of_core))


def adjectives(*names: str) -> tuple[Adjective, ...]:
    return tuple(Adjective(name, "quality", ()) for name in names)


def clause(verb: str, mode: Mode = PRESENT, subject=SHE, **parts) -> Clause:
    return Clause(99, VERBS[verb], mode, subject, **parts)


def german(*joined: Clause | Joined) -> str:
    language = find_language("de")
    sentence = [each if isinstance(each, Joined) else Joined(each) for each in joined]
    return language.finish(language.sentence(sentence))[0]


def relative(noun: NounPhrase, verb: str, mode: Mode = PRESENT, **parts) -> NounPhrase:
    """Give a noun phrase a relative clause: with a subject, the noun is its object."""
    gap = "object" if "subject" in parts else "subject"
    subject = parts.pop("subject", None)
    noun.relative = clause(verb, mode, subject, gap=gap, antecedent=noun, **parts)
    return noun


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (clause("see:transitive", object=the("dog")), "sie sieht den Hund"),
        (clause("see:transitive", time=ON_MONDAYS, object=the("dog")),
         "montags sieht sie den Hund"),
        (clause("see:transitive", PAST, time=YESTERDAY, object=the("dog")),
         "sie hat gestern den Hund gesehen"),
        (clause("see:transitive", PAST._replace(simple=True), object=the("dog")),
         "sie sah den Hund"),
        (clause("leave:intransitive", PAST), "sie ist abgefahren"),
        (clause("arrive:intransitive", subject=ME), "ich komme an"),
        (clause("arrive:intransitive", FUTURE, time=ON_MONDAYS), "montags wird sie ankommen"),
        (clause("help", object=the("boy", True)), "sie hilft den Jungen"),
        (clause("wait for", object=the("bus")), "sie wartet auf den Bus"),
        (clause("wait for", object=Pronoun(THIRD_SINGULAR, NOUNS["bus"])), "sie wartet darauf"),
        (clause("wait for", object=Pronoun(THIRD_SINGULAR, NOUNS["king"])), "sie wartet auf ihn"),
        (clause("give", PAST, object=the("book"), recipient=the("student")),
         "sie hat dem Studenten das Buch gegeben"),
        (clause("give", object=Pronoun(THIRD_SINGULAR, NOUNS["book"]), recipient=ME),
         "sie gibt es mir"),
        (clause("like", subject=ME, object=the("book", True)), "die Bücher gefallen mir"),
        (clause("go", object=None, oblique=the("house")), "sie geht ins Haus"),
        (clause("see:transitive", object=the("dog", False, "its", possessor=NOUNS["machine"])),
         "sie sieht ihren Hund"),
    ],
)  # fmt: skip
def test_main_clauses(written, expected):
    assert german(written) == expected


@pytest.mark.parametrize(
    ("negated", "expected"),
    [
        (clause("see:transitive", Mode("present", "not"), object=the("dog")),
         "sie sieht den Hund nicht"),
        (clause("see:transitive", Mode("past", "not"), object=the("dog", False, "a", denied=True)),
         "sie hat keinen Hund gesehen"),
        (clause("see:transitive", Mode("past", "never"),
                object=the("dog", False, "a", denied=True)),
         "sie hat nie einen Hund gesehen"),
        (clause("see:transitive", Mode("past", "never"), object=the("dog")),
         "sie hat den Hund nie gesehen"),
        (clause("wait for", Mode("present", "not"), object=the("bus")),
         "sie wartet nicht auf den Bus"),
        (clause("see:transitive", Mode("present", adverb=Expression("often")),
                object=the("dog", True, "three")),
         "sie sieht oft drei Hunde"),
        (clause("see:transitive", Mode("present", "not", modal=VERBS["try"]),
                object=the("dog", False, "a", denied=True)),
         "sie versucht nicht, einen Hund zu sehen"),
        (clause("obey", Mode("present", "not"), oblique=the("king", False, "a")),
         "sie gehorcht keinem König"),
        (clause("like", Mode("present", "not"), the("king", False, "a"), object=the("book")),
         "das Buch gefällt einem König nicht"),
        (clause("see:transitive", Mode("present", "not"), object=the("dog", True, "three")),
         "sie sieht drei Hunde nicht"),
        (clause("see:transitive", Mode("present", "not"), object=the("dog", True, "many")),
         "sie sieht nicht viele Hunde"),
        (clause("sleep:intransitive", Mode("present", modal=MUST)), "sie muss schlafen"),
        (clause("sleep:intransitive", Mode("present", "not", modal=MUST)),
         "sie darf nicht schlafen"),
        (clause("give", Mode("present", "not"), object=the("book"),
                recipient=the("king", False, "a")),
         "sie gibt das Buch keinem König"),
        (clause("give", Mode("present", "never"), object=the("book"),
                recipient=the("king", True, "two")),
         "sie gibt das Buch nie zwei Königen"),
    ],
)  # fmt: skip
def test_negation_and_frequency(negated, expected):
    assert german(negated) == expected


@pytest.mark.parametrize(
    ("modal", "mode", "expected"),
    [
        ("want:infinitive", PRESENT, "sie will den Hund sehen"),
        ("want:infinitive", PAST, "sie wollte den Hund sehen"),
        ("want:infinitive", FUTURE, "sie wird den Hund sehen wollen"),
        ("try", PAST, "sie hat versucht, den Hund zu sehen"),
        ("try", PAST._replace(simple=True), "sie versuchte, den Hund zu sehen"),
        ("refuse:infinitive", PRESENT, "sie weigert sich, den Hund zu sehen"),
    ],
)
def test_infinitives(modal, mode, expected):
    with_modal = mode._replace(modal=VERBS[modal])
    assert german(clause("see:transitive", with_modal, object=the("dog"))) == expected


def test_subordinate_clauses_end_with_the_verb():
    sleeps = clause("sleep:intransitive", PRESENT, the("dog"))
    arrives = clause("arrive:intransitive", PRESENT, the("king"), time=ON_MONDAYS)
    assert german(sleeps, Joined(arrives, WHEN)) == (
        "der Hund schläft, wenn der König montags ankommt"
    )
    assert german(Joined(arrives, WHEN), Joined(sleeps, None, comma=True)) == (
        "wenn der König montags ankommt, schläft der Hund"
    )
    slept = replace(sleeps, mode=PAST)
    arrived = replace(arrives, mode=PAST, time=YESTERDAY)
    assert german(slept, Joined(arrived, WHEN)) == (
        "der Hund hat geschlafen, als der König gestern angekommen ist"
    )
    assert german(sleeps, Joined(arrives, SO, comma=True)) == (
        "der Hund schläft, daher kommt der König montags an"
    )


def test_complement_clauses():
    inner = clause("sleep:intransitive", PAST, the("dog"))
    assert german(clause("say", PAST, complement=inner)) == (
        "sie hat gesagt, dass der Hund geschlafen hat"
    )


@pytest.mark.parametrize(
    ("noun", "expected"),
    [
        (relative(the("king"), "sleep:intransitive"), "der König, der schläft, singt"),
        (relative(the("king"), "see:transitive", subject=ME), "der König, den ich sehe, singt"),
        (relative(the("king"), "help", subject=ME), "der König, dem ich helfe, singt"),
        (relative(the("king", True), "help", subject=ME), "die Könige, denen ich helfe, singen"),
        (relative(the("queen"), "wait for", subject=ME), "die Königin, auf die ich warte, singt"),
        (relative(the("queen"), "see:transitive", Mode("past", modal=VERBS["try"]), subject=ME),
         "die Königin, die ich zu sehen versucht habe, singt"),
    ],
)  # fmt: skip
def test_relative_clauses(noun, expected):
    assert german(clause("sing:intransitive", PRESENT, noun)) == expected


def test_a_relative_clause_with_a_clause_inside_moves_behind_the_verb():
    light = relative(the("dog"), "sleep:intransitive")
    assert german(clause("see:transitive", PAST, object=light)) == (
        "sie hat den Hund, der schläft, gesehen"
    )
    heavy = relative(the("king"), "see:transitive", object=light)
    assert german(clause("see:transitive", PAST, object=heavy)) == (
        "sie hat den König gesehen, der den Hund, der schläft, sieht"
    )


@pytest.mark.parametrize(
    ("determiner", "plural", "nominative", "accusative", "dative", "genitive"),
    [
        ("the", False, "der gute Mann", "den guten Mann", "dem guten Mann", "des guten Mannes"),
        ("a", False, "ein guter Mann", "einen guten Mann", "einem guten Mann",
         "eines guten Mannes"),
        ("this", False, "dieser gute Mann", "diesen guten Mann", "diesem guten Mann",
         "dieses guten Mannes"),
        ("our", False, "unser guter Mann", "unseren guten Mann", "unserem guten Mann",
         "unseres guten Mannes"),
        ("the", True, "die guten Männer", "die guten Männer", "den guten Männern",
         "der guten Männer"),
        ("two", True, "zwei gute Männer", "zwei gute Männer", "zwei guten Männern",
         "zweier guter Männer"),
        ("four", True, "vier gute Männer", "vier gute Männer", "vier guten Männern",
         "vier guter Männer"),
        ("many", True, "viele gute Männer", "viele gute Männer", "vielen guten Männern",
         "vieler guter Männer"),
        ("my", True, "meine guten Männer", "meine guten Männer", "meinen guten Männern",
         "meiner guten Männer"),
    ],
)  # fmt: skip
def test_endings(determiner, plural, nominative, accusative, dative, genitive):
    man = Core(NOUNS["man"], plural, determiner, adjectives("good"))
    subject, other = NounPhrase(1, man), NounPhrase(2, man)
    inside = Prepositional(Expression("inside"), other)
    sees = clause("see:transitive", PRESENT, subject, object=other, place=inside)
    seen = "sehen" if plural else "sieht"
    assert german(sees) == f"{nominative} {seen} {accusative} innerhalb {genitive}"
    assert german(clause("help", object=other)) == f"sie hilft {dative}"


def test_owners():
    book = the("book", False, "")
    book.owner = the("student")
    assert german(clause("see:transitive", object=book)) == "sie sieht das Buch des Studenten"
    book.owner = NounPhrase(3, Core(Noun("Louis", "name", gender="m"), False, ""))
    assert german(clause("see:transitive", object=book)) == "sie sieht Louis' Buch"


def test_dates_and_places():
    written = clause("sleep:intransitive", PAST, time=Dated(7, 5, 3, 1990))
    written.place = Prepositional(Expression("in"), the("house"))
    assert german(written) == "am 5. März 1990 hat sie im Haus geschlafen"
