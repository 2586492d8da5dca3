"""French."""

from functools import cache
from typing import NamedTuple

from typing_extensions import override

from datamodules.grammar.languages.french import elision
from datamodules.grammar.languages.french.nouns import FrenchNouns
from datamodules.grammar.languages.french.verbs import (
    Agreement,
    Clitic,
    FrenchVerb,
    VerbGroup,
    verb_group,
)
from datamodules.grammar.languages.language import (
    EMPTY,
    OBJECT,
    OWNER,
    POSSIBLE,
    PREPOSITION,
    RECIPIENT,
    SUBJECT,
    SUBORDINATE,
    THAT,
    WHO,
    Cache,
    Language,
    Piece,
    Text,
    Word,
    graded,
    is_topic,
    piece,
    read_expressions,
    read_sections,
    subject_of,
)
from datamodules.grammar.meaning.phrases import (
    FIRST_PLURAL,
    FIRST_SINGULAR,
    THIRD_PLURAL,
    THIRD_SINGULAR,
    Clause,
    Core,
    Dated,
    Expression,
    Mode,
    Noun,
    NounPhrase,
    Participant,
    Pronoun,
    Verb,
)

MONTHS = (
    "janvier", "février", "mars", "avril", "mai", "juin",
    "juillet", "août", "septembre", "octobre", "novembre", "décembre",
)  # fmt: skip
_PLURALS = (FIRST_PLURAL, THIRD_PLURAL)
_TO = piece([("à", (PREPOSITION,))])
_OF = piece([("de", (OWNER + POSSIBLE,))])
_THAT = piece([("que", (THAT,))])
_WHO = {"subject": piece([("qui", (WHO,))]), "object": piece([("que", (WHO,))])}


class _GroupKey(NamedTuple):
    verb: Verb
    synonym: bool
    mode: Mode
    subject: Agreement
    clitics: tuple[Clitic, ...]
    agreed: Agreement | None


class French(Language):
    """French: clitics before the verb, most adjectives after the noun, times of a frame first."""

    code = "fr"
    _main = (
        "particle", "topic", "subject", "verb", "quality", "manner", "object", "recipient",
        "oblique", "place", "comment", "complement",
    )  # fmt: skip
    _subordinate = (
        "subject", "verb", "quality", "manner", "object", "recipient", "oblique", "place", "time",
        "complement",
    )  # fmt: skip
    orders = (_main, _main, _subordinate)

    def __init__(self) -> None:
        sections = read_sections(__package__)
        super().__init__(read_expressions(sections))
        self._words = FrenchNouns(sections)
        self._verbs = {name: FrenchVerb.of(*cells[:2]) for name, cells in sections["verbs"].items()}
        self._synonyms = {
            name: FrenchVerb.of(cells[2], cells[1])
            for name, cells in sections["verbs"].items()
            if len(cells) > 2
        }
        self._cores = Cache(self._core)
        self._groups = Cache(self._group)

    @override
    def finish(self, text: Text) -> tuple[str, list[int]]:
        texts = text.texts
        elision.elide_and_contract(texts)
        words: list[int] = []
        count = 0
        for word in texts:
            if word == "," or word == elision.MERGED:
                words.append(words[-1])
            else:
                words.append(count)
                if word[-1] != "'":
                    count += 1
        written = " ".join(texts).replace("  ", " ").replace("' ", "'").replace(" ,", ",")
        return written.replace(elision.ASPIRATED, "").replace(elision.CLITIC, ""), words

    @override
    def gender(self, noun: Noun) -> str:
        return self._words.forms(noun, False).gender

    def topic(self, clause: Clause, text: Text) -> None:
        """Write a time that sets the frame of the clause, first and before a comma."""
        if is_topic(clause):
            self.time(clause, text)
            text.comma()

    def comment(self, clause: Clause, text: Text) -> None:
        """Write a time that sets no frame."""
        if not is_topic(clause):
            self.time(clause, text)

    def subject(self, clause: Clause, text: Text) -> None:
        """Write the subject, if it stands apart from the verb, or a relative pronoun."""
        if clause.gap:
            text.add(_WHO[clause.gap], clause.unit)
            if clause.gap == "subject":
                return
        subject, role = _experienced(clause) if _is_inverse(clause) else (clause.subject, SUBJECT)
        if subject.__class__ is NounPhrase:
            self.noun_phrase(subject, text)
        else:
            text.add(piece([(self._pronoun(subject), (role,))]), clause.unit)

    def verb(self, clause: Clause, text: Text) -> None:
        """Write the verb with its auxiliaries, negation and clitics."""
        inverse = _is_inverse(clause)
        subject = _experienced(clause)[0] if inverse else subject_of(clause)
        agreement = self._agreement(subject)
        if inverse:
            clitics = self._recipient_clitics(clause.subject, SUBJECT)
        else:
            clitics = self._object_clitics(clause.object)
            clitics += self._recipient_clitics(clause.recipient, RECIPIENT)
        agreed = self._agreed_object(clause)
        key = _GroupKey(clause.verb, clause.synonym, clause.mode, agreement, clitics, agreed)
        text.add(self._groups[key], clause.unit)

    def _group(self, key: "_GroupKey") -> Piece:
        verb, synonym, mode, subject, clitics, agreed = key
        forms = self._verbs[verb.name]
        if synonym:
            forms = self._synonyms.get(verb.name, forms)
        if mode.adverb is not None:
            written = " ".join(self.expressions[mode.adverb.name].texts)
            mode = mode._replace(adverb=Expression(written))
        modal = None if mode.modal is None else self._verbs.get(mode.modal.name)
        return verb_group(VerbGroup(forms, verb.state, mode, subject, clitics, agreed), modal)

    @override
    def object(self, clause: Clause, text: Text) -> None:
        if not _is_inverse(clause):
            super().object(clause, text)

    def recipient(self, clause: Clause, text: Text) -> None:
        """Write to whom something is given."""
        recipient = clause.subject if _is_inverse(clause) else clause.recipient
        if recipient.__class__ is NounPhrase:
            self.noun_phrase(recipient, text, _TO)

    def oblique(self, clause: Clause, text: Text) -> None:
        """Write the noun phrase after the preposition of the verb."""
        if clause.oblique is not None:
            self.noun_phrase(clause.oblique, text, self._verbs[clause.verb.name].preposition)

    def quality(self, clause: Clause, text: Text) -> None:
        """Write the adjective after *be*, with its degree."""
        if clause.adjective is not None:
            subject = self._agreement(subject_of(clause))
            form = self._words.adjective(clause.adjective, subject.gender, subject.plural)
            degree = ""
            if clause.degree is not None:
                degree = self.expressions[clause.degree.name].texts[0]
            text.add(graded(form, degree), clause.unit)

    def complement(self, clause: Clause, text: Text) -> None:
        """Write the clause after *that*."""
        if clause.complement is not None:
            text.add(_THAT, clause.unit)
            self.clause(clause.complement, text, SUBORDINATE)

    @override
    def noun_phrase(self, phrase: NounPhrase, text: Text, before: Piece = EMPTY) -> None:
        text.add(before, phrase.unit)
        core = phrase.core
        if phrase.owner is not None:
            text.add(self._cores[core._replace(determiner="the"), False], phrase.unit)
            text.add(_OF, phrase.owner.unit)
            text.add(self._cores[phrase.owner.core, False], phrase.owner.unit)
        else:
            text.add(self._cores[core, _drops_article(core, before)], phrase.unit)
        if phrase.attribute is not None:
            self.place_of(phrase.attribute, text)
        if phrase.relative is not None:
            self.clause(phrase.relative, text, SUBORDINATE)

    @override
    def date(self, date: Dated) -> Piece:
        day = "1er" if date.day == 1 else str(date.day)
        words = ("le", day, MONTHS[date.month - 1], str(date.year))
        return piece((word, (2 * role,)) for role, word in enumerate(words))

    def _core(self, key: tuple[Core, bool]) -> Piece:
        return self._words.core(*key)

    def _agreement(self, participant: Participant) -> Agreement:
        if isinstance(participant, NounPhrase):
            core = participant.core
            gender = self._words.forms(core.noun, core.synonym).gender
            return _agreement(participant.person, gender)
        return _agreement(participant.person, self._gender(participant))

    def _gender(self, pronoun: Pronoun) -> str:
        if pronoun.noun is None:
            return pronoun.gender
        return self._words.forms(pronoun.noun, pronoun.synonym).gender

    def _pronoun(self, pronoun: Participant | None) -> str:
        assert isinstance(pronoun, Pronoun)
        match pronoun.person:
            case 0:
                return "je"
            case 2:
                return "nous"
        form = "elle" if self._gender(pronoun) == "f" else "il"
        return form + "s" if pronoun.person == THIRD_PLURAL else form

    def _object_clitics(self, participant: Participant | None) -> tuple[Clitic, ...]:
        if not isinstance(participant, Pronoun):
            return ()
        singular = "+la" if self._gender(participant) == "f" else "+le"
        return ((("me", singular, "nous", "+les")[participant.person], OBJECT),)

    def _recipient_clitics(self, participant: Participant | None, role: int) -> tuple[Clitic, ...]:
        if not isinstance(participant, Pronoun):
            return ()
        return ((("me", "lui", "nous", "leur")[participant.person], role),)

    def _agreed_object(self, clause: Clause) -> Agreement | None:
        if clause.gap == "object":
            assert clause.antecedent is not None
            return self._agreement(clause.antecedent)
        if isinstance(clause.object, Pronoun) and not _is_inverse(clause):
            return self._agreement(clause.object)
        return None


def _is_inverse(clause: Clause) -> bool:
    return clause.verb.frame == "inverse"


def _experienced(clause: Clause) -> tuple[Participant, int]:
    """Return the subject of an inverse verb (*il me manque*), which English has as its object."""
    assert clause.object is not None
    return clause.object, OBJECT


def _drops_article(core: Core, before: Piece) -> bool:
    """Return whether the article falls: *sans chapeau*, *près de maisons*."""
    if not before.texts:
        return False
    last = before.texts[-1]
    return (last == "sans" and core.determiner in ("a", "some")) or (
        last == "de" and core.determiner == "some"
    )


@cache
def _agreement(person: int, gender: str) -> Agreement:
    return Agreement(person, gender, person in _PLURALS)
