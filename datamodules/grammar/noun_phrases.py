"""Noun phrases of an exact number of English words, appended to an unfinished sentence."""

from dataclasses import dataclass, field
from typing import NamedTuple

from datamodules.grammar.lexicon.words import Noun
from datamodules.grammar.lexicon.zipf import Random
from datamodules.grammar.nominals import (
    NO_LEAD,
    SHAPE_NUMBER,
    Lead,
    Nominal,
    NounForm,
    Role,
    Shape,
    adjectives,
    bare,
    nominal,
    noun_form,
    noun_forms,
    prefixes,
    silent_article,
)
from datamodules.grammar.phrase import Phrase, joined, possessive

CONSONANT = SHAPE_NUMBER[Shape()]

OF = Lead("", "de", ((0, 0),))
"""French *de* before an owner, linked to the first English word of the owner."""


class NounPhrase(NamedTuple):
    """A noun phrase in two parts: lead with determiner, and the rest."""

    prefix: Phrase
    rest: Phrase
    form: NounForm

    def whole(self) -> Phrase:
        """Return the two parts as one phrase."""
        return joined(self.prefix, self.rest)


@dataclass
class Draft:
    """An unfinished sentence: the phrases written so far, and the source of random numbers."""

    random: Random
    phrases: list[Phrase] = field(default_factory=list)

    def lead(self, lead: Lead, shape: int) -> None:
        """Append the preposition or conjunction ``lead`` before a phrase of the given shape."""
        if lead is not NO_LEAD:
            self.phrases.append(bare(lead)[shape])

    def noun_phrase(
        self,
        kinds: tuple[str, ...],
        words: int,
        lead: Lead = NO_LEAD,
        role: Role = "free",
        unlike: Noun | None = None,
    ) -> NounForm:
        """Append the noun phrase that ``draw_noun_phrase`` draws; return the noun form."""
        drawn = self.draw_noun_phrase(kinds, words, lead, role, unlike)
        if drawn.prefix.links.english_words:
            self.phrases += drawn[:2]
        else:  # the prefix may share a word, and so a link, with the rest: d'Anne
            self.phrases.append(drawn.whole())
        return drawn.form

    def draw_noun_phrase(
        self,
        kinds: tuple[str, ...],
        words: int,
        lead: Lead = NO_LEAD,
        role: Role = "free",
        unlike: Noun | None = None,
    ) -> NounPhrase:
        """Draw a noun phrase of ``words`` English words: 1 for a name, else 2 to 4.

        The words of ``lead`` are not counted. If the noun is ``unlike``, draw once more.
        """
        if words == 1:
            form = noun_forms(("name",), 1).draw(self.random)
            head = nominal(form)
        else:
            form, head = self.draw_head(kinds, words - 1, unlike)
        prefix = prefixes(lead, role, form.count).draw(self.random)
        return NounPhrase(prefix[head.shape], head.phrase, form)

    def possessed(self, kinds: tuple[str, ...], words: int, lead: Lead = NO_LEAD) -> NounForm:
        """Append a noun with its owner (*the teacher's book*), 2 to 4 words; return the noun form.

        ``lead`` must be invariable, because the French word after ``lead`` is an article that does
        not translate the English word after ``lead``.
        """
        random = self.random
        if words == 2 or random() < 0.3:
            owner = nominal(noun_forms(("name",), 1).draw(random), owner=True)
            owner_phrase = joined(bare(OF)[owner.shape], owner.phrase)
            words -= 1
        else:
            person = noun_form(noun_forms(("person",), 1).draw(random).noun, False)
            owner = nominal(person, owner=True)
            prefix = prefixes(OF, "denied", "singular").draw(random)
            owner_phrase = joined(prefix[owner.shape], owner.phrase)
            words -= 2
        form, head = self.draw_head(kinds, words)
        owned = joined(silent_article()[head.shape], head.phrase)
        self.lead(lead, CONSONANT)
        self.phrases.append(possessive(owner_phrase, owned))
        return form

    def draw_head(
        self, kinds: tuple[str, ...], words: int, unlike: Noun | None = None
    ) -> tuple[NounForm, Nominal]:
        """Draw a noun with adjectives: ``words`` English words in total, at most 3."""
        random = self.random
        table = noun_forms(kinds, words)
        form = table.draw(random)
        if form.noun is unlike:
            form = table.draw(random)
        count = words - form.words
        before = count == 2 or (count == 1 and random() < 0.5)
        kind = form.noun.kind
        head = nominal(
            form,
            adjectives(kind, True).draw(random) if before else None,
            adjectives(kind, False).draw(random) if count > before else None,
        )
        return form, head
