"""Sentences of an exact number of English words: clauses joined by conjunctions."""

from typing import NamedTuple

from datamodules.grammar.clauses import Clauses
from datamodules.grammar.nominals import NO_LEAD, Lead
from datamodules.grammar.plans import SHORTEST_CLAUSE
from datamodules.grammar.zipf import Table, zipf

_SPLIT_ABOVE = 10
"""Words up to which a sentence is one clause; longer ones may be several."""
_LONGEST_ALONE = 14
"""Words above which a sentence is always several clauses."""

_AND = Lead("and", "et", ((0, 0),), comma=True)
_BUT = Lead("but", "mais", ((0, 0),), comma=True)
_WHILE = Lead("while", "pendant que", ((0, 0), (0, 1)))
_BECAUSE = Lead("because", "parce que", ((0, 0), (0, 1)))
_WHEN = Lead("when", "quand", ((0, 0),))
_IF = Lead("if", "si", ((0, 0),))
_COMMA = Lead(comma=True)

_TENSES = Table(("present", "past", "future"), (6.0, 3.0, 1.0))
_JOINING = {
    "present": zipf((_AND, _BECAUSE, _BUT, _WHEN, _WHILE)),
    "past": zipf((_AND, _BECAUSE, _BUT, _WHEN)),
    "future": zipf((_AND, _BUT, _BECAUSE)),
}
_OPENING = {"present": zipf((_WHEN, _IF)), "past": zipf((_WHEN,))}


class Sentence(NamedTuple):
    """A sentence pair with its word counts and its Pharaoh pairs; written from English."""

    source: str
    target: str
    source_words: int
    target_words: int
    links: str

    def swapped(self) -> "Sentence":
        """Return the pair in the other direction."""
        pairs = (pair.split("-") for pair in self.links.split())
        turned = sorted((int(j), int(i)) for i, j in pairs)
        links = " ".join(f"{j}-{i}" for j, i in turned)
        return Sentence(self.target, self.source, self.target_words, self.source_words, links)


class Sentences(Clauses):
    """Writes sentences from one stream of random numbers."""

    def sentence(self, words: int) -> Sentence:
        """Write a sentence of ``words`` English words, 3 or more."""
        self.phrases.clear()
        self.tense = _TENSES.draw(self.random)
        if words < SHORTEST_CLAUSE[self.tense]:
            self.tense = "present"
        lead = NO_LEAD
        opening = _OPENING.get(self.tense)
        if opening is not None and words > _SPLIT_ABOVE and self.random() < 0.15:
            first = self._share(words - 1)
            self.clause(first, opening.draw(self.random))
            words -= first + 1
            lead = _COMMA
        while words > _LONGEST_ALONE or (words > _SPLIT_ABOVE and self.random() < 0.5):
            first = self._share(words - 1)
            self.clause(first, lead)
            lead = self._conjunction(lead)
            words -= first + 1
        self.clause(words, lead)
        return self._written()

    def _conjunction(self, last: Lead) -> Lead:
        """Draw a conjunction, once more if it is the last one."""
        table = _JOINING[self.tense]
        lead = table.draw(self.random)
        return table.draw(self.random) if lead is last else lead

    def _share(self, words: int) -> int:
        """Draw the words of a first clause, leaving enough of ``words`` for a second one."""
        least = SHORTEST_CLAUSE[self.tense]
        most = min(_LONGEST_ALONE, words - least)
        return least + int(self.random() * (most - least + 1))

    def _written(self) -> Sentence:
        i = j = 0
        lines = []
        for phrase in self.phrases:
            links = phrase.links
            lines.append(links.line(i, j))
            i += links.english_words
            j += links.french_words
        english = "".join([phrase.english for phrase in self.phrases])
        french = "".join([phrase.french for phrase in self.phrases])
        return Sentence(_punctuated(english), _punctuated(french), i, j, "".join(lines)[1:])


def _punctuated(text: str) -> str:
    return text[0].upper() + text[1:-1].replace(" ,", ",") + "."
