"""Meanings written by hand, for tests of what the languages make of them."""

from typing import Any

from datamodules.grammar.languages import find_language
from datamodules.grammar.meaning.lexicon import lexicon
from datamodules.grammar.meaning.phrases import (
    FIRST_PLURAL,
    FIRST_SINGULAR,
    THIRD_PLURAL,
    THIRD_SINGULAR,
    Adverbial,
    Clause,
    Core,
    Dated,
    Joined,
    Mode,
    Noun,
    NounPhrase,
    Participant,
    Prepositional,
    Pronoun,
    Verb,
)

LEXICON = lexicon(2000)
NOUNS = {noun.name: noun for noun in LEXICON.nouns}
SENSES = {noun.name: noun for pair in LEXICON.senses for noun in pair}
ADJECTIVES = {adjective.name: adjective for adjective in LEXICON.adjectives}
VERBS = {verb.name: verb for verb in LEXICON.verbs} | {"be": Verb("be", "be", (), state=True)}
MODALS = {name: Verb(name, "modal", ()) for name in ("can", "must")}
EXPRESSIONS = {each.name: each for section in LEXICON.expressions.values() for each in section}
HE, SHE = Pronoun(THIRD_SINGULAR), Pronoun(THIRD_SINGULAR, gender="f")
ME, WE, THEY = Pronoun(FIRST_SINGULAR), Pronoun(FIRST_PLURAL), Pronoun(THIRD_PLURAL)
HOUSE, TABLES = Pronoun(THIRD_SINGULAR, NOUNS["house"]), Pronoun(THIRD_PLURAL, NOUNS["table"])
Built = Joined | Clause | list[Joined | Clause]


class Units:
    last = 0


def unit() -> int:
    Units.last += 1
    return Units.last


def phrase(text: str, possessor: str = "") -> NounPhrase:
    """Build ``the old happy cat``; ``cat+`` is a plural.

    ``- dog of the king`` has an owner and no determiner; ``the man and the woman`` are two.
    """
    text, _, second = text.partition(" and ")
    text, _, owner = text.partition(" of ")
    determiner, *adjectives, name = text.split() if " " in text else ("", text)
    singular = name.rstrip("+")
    noun = NOUNS.get(singular) or SENSES.get(singular) or Noun(singular, "name", gender="m")
    described = tuple(ADJECTIVES[word] for word in adjectives)
    core = Core(noun, name.endswith("+"), determiner.strip("-"), described)
    if possessor:
        core = core._replace(possessor=NOUNS[possessor])
    found = NounPhrase(unit(), core)
    found.owner = phrase(owner) if owner else None
    found.beside = phrase(second) if second else None
    return found


def participant(given: Participant | str | None) -> Participant | None:
    return phrase(given) if isinstance(given, str) else given


def mode_of(text: str) -> Mode:
    """Build ``past never habit``: a tense, and all else that a mode has in any order."""
    tense, *marks = text.split()
    return Mode(
        tense,
        next((word for word in marks if word in ("not", "never")), ""),
        next((each for each in LEXICON.expressions["frequency"] if each.name in marks), None),
        next((found for word in marks if (found := verb(word, "infinitive"))), None),
        *(mark in marks for mark in ("habit", "subjunctive", "passive")),
    )


def verb(name: str, frame: str) -> Verb | None:
    return MODALS.get(name) or VERBS.get(name) or VERBS.get(f"{name}:{frame}")


def saying(text: str) -> Adverbial:
    return Adverbial(unit(), EXPRESSIONS[text])


def place(preposition: str, where: str | NounPhrase) -> Prepositional:
    where = phrase(where) if isinstance(where, str) else where
    return Prepositional(EXPRESSIONS[preposition], where)


def clause(
    subject: Participant | str | None,
    name: str,
    thing: Participant | str | None = None,
    mode: str = "present",
    **parts: Any,
) -> Clause:
    """Build a clause; words stand for its parts, and a verb has the frame that fits them."""
    known = parts.keys() | {parts.get("gap")}
    frame = "prepositional" if "oblique" in known else "intransitive"
    if thing or "object" in known or parts.get("question") == "what":
        frame = "transitive"
    found = verb(name, frame)
    assert found is not None
    for part, given in parts.items():
        if part in ("recipient", "oblique", "standard"):
            parts[part] = participant(given)
        elif isinstance(given, str) and part in ("time", "place", "manner"):
            parts[part] = saying(given)
    if "adjective" in parts:
        parts["adjective"] = ADJECTIVES[parts["adjective"]]
    if "degree" in parts:
        parts["degree"] = EXPRESSIONS[parts["degree"]]
    chosen, governed = mode_of(mode), participant(thing)
    if chosen.negation and isinstance(thing, str) and isinstance(governed, NounPhrase):
        governed.core = governed.core._replace(denied=True)
    return Clause(unit(), found, chosen, participant(subject), governed, **parts)


def relative(
    noun: NounPhrase | str,
    *verb: Any,
    subject: Participant | str | None = None,
    gap: str = "",
    **parts: Any,
) -> NounPhrase:
    """Give a noun a relative clause; if that has a subject, the noun is its object."""
    antecedent = phrase(noun) if isinstance(noun, str) else noun
    gap = gap or ("object" if subject else "subject")
    antecedent.relative = clause(subject, *verb, gap=gap, antecedent=antecedent, **parts)
    return antecedent


def more(clause: Clause, conjunction: str = "", *, comma: bool = False) -> Joined:
    return Joined(clause, saying(conjunction) if conjunction else None, comma)


def shared(first: Clause, *verb: Any, conjunction: str = "and", **parts: Any) -> Built:
    """Build *he … and …*, with one subject."""
    owner = first.subject
    if isinstance(owner, NounPhrase):
        owner, parts["antecedent"] = None, owner
    return [first, more(clause(owner, *verb, gap="shared", **parts), conjunction)]


def dated(day: int, month: int, year: int) -> Dated:
    return Dated(unit(), day, month, year)


def meaning_of(built: Built) -> list[Joined]:
    joined = built if isinstance(built, list) else [built]
    return [each if isinstance(each, Joined) else Joined(each) for each in joined]


def german(built: Built) -> str:
    language = find_language("de")
    return language.finish(language.sentence(meaning_of(built)))[0]
