"""What a reader could take another way: which errors leave a sentence that is right after all."""

from collections.abc import Iterator

from datamodules.grammar.contrast.edits import Right
from datamodules.grammar.languages.language import NOUN, OBJECT, Language, Text, read_sections
from datamodules.grammar.meaning.phrases import (
    ANIMATE,
    THIRD_PLURAL,
    THIRD_SINGULAR,
    Clause,
    Core,
    Noun,
    NounPhrase,
    Participant,
    Prepositional,
    Pronoun,
    Verb,
)

_LISTS = read_sections(__package__, "verbs.txt")
_OPEN = {verb: cells[0].split() for verb, cells in _LISTS["open"].items()}
SINGULAR_ALLOWED = ("food", "drink", "material", "idea", "event")
"""Classes of which two nouns may be one thing with a singular verb (*salt and pepper is*)."""
_SAID = ("idea", "event")  # classes that *it* has when it stands for a whole clause
_THIRD = (THIRD_SINGULAR, THIRD_PLURAL)


def listed(section: str, name: str) -> bool:
    """Return whether a section of ``verbs.txt`` has a word; a language may lack the section."""
    return name in _LISTS.get(section, {})


def strange_parts(code: str, stem: str) -> list[str]:
    """Return the separate parts that make no verb of the language with ``stem``."""
    return _LISTS[f"strange_{code}"].get(stem, [""])[0].split()


def decides(verb: Verb, role: int, noun: Noun, other: Noun, language: Language) -> bool:
    """Return whether a verb excludes the ``other`` sense of a subject, or of what it governs."""
    open_ = _OPEN.get(verb.name, ())
    if noun.name.partition(":")[0] in open_ or "all" in open_:
        return False
    if listed(f"covers_{language.code}", noun.name):
        return False
    if role == OBJECT:
        return other.kind in verb.excludes
    return verb.living and other.kind not in ANIMATE


def has_one_gender(noun: Noun, language: Language) -> bool:
    """Return whether a thing or animal has one gender, and its word no sense in another gender."""
    return not (noun.gender or listed(f"two_genders_{language.code}", noun.name))


def words_of(noun: Noun, plural: bool, determiner: str, language: Language) -> list[str]:
    """Return a noun with its determiner, if there is one."""
    text = Text()
    language.noun_phrase(NounPhrase(0, Core(noun, plural, determiner)), text)
    return text.texts


def shows_number(noun: Noun, determiner: str, language: Language) -> bool:
    """Return whether a noun with *the*, or alone, is singular or plural by its form."""
    the = "the" if determiner else ""
    one, other = (words_of(noun, plural, the, language) for plural in (False, True))
    return noun.counted and one != other


def mentions(clause: Clause) -> Iterator[Participant]:
    """Yield the pronouns and noun phrases of a clause, with those in noun phrases.

    Those of inner clauses are left out.
    """
    place = clause.place.phrase if isinstance(clause.place, Prepositional) else None
    participants = clause.subject, clause.object, clause.recipient, clause.oblique
    for each in (*participants, clause.standard, place):
        yield from _parts(each)


def _parts(participant: Participant | None) -> Iterator[Participant]:
    if participant is not None:
        yield participant
    if isinstance(participant, NounPhrase):
        attribute = None if participant.attribute is None else participant.attribute.phrase
        for inner in (participant.owner, participant.beside, attribute):
            yield from _parts(inner)


def wrong_genders(right: Right, clause: Clause, name: str, near: int) -> Iterator[str]:
    """Yield the genders of which a pronoun can stand for no noun before it, nor for a clause."""
    pronoun = getattr(clause, name)
    german = right.language.code == "de"
    of_clauses = "n" if german else "m" if name == "object" else ""
    for wrong in "mfn" if german else "mf":
        numbers = {pronoun.person == THIRD_PLURAL}
        if german and wrong == "f" and name == "object":
            numbers.add(True)  # *sie* is *them* too
        said = wrong in of_clauses and _may_stand_for_a_clause(clause, name)
        if not said and not _competes(right, near, wrong, numbers):
            yield wrong


def _competes(right: Right, near: int, gender: str, numbers: set[bool]) -> bool:
    """Return whether a noun before a place has a gender, and one of the numbers.

    It could be the antecedent of a pronoun with the wrong gender. *He*, *she* and *they* without
    an antecedent of their own stand in the first clause.
    """
    for clause in right.clauses:
        for each in mentions(clause):
            plural = each.person == THIRD_PLURAL
            if isinstance(each, Pronoun):
                known = each.noun is not None or each.person not in _THIRD
                if not known and each.gender in (gender, "") and plural in numbers:
                    return True
                continue
            place = right.first(each.unit, NOUN)
            if place is None or place >= near:
                continue
            core = each.core
            if right.language.gender(core.noun) == gender and core.plural in numbers:
                return True
            if each.beside is not None and True in numbers:
                return True
    return False


def _may_stand_for_a_clause(clause: Clause, name: str) -> bool:
    """Return whether *it* as subject or object may be the whole clause before (*it is bad*)."""
    kinds = clause.verb.subjects if name == "subject" else clause.verb.objects
    if clause.adjective is not None:
        if listed("weather", clause.adjective.name):
            return True
        kinds = clause.adjective.kinds
    elif clause.verb.frame == "be":
        kinds = ()
    # One also *wants it* or *loves it* when somebody does something.
    feels = name == "object" and clause.verb.state
    return feels or not set(_SAID).isdisjoint(kinds)


def could_be_reversed(clause: Clause, subject: NounPhrase, language: Language) -> bool:
    """Return whether a verb in the other number makes the object the subject.

    So in *Das Kind sehen die Frauen*, in *die Frau, die die Männer sehen*, and in *Was sieht die
    Frauen?*
    """
    if clause.mode.passive or language.verb_of_another_case(clause.verb) is None:
        return False
    if clause.question == "what":
        return subject.person != THIRD_SINGULAR and not _shows_case(subject, language)
    other = clause.antecedent if clause.gap == "object" else clause.object
    if other is None:
        return False
    two = isinstance(other, NounPhrase) and other.beside is not None  # *sieht ein Tier und Kühe*
    agrees = two or (other.person != THIRD_SINGULAR) != subject.plural
    return agrees and not (_shows_case(subject, language) or _shows_case(other, language))


def _shows_case(participant: Participant, language: Language) -> bool:
    """Return whether nominative and accusative differ: *er* and *ihn*, *ein* and *einen*."""
    if isinstance(participant, NounPhrase):
        core, beside = participant.core, participant.beside
        shown = not core.plural and core.determiner not in ("", "whose")
        return (shown and language.gender(core.noun) == "m") or (
            beside is not None and _shows_case(beside, language)
        )
    if participant.reflexive or participant.person not in _THIRD:
        return True
    noun = participant.noun
    gender = participant.gender if noun is None else language.gender(noun)
    return participant.person == THIRD_SINGULAR and gender == "m"
