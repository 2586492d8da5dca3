"""French."""

from functools import cache
from typing import NamedTuple

from typing_extensions import override

from datamodules.grammar.languages.french import elision
from datamodules.grammar.languages.french.nouns import AdjectiveForms, FrenchNouns
from datamodules.grammar.languages.french.verbs import Agreement, FrenchVerb, VerbGroup, verb_group
from datamodules.grammar.languages.language import (
    AND,
    ASK,
    EMPTY,
    GOVERN,
    OBJECT,
    OWNER,
    PLACE_GAP,
    POSSIBLE,
    PREPOSITION,
    RECIPIENT,
    SUBJECT,
    SUBORDINATE,
    THAT,
    VERB,
    WHO,
    Cache,
    Language,
    Piece,
    Text,
    Word,
    graded,
    is_subject_gap,
    is_thing,
    is_topic,
    piece,
    read_expressions,
    read_sections,
    subject_of,
)
from datamodules.grammar.meaning.phrases import (
    FIRST_PLURAL,
    HUMAN,
    THIRD_PLURAL,
    Adverbial,
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
_OF = piece([("de", (OWNER + POSSIBLE,))])
_THAT = piece([("que", (THAT,))])
_AND = piece([("et", (AND,))])
_THERE = Piece((), piece([("y", (0,))]).played)  # what *y* plays in the unit of a place
_RELATIVES = {gap: piece([(word, (WHO,))]) for gap, word in (("owner", "dont"), ("place", "où"))}
_WHO, _WHOM = piece([("qui", (WHO,))]), piece([("que", (WHO,))])
_ASK: list[Word] = [("est-ce", (ASK + POSSIBLE,)), ("que", (ASK + POSSIBLE,))]
_QUESTIONS = {
    "whether": piece(_ASK), "who": piece([("qui", (SUBJECT,))]),
    "what": piece([("que", (OBJECT,)), *_ASK]), "where": piece([("où", (PLACE_GAP,)), *_ASK]),
}  # fmt: skip
_REPEATED = ("à", "de")  # prepositions that stand before both of two nouns
_GOVERNING = (OBJECT, GOVERN)  # roles of a pronoun that holds the preposition of the verb


class _GroupKey(NamedTuple):
    verb: Verb
    synonym: bool
    mode: Mode
    subject: Agreement
    clitics: tuple[Word, ...]
    agreed: Agreement | None


class French(Language):
    """French: clitics before the verb, most adjectives after the noun, times of a frame first."""

    code = "fr"
    _main = (
        "particle", "topic", "subject", "verb", "quality", "manner", "object", "agent",
        "recipient", "oblique", "place", "comment", "complement",
    )  # fmt: skip
    _subordinate = (
        "subject", "verb", "quality", "manner", "object", "agent", "recipient", "oblique", "place",
        "time", "complement",
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
        self._datives, self._pronominal = sections["datives"], sections["pronominal"]
        self._comparatives = {
            name: AdjectiveForms.of(cells[0], "after")
            for name, cells in sections["comparatives"].items()
        }
        self._cores = Cache(self._core)
        self._groups = Cache(self._group)
        self._pronouns = Cache(self._pronoun)

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
        """Write the subject; before it, what begins a relative clause or a question."""
        if clause.gap == "shared":
            return
        if clause.gap:
            text.add(self._relative_pronoun(clause), clause.unit)
            if is_subject_gap(clause):
                return
        if clause.question:
            text.add(_QUESTIONS[clause.question], clause.unit)
            if clause.question == "who":
                return
        subject, role = _subject(clause)
        if subject.__class__ is NounPhrase:
            self.noun_phrase(subject, text)
        else:
            text.add(self._pronouns[subject, role], clause.unit)  # type: ignore[index]

    def _relative_pronoun(self, clause: Clause) -> Piece:
        if is_subject_gap(clause):
            return _WHO
        if clause.gap == "object":
            return _WHOM
        if clause.gap in _RELATIVES:
            return _RELATIVES[clause.gap]
        assert clause.antecedent is not None
        agreement = self._agreement(clause.antecedent)
        human = clause.antecedent.core.noun.kind in (*HUMAN, "name", "surname")
        return _governed_relative(self._preposition(clause).texts, human, *agreement[1:])

    def verb(self, clause: Clause, text: Text) -> None:
        """Write the verb with its auxiliaries, negation and clitics."""
        agreement = self._agreement(_subject(clause)[0])
        clitics, agreed = self._clitics(clause), self._agreed_object(clause)
        key = _GroupKey(clause.verb, clause.synonym, clause.mode, agreement, clitics, agreed)
        group = self._groups[key]
        if isinstance(clause.place, Adverbial):
            first = len(text.texts) + group.texts.index("y")
            text.pieces.append((_THERE, clause.place.unit, first))
        text.add(group, clause.unit)

    def _clitics(self, clause: Clause) -> tuple[Word, ...]:
        clitics: list[Word] = []
        if clause.verb.name in self._pronominal:
            clitics.append(("se", (VERB + POSSIBLE,)))
        roles: tuple[int, ...] = (RECIPIENT, GOVERN)
        recipient = clause.recipient
        if _is_inverse(clause):
            recipient, roles = clause.subject, (SUBJECT,)
        elif isinstance(clause.object, Pronoun) and not clause.mode.passive:
            clitics.append((self._object_clitic(clause.object), (OBJECT,)))
        if isinstance(recipient, Pronoun):
            clitics.append((_dative(recipient), roles))
        if isinstance(clause.oblique, Pronoun):
            clitic = self._oblique_clitic(clause, clause.oblique)
            if clitic:
                clitics.append((clitic, _GOVERNING))
        if clause.place.__class__ is Adverbial:
            clitics.append(("y", ()))
        return tuple(clitics)

    def _object_clitic(self, pronoun: Pronoun) -> str:
        if pronoun.reflexive:
            return "se"
        singular = "+la" if self._gender(pronoun) == "f" else "+le"
        return ("me", singular, "nous", "+les")[pronoun.person]

    def _oblique_clitic(self, clause: Clause, pronoun: Pronoun) -> str:
        """Return *y*, *en* or a dative for a pronoun after a preposition, or nothing."""
        if is_thing(pronoun):
            return {"à": "y", "de": "en"}[self._preposition(clause).texts[0]]
        return _dative(pronoun) if clause.verb.name in self._datives else ""

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
    def manner(self, clause: Clause, text: Text) -> None:
        if clause.manner is not None and not _is_denied(clause.object):
            super().manner(clause, text)

    @override
    def object(self, clause: Clause, text: Text) -> None:
        if clause.object is not None and not _is_inverse(clause):
            super().object(clause, text)
            if clause.manner is not None and _is_denied(clause.object):
                super().manner(clause, text)  # never *pas lentement de pain*

    def recipient(self, clause: Clause, text: Text) -> None:
        """Write to whom something is given."""
        recipient = clause.subject if _is_inverse(clause) else clause.recipient
        if recipient.__class__ is NounPhrase:
            self.noun_phrase(recipient, text, _TO, clause.unit)

    def oblique(self, clause: Clause, text: Text) -> None:
        """Write what follows the preposition of the verb, unless it is a clitic."""
        oblique = clause.oblique
        if isinstance(oblique, NounPhrase):
            self.noun_phrase(oblique, text, self._preposition(clause), clause.unit)
        elif isinstance(oblique, Pronoun) and not self._oblique_clitic(clause, oblique):
            text.add(self._preposition(clause), clause.unit)
            text.add(self._pronouns[oblique, GOVERN], clause.unit)

    def _preposition(self, clause: Clause) -> Piece:
        return _governing(self._verbs[clause.verb.name].preposition)

    @override
    def place(self, clause: Clause, text: Text) -> None:
        if clause.place.__class__ is not Adverbial:  # *y* is a clitic
            super().place(clause, text)

    def quality(self, clause: Clause, text: Text) -> None:
        """Write the adjective after *be*, with its degree, and what it is compared with."""
        if clause.adjective is None:
            return
        subject = self._agreement(subject_of(clause))
        form = self._words.adjective(clause.adjective, subject.gender, subject.plural)
        degree = ""
        if clause.degree is not None:
            degree = self.expressions[clause.degree.name].texts[0]
            if clause.degree.name == "more" and clause.adjective.name in self._comparatives:
                forms, degree = self._comparatives[clause.adjective.name], ""
                form = forms.agreed(subject.gender, subject.plural)
        text.add(graded(form, degree), clause.unit)
        if clause.standard is not None:
            self.noun_phrase(clause.standard, text, self.standard(clause))

    def complement(self, clause: Clause, text: Text) -> None:
        """Write the clause after *that*."""
        if clause.complement is not None:
            text.add(_THAT, clause.unit)
            self.clause(clause.complement, text, SUBORDINATE)

    @override
    def noun_phrase(
        self, phrase: NounPhrase, text: Text, before: Piece = EMPTY, unit: int | None = None
    ) -> None:
        unit = phrase.unit if unit is None else unit
        if before is not EMPTY:
            text.add(before, unit)
        core = phrase.core
        if phrase.owner is not None:
            text.add(self._cores[core._replace(determiner="the"), False], phrase.unit)
            text.add(_OF, phrase.owner.unit)
            text.add(self._cores[phrase.owner.core, False], phrase.owner.unit)
        else:
            text.add(self._cores[core, _drops_article(core, before)], phrase.unit)
        if phrase.beside is not None:
            text.add(_AND, phrase.unit)
            repeated = _repeated(before)
            text.add(repeated, unit)
            without = _drops_article(phrase.beside.core, repeated)
            text.add(self._cores[phrase.beside.core, without], phrase.beside.unit)
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
            gender = self._words.forms(participant.core.noun, participant.core.synonym).gender
            if participant.beside is not None and gender == "f":
                core = participant.beside.core
                gender = self._words.forms(core.noun, core.synonym).gender
            return _agreement(participant.person, gender)
        return _agreement(participant.person, self._gender(participant))

    def _gender(self, pronoun: Pronoun) -> str:
        if pronoun.noun is None:
            return pronoun.gender
        gender = self._words.forms(pronoun.noun, pronoun.synonym).gender
        if pronoun.beside is not None and gender == "f":
            return self._words.forms(pronoun.beside).gender
        return gender

    def _pronoun(self, key: tuple[Pronoun, int]) -> Piece:
        """Write a pronoun before the verb, or after a preposition (the role ``GOVERN``)."""
        pronoun, role = key
        if role == GOVERN:
            table = ("moi", "lui elle", "nous", "eux elles")
        else:
            table = ("je", "il elle", "nous", "ils elles")
        forms = table[pronoun.person].split()
        form = forms[-1] if self._gender(pronoun) == "f" else forms[0]
        return piece([(form, (OBJECT if role == GOVERN else role,))])

    def _agreed_object(self, clause: Clause) -> Agreement | None:
        if clause.mode.passive:
            return None
        if clause.gap == "object":
            assert clause.antecedent is not None
            return self._agreement(clause.antecedent)
        if isinstance(clause.object, Pronoun) and not _is_inverse(clause):
            return self._agreement(clause.object)
        return None


def _is_inverse(clause: Clause) -> bool:
    return clause.verb.frame == "inverse"


def _subject(clause: Clause) -> tuple[Participant, int]:
    """Return the French subject: *il me manque* has the English object as its subject."""
    if _is_inverse(clause):
        assert clause.object is not None
        return clause.object, OBJECT
    return subject_of(clause), OBJECT if clause.mode.passive else SUBJECT


def _is_denied(participant: Participant | None) -> bool:
    """Return whether a participant is the object of a negated verb, with *de*."""
    if not isinstance(participant, NounPhrase):
        return False
    return participant.core.denied and participant.core.determiner in ("a", "some")


def _dative(pronoun: Pronoun) -> str:
    return ("me", "lui", "nous", "leur")[pronoun.person]


@cache
def _governing(words: tuple[str, ...]) -> Piece:
    return piece((word, (GOVERN,)) for word in words)


_TO = _governing(("à",))


@cache
def _governed_relative(words: tuple[str, ...], human: bool, gender: str, plural: bool) -> Piece:
    """Return *dont*, *à qui* or *sur laquelle*."""
    if words == ("de",):
        return piece([("dont", (WHO, GOVERN))])
    feminine = gender == "f"
    which = ("lesquels", "lesquelles")[feminine] if plural else ("lequel", "laquelle")[feminine]
    before: list[Word] = [(word, (GOVERN,)) for word in words]
    return piece([*before, ("qui" if human else which, (WHO,))])


@cache
def _repeated(before: Piece) -> Piece:
    """Return what is said again of a preposition: *près de la maison et de l'arbre*."""
    if not before.texts or before.texts[-1] not in _REPEATED:
        return EMPTY
    return piece([(before.texts[-1], (2 * before.played[-1][1],))])


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
