"""German word order, cases and endings, sentence by sentence."""

import pytest

from datamodules.grammar.meaning.phrases import THIRD_SINGULAR, Clause, Pronoun
from tests.datamodules.grammar.meanings import (
    ME,
    NOUNS,
    SHE,
    WE,
    Built,
    clause,
    dated,
    german,
    more,
    phrase,
    place,
    relative,
    shared,
)


def she(verb: str, *thing_and_mode, **parts) -> Clause:
    return clause(SHE, verb, *thing_and_mode, **parts)


def sings(*relative_clause, **parts) -> Clause:
    """Build a noun with a relative clause, as the subject of *sings*."""
    return clause(relative(*relative_clause, **parts), "sing")


def it(noun: str, **of_pronoun) -> Pronoun:
    return Pronoun(THIRD_SINGULAR, NOUNS[noun], **of_pronoun)


SLEEPER = relative("the dog", "sleep")
SLEEPS, ARRIVES = clause("the dog", "sleep"), clause("the king", "arrive", time="on Mondays")
SLEPT = clause("the dog", "sleep", mode="past")
OPENED = clause("the man", "open", "the box", "past")
HEAVY = relative("the king", "see", SLEEPER)
LONG = relative("the king", "sleep")
IN_HOUSE = {"place": place("in", "the house")}
MONDAYS = {"time": "on Mondays"}
BIGGER = clause("the house", "be", adjective="big", degree="more", standard="a tree")
SENTENCES: dict[str, Built] = {
    # Main clauses.
    "montags sieht sie den Hund": she("see", "the dog", **MONDAYS),
    "sie hat gestern den Hund gesehen": she("see", "the dog", "past", time="yesterday"),
    "ich komme an": clause(ME, "arrive"),
    "sie hilft den Jungen": she("help", "the boy+"),
    "sie hat dem Studenten das Buch gegeben": she(
        "give", "the book", "past", recipient="the student"
    ),
    "sie geht zum Haus": she("go", oblique="the house"),
    "sie ist in den Wald gegangen": she("go", mode="past", oblique="the forest"),
    "sie geht zu dem Wald und dem Haus": she("go", oblique="the forest and the house"),
    "sie liebte den Hund": she("love", "the dog", "past"),
    "dem König gefiel das Buch": clause("the king", "like", "the book", "past"),
    "sie sieht ihren Hund": she("see", phrase("its dog", "machine")),
    "der Mann hat letzte Woche vom König geträumt": clause(
        "the man", "dream", mode="past", oblique="the king", time="last week"
    ),
    "der Mann hat letzte Woche der Frau geholfen": clause(
        "the man", "help", "the woman", "past", time="last week"
    ),
    # Negation and frequency.
    "sie sieht den Hund nicht": she("see", "the dog", "present not"),
    "sie hat nie einen Hund gesehen": she("see", "a dog", "past never"),
    "sie hat den Hund nie gesehen": she("see", "the dog", "past never"),
    "sie wartet nicht auf den Bus": she("wait for", "the bus", "present not"),
    "sie sieht den Hund oft": she("see", "the dog", "present often"),
    "sie sieht oft drei Hunde": she("see", "three dog+", "present often"),
    "sie sieht oft den Hund des Königs": she("see", "- dog of the king", "present often"),
    "sie versucht nicht, einen Hund zu sehen": she("see", "a dog", "present not try"),
    "sie gehorcht keinem König": she("obey", mode="present not", oblique="a king"),
    "einem König gefällt das Buch nicht": clause("a king", "like", "the book", "present not"),
    "sie sieht drei Hunde nicht": she("see", "three dog+", "present not"),
    "sie sieht nicht viele Hunde": she("see", "many dog+", "present not"),
    "sie darf nicht schlafen": she("sleep", mode="present not must"),
    "sie gibt das Buch keinem König": she("give", "the book", "present not", recipient="a king"),
    "sie gibt das Buch nie zwei Königen": she(
        "give", "the book", "present never", recipient="two king+"
    ),
    # Infinitives; no preposition contracts over a comma.
    "sie will den Hund sehen": she("see", "the dog", "present want"),
    "sie wollte den Hund sehen": she("see", "the dog", "past want"),
    "sie wird den Hund sehen wollen": she("see", "the dog", "future want"),
    "sie versuchte, den Hund zu sehen": she("see", "the dog", "past try habit"),
    "sie weigert sich, den Hund zu sehen": she("see", "the dog", "present refuse"),
    "sie fängt an, das Haus zu kaufen": she("buy", "the house", "present begin"),
    # Subordinate clauses end with the verb.
    "der Hund schläft, wenn der König montags ankommt": [SLEEPS, more(ARRIVES, "when")],
    "wenn der König montags ankommt, schläft der Hund": [
        more(ARRIVES, "when"), more(SLEEPS, comma=True),
    ],
    "der Hund hat geschlafen, als der König gestern angekommen ist": [
        SLEPT, more(clause("the king", "arrive", mode="past", time="yesterday"), "when"),
    ],
    "der Hund schläft, daher kommt der König montags an": [
        SLEEPS, more(ARRIVES, "so:then", comma=True),
    ],
    "sie hat gesagt, dass der Hund geschlafen hat": she("say", mode="past", complement=SLEPT),
    "sie singt, weil das Haus größer ist als ein Baum": [she("sing"), more(BIGGER, "because")],
    # Relative clauses.
    "der König, dem ich helfe, singt": sings("the king", "help", subject=ME),
    "die Könige, denen ich helfe, singen": sings("the king+", "help", subject=ME),
    "die Königin, auf die ich warte, singt": sings("the queen", "wait for", subject=ME),
    "die Königin, die ich zu sehen versucht habe, singt": sings(
        "the queen", "see", mode="past try", subject=ME
    ),
    "der König, dessen gutem Hund ich helfe, singt": sings(
        "the king", "help", "whose good dog", subject=ME, gap="owner"
    ),
    "der König, auf dessen Bus ich warte, singt": sings(
        "the king", "wait for", "whose bus", subject=ME, gap="owner"
    ),
    "der König, dessen Hund ich zu sehen versuche, singt": sings(
        "the king", "see", "whose dog", "present try", subject=ME, gap="owner"
    ),
    "sie hat den Hund gesehen, der schläft": she("see", SLEEPER, "past"),
    "sie sieht den Hund, der schläft": she("see", SLEEPER),
    "sie sieht den Hund nicht, der schläft": she("see", SLEEPER, "present not"),
    "sie hat den Hund, der schläft, im Haus gesehen": she("see", SLEEPER, "past", **IN_HOUSE),
    "sie sieht nie den Hund, der schläft": she("see", SLEEPER, "present never"),
    "sie hat im Haus einen Hund gesehen, der schläft": she(
        "see", relative("a dog", "sleep"), "past", **IN_HOUSE
    ),
    "sie versucht nicht, den Hund zu sehen, der schläft": she("see", SLEEPER, "present not try"),
    "sie hat den König im Haus gesehen, der den Hund sieht, der schläft": she(
        "see", HEAVY, "past", **IN_HOUSE
    ),
    # Owners, dates and places.
    "sie sieht das Buch des Studenten": she("see", "- book of the student"),
    "sie sieht Louis' Buch": she("see", "- book of Louis"),
    "am 5. März 1990 hat sie im Haus geschlafen": she(
        "sleep", mode="past", time=dated(5, 3, 1990), **IN_HOUSE
    ),
    # Two nouns, two verbs.
    "sie wartet auf den Bus und das Auto": she("wait for", "the bus and the car"),
    "sie sieht oft einen Hund und die Katze": she("see", "a dog and the cat", "present often"),
    "sie geht zu dem Haus und der Kirche": she("go", oblique="the house and the church"),
    "montags macht der Mann die Schachtel auf und schläft": shared(
        clause("the man", "open", "the box", **MONDAYS), "sleep"
    ),
    "der Mann hat die Schachtel aufgemacht und hat geschlafen": shared(
        OPENED, "sleep", mode="past"
    ),
    "der Mann hat die Schachtel aufgemacht, aber hat geschlafen": shared(
        OPENED, "sleep", mode="past", conjunction="but"
    ),
    # The middle field.
    "montags wäscht sich der König": clause(
        "the king", "wash", it("king", reflexive=True), **MONDAYS
    ),
    "sie lacht über sich": she("laugh", oblique=SHE._replace(reflexive=True)),
    "montags können uns die Könige suchen": clause(
        "the king+", "look for", WE, "present can", **MONDAYS
    ),
    "montags sieht sie der König": clause("the king", "see", SHE, **MONDAYS),
    "montags sieht die Königin sie": clause("the queen", "see", SHE, **MONDAYS),
    "die Königin, die schläft, sieht sie montags": clause(
        relative("the queen", "sleep"), "see", SHE, **MONDAYS
    ),
    "montags gibt es ihm der König": clause(
        "the king", "give", it("book"), recipient=it("boy"), **MONDAYS
    ),
    "montags gefällt ihr das Buch": she("like", "the book", **MONDAYS),
    "dem Mann fehlt die Königin": clause("the man", "miss:inverse", "the queen"),
    "montags wird den Männern die Königin fehlen": clause(
        "the man+", "miss:inverse", "the queen", "future", **MONDAYS
    ),
    "sie fehlt dem Mann": clause("the man", "miss:inverse", it("queen")),
    "der Mann fehlt zwei Königinnen": clause("two queen+", "miss:inverse", "the man"),
    "sie arbeitet dort nicht": she("work", mode="present not", place="there"),
    "sie hat gestern dort den Hund gesehen": she(
        "see", "the dog", "past", time="yesterday", place="there"
    ),
    "das Mädchen sieht seinen Hund": clause("the girl", "see", phrase("her dog", "girl")),
    "es sieht seinen Hund": clause(it("girl"), "see", phrase("her dog", "girl")),
    "sie schickt dem Arzt oft das Messer": she(
        "send", "the knife", "present often", recipient="the doctor"
    ),
    "sie hat langsam zwei Hunde gewaschen": she("wash", "two dog+", "past", manner="slowly"),
    "sie hat keinen Hund langsam gewaschen": she("wash", "a dog", "past not", manner="slowly"),
    "sie schickt dem Arzt das Messer nicht": she(
        "send", "the knife", "present not", recipient="the doctor"
    ),
    "gestern hat sie geschlafen": she("sleep", mode="past", time="yesterday", time_first=True),
    # Pronouns before a long subject of a subordinate clause.
    "sie singt, weil der König mich sieht": [
        she("sing"), more(clause("the king", "see", ME), "because"),
    ],
    "sie singt, weil sich der König erholt": [
        she("sing"), more(clause("the king", "recover"), "because"),
    ],
    "sie singt, weil mich der König, der schläft, sieht": [
        she("sing"), more(clause(LONG, "see", ME), "because"),
    ],
    # Conditions.
    "wenn sie ankommen wollte, müsste ich schlafen": [
        more(she("arrive", mode="supposed want"), "if"),
        more(clause(ME, "sleep", mode="unreal must"), comma=True),
    ],
    "wenn ich ankommen würde, würde sie versuchen, den Hund zu verkaufen": [
        more(clause(ME, "arrive", mode="supposed"), "if"),
        more(she("sell", "the dog", "unreal try"), comma=True),
    ],
    # Passives and perfects.
    "das Haus wird verkauft": clause(None, "sell", "the house", "present passive"),
    "das Haus ist gestern vom König verkauft worden": clause(
        "the king", "sell", "the house", "past passive", time="yesterday"
    ),
    "das Haus wurde nicht vom König verkauft": clause(
        "the king", "sell", "the house", "past not habit passive"
    ),
    "das Haus wurde vom König nicht schnell verkauft": clause(
        "the king", "sell", "the house", "past not habit passive", manner="quickly"
    ),
    "das Haus wird oft von zwei Königen verkauft": clause(
        "two king+", "sell", "the house", "present often passive"
    ),
    "das Haus musste verkauft werden": clause(None, "sell", "the house", "past must passive"),
    "das Haus würde verkauft werden": clause(None, "sell", "the house", "unreal passive"),
    "die Könige sind krank gewesen": clause("the king+", "be", mode="perfect", adjective="ill"),
    # Questions.
    "wird das Haus verkauft": clause(
        None, "sell", "the house", "present passive", question="whether"
    ),
    "schläft der König montags": clause("the king", "sleep", question="whether", **MONDAYS),
    "worauf wartet sie": she("wait for", question="what"),
    "was versucht sie zu sehen": she("see", mode="present try", question="what"),
    "was gefällt dem König": clause("the king", "like", question="what"),
    "wem gefällt das Haus": clause(None, "like", "the house", question="who"),
    # Comparisons.
    "das Haus ist teurer als ein Baum": clause(
        "the house", "be", adjective="expensive", degree="more", standard="a tree"
    ),
    "das Haus ist besser gewesen als ein Baum": clause(
        "the house", "be", mode="perfect", adjective="good", degree="more", standard="a tree"
    ),
}  # fmt: skip


@pytest.mark.parametrize("expected", SENTENCES)
def test_sentences(expected):
    assert german(SENTENCES[expected]) == expected


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
    man = f"{determiner} good man{'+' * plural}"
    seen = "sehen" if plural else "sieht"
    assert german(clause(man, "see", man)) == f"{nominative} {seen} {accusative}"
    assert german(she("see", f"- book of {man}")) == f"sie sieht das Buch {genitive}"
    assert german(she("help", man)) == f"sie hilft {dative}"
