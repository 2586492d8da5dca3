"""Sentences of an exact number of English words: clauses joined by conjunctions."""

from typing import NamedTuple

from datamodules.grammar.clauses import Clauses
from datamodules.grammar.lexicon.zipf import Table, zipf
from datamodules.grammar.nominals import NO_LEAD, Lead
from datamodules.grammar.plans import SHORTEST_CLAUSE

_MAY_SPLIT_ABOVE = 10
"""Number of words above which a sentence may have several clauses."""
_ALWAYS_SPLIT_ABOVE = 14
"""Number of words above which a sentence always has several clauses."""

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
    """A sentence pair, English to French unless swapped, with word counts and Pharaoh pairs."""

    source: str
    target: str
    source_words: int
    target_words: int
    links: str

    def swapped(self) -> "Sentence":
        """Return the pair with source and target exchanged."""
        pairs = (pair.split("-") for pair in self.links.split())
        turned = sorted((int(j), int(i)) for i, j in pairs)
        links = " ".join(f"{j}-{i}" for j, i in turned)
        return Sentence(self.target, self.source, self.target_words, self.source_words, links)


class Sentences(Clauses):
    """Writer of sentences, drawn with one stream of random numbers."""

    def sentence(self, words: int) -> Sentence:
        """Write a sentence of ``words`` English words, 3 or more."""
        self.phrases.clear()
        self.tense = _TENSES.draw(self.random)
        if words < SHORTEST_CLAUSE[self.tense]:
            self.tense = "present"
        lead = NO_LEAD
        opening = _OPENING.get(self.tense)
        if opening is not None and words > _MAY_SPLIT_ABOVE and self.random() < 0.15:
            first = self._first_length(words - 1)
            self.clause(first, opening.draw(self.random))
            words -= first + 1
            lead = _COMMA
        while words > _ALWAYS_SPLIT_ABOVE or (words > _MAY_SPLIT_ABOVE and self.random() < 0.5):
            first = self._first_length(words - 1)
            self.clause(first, lead)
            lead = self._conjunction(lead)
            words -= first + 1
        self.clause(words, lead)
        return self._assembled()

    def _conjunction(self, last: Lead) -> Lead:
        """Draw a conjunction; draw once more if the conjunction is the same as ``last``."""
        table = _JOINING[self.tense]
        lead = table.draw(self.random)
        return table.draw(self.random) if lead is last else lead

    def _first_length(self, words: int) -> int:
        """Draw the length of a first clause; the rest of ``words`` suffices for a second clause."""
        least = SHORTEST_CLAUSE[self.tense]
        most = min(_ALWAYS_SPLIT_ABOVE, words - least)
        return least + int(self.random() * (most - least + 1))

    def _assembled(self) -> Sentence:
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
