"""German word order, cases and endings, sentence by sentence."""

from dataclasses import replace

import pytest

from datamodules.grammar.languages import find_language
from datamodules.grammar.meaning.phrases import (
    THIRD_SINGULAR,
    Adjective,
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
)
from tests.datamodules.grammar.meanings import (
    BE,
    CAN,
    LEXICON,
    ME,
    MUST,
    NOUNS,
    SHE,
    SLEEP,
    WE,
    compared,
    condition,
    saying,
    shared,
    sold,
    two,
)

VERBS = {verb.name: verb for verb in LEXICON.verbs}
PRESENT, PAST, FUTURE = Mode("present"), Mode("past"), Mode("future")
ON_MONDAYS, LAST_WEEK = (saying(time, "topic") for time in ("on Mondays", "last week"))
YESTERDAY = saying("yesterday")
WHEN, BECAUSE = saying("when", "subordinating"), saying("because", "subordinating")
SO, BUT, THERE = saying("so:then"), saying("but"), saying("there")


def the(name: str, plural: bool = False, determiner: str = "the", **of_core) -> NounPhrase:
    return NounPhrase(id(name) % 80, Core(NOUNS[name], plural, determiner, **of_core))


def adjectives(*names: str) -> tuple[Adjective, ...]:
    return tuple(Adjective(name, "quality", ()) for name in names)


def clause(verb: str, mode: Mode = PRESENT, subject=SHE, **parts) -> Clause:
    return Clause(99, VERBS[verb], mode, subject, **parts)


def be(subject, adjective: str, mode: Mode = PRESENT) -> Clause:
    return Clause(99, BE, mode, subject, adjective=adjectives(adjective)[0])


def it(noun: str, **of_pronoun) -> Pronoun:
    return Pronoun(THIRD_SINGULAR, NOUNS[noun], **of_pronoun)


def whose(noun: str, owned: Clause) -> NounPhrase:
    """Return a noun phrase with a relative clause that is neither subject nor object there."""
    phrase = the(noun)
    phrase.relative, owned.antecedent = owned, phrase
    return phrase


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
        (clause("see:transitive", time=ON_MONDAYS, object=the("dog")),
         "montags sieht sie den Hund"),
        (clause("see:transitive", PAST, time=YESTERDAY, object=the("dog")),
         "sie hat gestern den Hund gesehen"),
        (clause("arrive:intransitive", subject=ME), "ich komme an"),
        (clause("help", object=the("boy", True)), "sie hilft den Jungen"),
        (clause("give", PAST, object=the("book"), recipient=the("student")),
         "sie hat dem Studenten das Buch gegeben"),
        (clause("go", oblique=the("house")), "sie geht zum Haus"),
        (clause("go", PAST, oblique=the("forest")), "sie ist in den Wald gegangen"),
        (clause("go", oblique=two("the forest", "the house")),
         "sie geht zu dem Wald und dem Haus"),
        (clause("love", PAST, object=the("dog")), "sie liebte den Hund"),
        (clause("like", PAST, the("king"), object=the("book")), "dem König gefiel das Buch"),
        (clause("see:transitive", object=the("dog", False, "its", possessor=NOUNS["machine"])),
         "sie sieht ihren Hund"),
        (clause("dream:prepositional", PAST, the("man"), oblique=the("king"), time=LAST_WEEK),
         "der Mann hat letzte Woche vom König geträumt"),
        (clause("help", PAST, the("man"), object=the("woman"), time=LAST_WEEK),
         "der Mann hat letzte Woche der Frau geholfen"),
    ],
)  # fmt: skip
def test_main_clauses(written, expected):
    assert german(written) == expected


@pytest.mark.parametrize(
    ("negated", "expected"),
    [
        (clause("see:transitive", Mode("present", "not"), object=the("dog")),
         "sie sieht den Hund nicht"),
        (clause("see:transitive", Mode("past", "never"),
                object=the("dog", False, "a", denied=True)),
         "sie hat nie einen Hund gesehen"),
        (clause("see:transitive", Mode("past", "never"), object=the("dog")),
         "sie hat den Hund nie gesehen"),
        (clause("wait for", Mode("present", "not"), object=the("bus")),
         "sie wartet nicht auf den Bus"),
        (clause("see:transitive", Mode("present", adverb=Expression("often")), object=the("dog")),
         "sie sieht den Hund oft"),
        (clause("see:transitive", Mode("present", adverb=Expression("often")),
                object=the("dog", True, "three")),
         "sie sieht oft drei Hunde"),
        (clause("see:transitive", Mode("present", adverb=Expression("often")),
                object=NounPhrase(7, Core(NOUNS["dog"], False, ""), the("king"))),
         "sie sieht oft den Hund des Königs"),
        (clause("see:transitive", Mode("present", "not", modal=VERBS["try"]),
                object=the("dog", False, "a", denied=True)),
         "sie versucht nicht, einen Hund zu sehen"),
        (clause("obey", Mode("present", "not"), oblique=the("king", False, "a")),
         "sie gehorcht keinem König"),
        (clause("like", Mode("present", "not"), the("king", False, "a"), object=the("book")),
         "einem König gefällt das Buch nicht"),
        (clause("see:transitive", Mode("present", "not"), object=the("dog", True, "three")),
         "sie sieht drei Hunde nicht"),
        (clause("see:transitive", Mode("present", "not"), object=the("dog", True, "many")),
         "sie sieht nicht viele Hunde"),
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
        ("try", PAST._replace(habit=True), "sie versuchte, den Hund zu sehen"),
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


def test_no_contraction_over_a_comma():
    begins = Mode("present", modal=VERBS["begin:infinitive"])
    assert german(clause("buy", begins, object=the("house"))) == "sie fängt an, das Haus zu kaufen"


def test_complement_clauses():
    inner = clause("sleep:intransitive", PAST, the("dog"))
    assert german(clause("say", PAST, complement=inner)) == (
        "sie hat gesagt, dass der Hund geschlafen hat"
    )


@pytest.mark.parametrize(
    ("noun", "expected"),
    [
        (relative(the("king"), "help", subject=ME), "der König, dem ich helfe, singt"),
        (relative(the("king", True), "help", subject=ME), "die Könige, denen ich helfe, singen"),
        (relative(the("queen"), "wait for", subject=ME), "die Königin, auf die ich warte, singt"),
        (relative(the("queen"), "see:transitive", Mode("past", modal=VERBS["try"]), subject=ME),
         "die Königin, die ich zu sehen versucht habe, singt"),
    ],
)  # fmt: skip
def test_relative_clauses(noun, expected):
    assert german(clause("sing:intransitive", PRESENT, noun)) == expected


def test_relative_clauses_behind_the_verb():
    dog = relative(the("dog"), "sleep:intransitive")
    sees = clause("see:transitive", PAST, object=dog)
    assert german(sees) == "sie hat den Hund gesehen, der schläft"
    assert german(replace(sees, mode=PRESENT)) == "sie sieht den Hund, der schläft"
    denied = replace(sees, mode=Mode("present", "not"))
    assert german(denied) == "sie sieht den Hund nicht, der schläft"
    in_house = Prepositional(Expression("in"), the("house"))
    assert german(replace(sees, place=in_house)) == "sie hat den Hund, der schläft, im Haus gesehen"
    never = replace(sees, mode=Mode("present", "never"))
    assert german(never) == "sie sieht nie den Hund, der schläft"
    one = relative(the("dog", determiner="a"), "sleep:intransitive")
    assert german(replace(sees, place=in_house, object=one)) == (
        "sie hat im Haus einen Hund gesehen, der schläft"
    )
    tries = replace(sees, mode=Mode("present", "not", modal=VERBS["try"]))
    assert german(tries) == "sie versucht nicht, den Hund zu sehen, der schläft"
    heavy = relative(the("king"), "see:transitive", object=dog)
    assert german(replace(sees, object=heavy, place=in_house)) == (
        "sie hat den König im Haus gesehen, der den Hund sieht, der schläft"
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
    owned = NounPhrase(3, Core(NOUNS["book"], False, ""), owner=other)
    sees = clause("see:transitive", PRESENT, subject, object=other)
    seen = "sehen" if plural else "sieht"
    assert german(sees) == f"{nominative} {seen} {accusative}"
    assert german(clause("see:transitive", object=owned)) == f"sie sieht das Buch {genitive}"
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


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (clause("wait for", object=two("the bus", "the car")),
         "sie wartet auf den Bus und das Auto"),
        (clause("see:transitive", Mode("present", adverb=Expression("often")),
                object=two("a dog", "the cat")),
         "sie sieht oft einen Hund und die Katze"),
        (clause("go", oblique=two("the house", "the church")),
         "sie geht zu dem Haus und der Kirche"),
    ],
)  # fmt: skip
def test_two_nouns(written, expected):
    assert german(written) == expected


def test_verbs_with_one_subject():
    opens = clause("open", PRESENT, the("man"), object=the("box"), time=ON_MONDAYS)
    assert german(*shared(opens, "sleep", **SLEEP)) == (
        "montags macht der Mann die Schachtel auf und schläft"
    )
    opened = replace(opens, mode=PAST, time=None)
    assert german(*shared(opened, "sleep", **SLEEP)) == (
        "der Mann hat die Schachtel aufgemacht und hat geschlafen"
    )
    slept = shared(opened, "sleep", **SLEEP)[1]
    assert isinstance(slept, Joined)
    assert german(opened, slept._replace(conjunction=BUT)) == (
        "der Mann hat die Schachtel aufgemacht, aber hat geschlafen"
    )


@pytest.mark.parametrize(
    ("noun", "expected"),
    [
        (whose("king", clause("help", PRESENT, ME, gap="owner",
                              object=the("dog", False, "whose", adjectives=adjectives("good")))),
         "der König, dessen gutem Hund ich helfe, singt"),
        (whose("king", clause("wait for", PRESENT, ME, gap="owner",
                              object=the("bus", False, "whose"))),
         "der König, auf dessen Bus ich warte, singt"),
        (whose("king", clause("see:transitive", Mode("present", modal=VERBS["try"]), ME,
                              gap="owner", object=the("dog", False, "whose"))),
         "der König, dessen Hund ich zu sehen versuche, singt"),
    ],
)  # fmt: skip
def test_other_relative_clauses(noun, expected):
    assert german(clause("sing:intransitive", PRESENT, noun)) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (clause("wash", subject=the("king"), time=ON_MONDAYS, object=it("king", reflexive=True)),
         "montags wäscht sich der König"),
        (clause("laugh:prepositional", oblique=SHE._replace(reflexive=True)),
         "sie lacht über sich"),
        (clause("look for", Mode("present", modal=CAN), the("king", True), object=WE,
                time=ON_MONDAYS),
         "montags können uns die Könige suchen"),
        (clause("see:transitive", subject=the("king"), object=SHE, time=ON_MONDAYS),
         "montags sieht sie der König"),
        (clause("see:transitive", subject=the("queen"), object=SHE, time=ON_MONDAYS),
         "montags sieht die Königin sie"),
        (clause("see:transitive", subject=relative(the("queen"), "sleep:intransitive"), object=SHE,
                time=ON_MONDAYS),
         "die Königin, die schläft, sieht sie montags"),
        (clause("give", subject=the("king"), object=it("book"), recipient=it("boy"),
                time=ON_MONDAYS),
         "montags gibt es ihm der König"),
        (clause("like", object=the("book"), time=ON_MONDAYS), "montags gefällt ihr das Buch"),
        (clause("miss:inverse", subject=the("man"), object=the("queen")),
         "dem Mann fehlt die Königin"),
        (clause("miss:inverse", FUTURE, the("man", True), object=the("queen"), time=ON_MONDAYS),
         "montags wird den Männern die Königin fehlen"),
        (clause("miss:inverse", subject=the("man"), object=it("queen")), "sie fehlt dem Mann"),
        (clause("miss:inverse", subject=the("queen", True, "two"), object=the("man")),
         "der Mann fehlt zwei Königinnen"),
        (clause("work:intransitive", Mode("present", "not"), place=THERE),
         "sie arbeitet dort nicht"),
        (clause("see:transitive", PAST, object=the("dog"), time=YESTERDAY, place=THERE),
         "sie hat gestern dort den Hund gesehen"),
        (clause("see:transitive", subject=the("girl"),
                object=the("dog", False, "her", possessor=NOUNS["girl"])),
         "das Mädchen sieht seinen Hund"),
        (clause("see:transitive", subject=it("girl"),
                object=the("dog", False, "her", possessor=NOUNS["girl"])),
         "es sieht seinen Hund"),
        (clause("send", Mode("present", adverb=Expression("always")), object=the("knife"),
                recipient=the("doctor")),
         "sie schickt dem Arzt immer das Messer"),
        (clause("wash", PAST, object=the("dog", True, "two"), manner=saying("slowly")),
         "sie hat langsam zwei Hunde gewaschen"),
        (clause("wash", Mode("past", "not"), object=the("dog", determiner="a", denied=True),
                manner=saying("slowly")),
         "sie hat keinen Hund langsam gewaschen"),
        (clause("send", Mode("present", "not"), object=the("knife"), recipient=the("doctor")),
         "sie schickt dem Arzt das Messer nicht"),
        (clause("sleep:intransitive", PAST, time=YESTERDAY, time_first=True),
         "gestern hat sie geschlafen"),
    ],
)  # fmt: skip
def test_the_middle_field(written, expected):
    assert german(written) == expected


def test_pronouns_before_a_long_subject_of_a_subordinate_clause():
    sings = clause("sing:intransitive")
    sees = clause("see:transitive", PRESENT, the("king"), object=ME)
    assert german(sings, Joined(sees, BECAUSE)) == "sie singt, weil der König mich sieht"
    recovers = clause("recover", PRESENT, the("king"))
    assert german(sings, Joined(recovers, BECAUSE)) == "sie singt, weil sich der König erholt"
    sees.subject = relative(the("king"), "sleep:intransitive")
    assert german(sings, Joined(sees, BECAUSE)) == (
        "sie singt, weil mich der König, der schläft, sieht"
    )


@pytest.mark.parametrize(
    ("opening", "main", "expected"),
    [
        (clause("arrive:intransitive", Mode("supposed", modal=VERBS["want:infinitive"])),
         clause("sleep:intransitive", Mode("unreal", modal=MUST), ME),
         "wenn sie ankommen wollte, müsste ich schlafen"),
        (clause("arrive:intransitive", Mode("supposed"), ME),
         clause("sell:transitive", Mode("unreal", modal=VERBS["try"]), object=the("dog")),
         "wenn ich ankommen würde, würde sie versuchen, den Hund zu verkaufen"),
    ],
)  # fmt: skip
def test_conditions(opening, main, expected):
    assert german(*condition(opening, main)) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (sold(PRESENT), "das Haus wird verkauft"),
        (sold(PAST, the("king"), time=YESTERDAY), "das Haus ist gestern vom König verkauft worden"),
        (sold(Mode("past", "not", habit=True), the("king")),
         "das Haus wurde nicht vom König verkauft"),
        (sold(Mode("past", "not", habit=True), the("king"), manner=saying("quickly")),
         "das Haus wurde vom König nicht schnell verkauft"),
        (sold(Mode("present", adverb=Expression("often")), the("king", True, "two")),
         "das Haus wird oft von zwei Königen verkauft"),
        (sold(Mode("past", modal=MUST)), "das Haus musste verkauft werden"),
        (sold(Mode("unreal")), "das Haus würde verkauft werden"),
        (sold(PRESENT, question="whether"), "wird das Haus verkauft"),
        (be(the("king", True), "ill", Mode("perfect")), "die Könige sind krank gewesen"),
    ],
)  # fmt: skip
def test_passives_and_perfects(written, expected):
    assert german(written) == expected


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (clause("sleep:intransitive", PRESENT, the("king"), question="whether", time=ON_MONDAYS),
         "schläft der König montags"),
        (clause("wait for", question="what"), "worauf wartet sie"),
        (clause("see:transitive", Mode("present", modal=VERBS["try"]), question="what"),
         "was versucht sie zu sehen"),
        (clause("like", PRESENT, the("king"), question="what"), "was gefällt dem König"),
        (clause("like", PRESENT, None, question="who", object=the("house")),
         "wem gefällt das Haus"),
    ],
)  # fmt: skip
def test_questions(asked, expected):
    assert german(asked) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (compared("more", "expensive"), "das Haus ist teurer als ein Baum"),
        (compared("more", "good", mode=Mode("perfect")),
         "das Haus ist besser gewesen als ein Baum"),
    ],
)  # fmt: skip
def test_comparisons(written, expected):
    assert german(written) == expected


def test_a_comparison_ends_a_subordinate_clause():
    sings, bigger = clause("sing:intransitive"), compared("more", "big")
    assert (
        german(sings, Joined(bigger, BECAUSE)) == "sie singt, weil das Haus größer ist als ein Baum"
    )
