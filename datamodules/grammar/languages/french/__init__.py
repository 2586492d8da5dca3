"""French."""

from functools import cache

from typing_extensions import override

from datamodules.grammar.languages.french.phrases import Phrases
from datamodules.grammar.languages.french.verbs import Agreement, FrenchVerb, verb_group
from datamodules.grammar.languages.language import (
    ASK,
    GOVERN,
    OBJECT,
    PLACE_GAP,
    POSSIBLE,
    PREPOSITION,
    RECIPIENT,
    SUBJECT,
    THAT,
    VERB,
    Cache,
    Piece,
    Text,
    Word,
    is_subject_gap,
    is_thing,
    piece,
    read_sections,
    subject_of,
)
from datamodules.grammar.meaning.phrases import (
    Adverbial,
    Clause,
    Expression,
    Mode,
    NounPhrase,
    Participant,
    Pronoun,
    Verb,
)

_THERE = Piece((), ((0,),))  # what *y* plays in the unit of a place
_ASK: list[Word] = [("est-ce", (ASK + POSSIBLE,)), ("que", (ASK + POSSIBLE,))]
_QUESTIONS = {
    "whether": piece(_ASK), "who": piece([("qui", (SUBJECT,))]),
    "what": piece([("que", (OBJECT,)), *_ASK]), "where": piece([("où", (PLACE_GAP,)), *_ASK]),
}  # fmt: skip
_GOVERNING = (OBJECT, GOVERN)  # roles of a pronoun that holds the preposition of the verb
_GroupKey = tuple[Verb, bool, Mode, Agreement, tuple[Word, ...], Agreement | None]


class French(Phrases):
    """French: clitics before the verb, most adjectives after the noun, times of a frame first."""

    code = "fr"
    that = piece([("que", (THAT,))])
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
        super().__init__(sections)
        self._verbs = {name: FrenchVerb.of(*cells[:2]) for name, cells in sections["verbs"].items()}
        self._synonyms = {
            name: FrenchVerb.of(cells[2], cells[1])
            for name, cells in sections["verbs"].items()
            if len(cells) > 2
        }
        self._datives, self._pronominal = sections["datives"], sections["pronominal"]
        self._groups = Cache(self._group)
        self._pronouns = Cache(self._pronoun)

    def subject(self, clause: Clause, text: Text) -> None:
        """Write the subject; before it, what begins a relative clause or a question."""
        if clause.gap == "shared":
            return
        if clause.gap:
            text.add(self.relative(clause, self._preposition(clause)), clause.unit)
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
            text.add(self._pronouns[subject, "subject", role], clause.unit)  # type: ignore[index]

    def verb(self, clause: Clause, text: Text) -> None:
        """Write the verb with its auxiliaries, negation and clitics."""
        agreement = self.agreement(_subject(clause)[0])
        clitics, agreed = self._clitics(clause), self._agreed_object(clause)
        key = clause.verb, clause.synonym, clause.mode, agreement, clitics, agreed
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
            clitics.append((self.form(clause.object, "object"), (OBJECT,)))
        if isinstance(recipient, Pronoun):
            clitics.append((self.form(recipient, "dative"), roles))
        if isinstance(clause.oblique, Pronoun):
            clitic = self._oblique_clitic(clause, clause.oblique)
            if clitic:
                clitics.append((clitic, _GOVERNING))
        if clause.place.__class__ is Adverbial:
            clitics.append(("y", ()))
        return tuple(clitics)

    def _oblique_clitic(self, clause: Clause, pronoun: Pronoun) -> str:
        """Return *y*, *en* or a dative for a pronoun after a preposition, or nothing."""
        if is_thing(pronoun):
            return {"à": "y", "de": "en"}[self._preposition(clause).texts[0]]
        return self.form(pronoun, "dative") if clause.verb.name in self._datives else ""

    def _group(self, key: _GroupKey) -> Piece:
        verb, synonym, mode, subject, clitics, agreed = key
        forms = self._verbs[verb.name]
        if synonym:
            forms = self._synonyms.get(verb.name, forms)
        if mode.adverb is not None:
            written = " ".join(self.expressions[mode.adverb.name].texts)
            mode = mode._replace(adverb=Expression(written))
        modal = None if mode.modal is None else self._verbs.get(mode.modal.name)
        return verb_group(forms, modal, verb.state, mode, subject, clitics, agreed)

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
        if isinstance(clause.recipient, NounPhrase):
            self.noun_phrase(clause.recipient, text, _TO, clause.unit)
        elif _is_inverse(clause) and isinstance(clause.subject, NounPhrase):
            self.noun_phrase(clause.subject, text, _TO_WHOM)

    def oblique(self, clause: Clause, text: Text) -> None:
        """Write what follows the preposition of the verb, unless it is a clitic."""
        oblique = clause.oblique
        if isinstance(oblique, NounPhrase):
            self.noun_phrase(oblique, text, self._preposition(clause), clause.unit)
        elif isinstance(oblique, Pronoun) and not self._oblique_clitic(clause, oblique):
            text.add(self._preposition(clause), clause.unit)
            text.add(self._pronouns[oblique, "tonic", OBJECT], clause.unit)

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
        subject = subject_of(clause)
        noun = subject.core.noun if isinstance(subject, NounPhrase) else subject.noun
        _, gender, plural = self.agreement(subject)
        form = self._words.adjective(clause.adjective, noun, gender, plural)
        better = self._words.comparative(clause.adjective, gender, plural)
        text.add(self.graded(clause, form, better), clause.unit)
        if clause.standard is not None:
            self.noun_phrase(clause.standard, text, self.standard(clause))

    def _pronoun(self, key: tuple[Pronoun, str, int]) -> Piece:
        pronoun, case, role = key
        return piece([(self.form(pronoun, case), (role,))])

    def _agreed_object(self, clause: Clause) -> Agreement | None:
        if clause.mode.passive:
            return None
        if clause.gap == "object":
            assert clause.antecedent is not None
            return self.agreement(clause.antecedent)
        if isinstance(clause.object, Pronoun) and not _is_inverse(clause):
            return self.agreement(clause.object)
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


@cache
def _governing(words: tuple[str, ...]) -> Piece:
    return piece((word, (GOVERN,)) for word in words)


_TO = _governing(("à",))
_TO_WHOM = piece([("à", (PREPOSITION,))])  # before the English subject of an inverse verb
