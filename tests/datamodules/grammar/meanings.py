"""Meanings written by hand, for tests of what the languages make of them."""

from datamodules.grammar.meaning.lexicon import lexicon
from datamodules.grammar.meaning.phrases import (
    FIRST_PLURAL,
    FIRST_SINGULAR,
    THIRD_PLURAL,
    THIRD_SINGULAR,
    Adjective,
    Adverbial,
    Clause,
    Core,
    Expression,
    Joined,
    Mode,
    NounPhrase,
    Participant,
    Prepositional,
    Pronoun,
    Verb,
)

LEXICON = lexicon(2000)
NOUNS = {noun.name: noun for noun in LEXICON.nouns}
ADJECTIVES = {adjective.name: adjective for adjective in LEXICON.adjectives}
BE = Verb("be", "be", (), state=True)
HE, SHE = Pronoun(THIRD_SINGULAR), Pronoun(THIRD_SINGULAR, gender="f")
ME, WE, THEY = Pronoun(FIRST_SINGULAR), Pronoun(FIRST_PLURAL), Pronoun(THIRD_PLURAL)


class Units:
    last = 0


def unit() -> int:
    Units.last += 1
    return Units.last


def phrase(text: str, denied: bool = False) -> NounPhrase:
    """Build ``the old/happy cat``: determiner, adjectives, noun; ``cat+`` is a plural."""
    determiner, *described, name = text.split()
    adjectives: tuple[Adjective, ...] = tuple(ADJECTIVES[word] for word in described)
    noun = NOUNS[name.rstrip("+")]
    core = Core(noun, name.endswith("+"), determiner.strip("-"), adjectives, denied)
    return NounPhrase(unit(), core)


def verb(name: str, frame: str = "transitive") -> Verb:
    """Return a verb that is in the lexicon only in one frame, or in the frame ``frame``."""
    known = {each.name: each for each in LEXICON.verbs}
    return known.get(name) or known[f"{name}:{frame}"]


def clause(subject: Participant | None, name: str, mode: Mode | str = "present", **parts) -> Clause:
    frame = parts.pop("frame", "transitive")
    found = BE if name == "be" else verb(name, frame)
    return Clause(unit(), found, Mode(mode) if isinstance(mode, str) else mode, subject, **parts)


def saying(text: str, *kinds: str) -> Adverbial:
    return Adverbial(unit(), Expression(text, kinds))


def place(preposition: str, where: NounPhrase | str) -> Prepositional:
    where = phrase(where) if isinstance(where, str) else where
    return Prepositional(Expression(preposition), where)


def more(clause: Clause, conjunction: str = "", *kinds: str, comma: bool = False) -> Joined:
    return Joined(clause, saying(conjunction, *kinds) if conjunction else None, comma)


def two(first: str, second: str) -> NounPhrase:
    """Build *the man and the woman*."""
    both_of = phrase(first)
    both_of.beside = phrase(second)
    return both_of


TRY = verb("try", "infinitive")
NOT, NEVER = Mode("present", "not"), Mode("past", "never", habit=True)


def relative(
    antecedent: NounPhrase, gap: str, name: str, mode: Mode | str = "present", **parts
) -> NounPhrase:
    subject = parts.pop("subject", None)
    antecedent.relative = clause(subject, name, mode, gap=gap, antecedent=antecedent, **parts)
    return antecedent


def seen(antecedent: str, gap: str, name: str, mode: Mode | str = "present", **parts) -> Clause:
    """Build *I see the man that …*."""
    return clause(ME, "see", object=relative(phrase(antecedent), gap, name, mode, **parts))


def shared(first: Clause, name: str, **parts) -> list[Joined | Clause]:
    """Build *he … and …*, with one subject."""
    owner = first.subject
    known = {"antecedent": owner} if isinstance(owner, NounPhrase) else {}
    subject = None if known else owner
    second = clause(subject, name, first.mode, gap="shared", **known, **parts)
    return [first, more(second, "and")]


def subordinate(conjunction: str, mode: Mode) -> list[Joined | Clause]:
    """Build *he worked although she …*."""
    main = clause(HE, "work", Mode(mode.tense), frame="intransitive")
    return [main, more(clause(SHE, "arrive", mode, frame="intransitive"), conjunction,
                       "subordinating")]  # fmt: skip


def condition(supposed: Clause, unreal: Clause) -> list[Joined | Clause]:
    return [more(supposed, "if", "subordinating"), more(unreal, comma=True)]


def compared(degree: str, adjective: str, subject: str = "the house", **parts) -> Clause:
    return clause(phrase(subject), "be", adjective=ADJECTIVES[adjective], degree=Expression(degree),
                  standard=phrase("a tree"), **parts)  # fmt: skip


def sold(mode: Mode, subject: NounPhrase | None = None, **parts) -> Clause:
    parts.setdefault("object", phrase("the house"))
    return clause(subject, "sell", mode._replace(passive=True), **parts)


CAN, MUST = Verb("can", "modal", ()), Verb("must", "modal", ())
HOUSE, TABLES = Pronoun(THIRD_SINGULAR, NOUNS["house"]), Pronoun(THIRD_PLURAL, NOUNS["table"])
SLEEP = {"frame": "intransitive"}
ON = {"frame": "prepositional"}
LIKELY = Mode("past", subjunctive=True)
Built = Joined | Clause | list[Joined | Clause]
