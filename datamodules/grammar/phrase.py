"""Phrases: pieces of text in both languages, with the links between their words."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from datamodules.grammar.languages import french
from datamodules.grammar.lexicon.words import Pairs


class Links:
    """Word links inside a phrase; ``links`` returns one object for equal arguments."""

    __slots__ = ("_lines", "english_words", "french_words", "pairs")

    def __init__(self, english_words: int, french_words: int, pairs: Pairs) -> None:
        self.english_words = english_words
        self.french_words = french_words
        self.pairs = pairs
        self._lines: dict[tuple[int, int], str] = {}

    def line(self, i: int, j: int) -> str:
        """Return the Pharaoh pairs of a phrase whose first words are *i* and *j*.

        A space stands before each pair.
        """
        line = self._lines.get((i, j))
        if line is None:
            line = "".join(f" {i + k}-{j + m}" for k, m in self.pairs)
            self._lines[i, j] = line
        return line


@cache
def links(english_words: int, french_words: int, pairs: Pairs) -> Links:
    """Return the cached ``Links`` object of the word counts and the sorted ``pairs``."""
    return Links(english_words, french_words, pairs)


class Phrase(NamedTuple):
    """English and French text; every word ends with a space, an elided word with an apostrophe.

    An elided word belongs to the first word of the next phrase, and so do its links: the phrase
    *l'* before *homme* counts 0 French words and has the link 0-0.
    """

    english: str
    french: str
    links: Links


Token = tuple[str, tuple[int, ...]]
"""A French token and the numbers of the English tokens that it translates."""


def phrase(english: Sequence[str], french_tokens: Sequence[Token], following: str = "") -> Phrase:
    """Build a phrase: contract and elide the French tokens, and merge their links.

    ``following`` is the French word that comes after the phrase.
    """
    written, pairs, word = "", [], 0
    # Elision first, since l' does not contract: *de* + *le* + *hôpital* is *de l'hôpital*. Then
    # again, since contraction may make a new *de*: *de* + *des* + *églises* is *d'églises*.
    contracted = _contracted(_elided(french_tokens, following))
    for text, sources in _elided(contracted, following):
        text = text.lstrip(french.ASPIRATED)
        pairs += [(source, word) for source in sources]
        written += text
        if not text.endswith("'"):
            written += " "
            word += 1
    english_text = "".join(token + " " for token in english)
    return Phrase(english_text, written, links(len(english), word, tuple(sorted(set(pairs)))))


def _elided(french_tokens: Sequence[Token], following: str) -> list[Token]:
    after = [text for text, _ in french_tokens[1:]] + [following]
    return [
        (french.elide(text, following_text), sources)
        for (text, sources), following_text in zip(french_tokens, after, strict=False)
    ]


def _contracted(french_tokens: Iterable[Token]) -> list[Token]:
    """Contract tokens without elision: *de* + *le* becomes *du*, but *de* + *l'* stays."""
    written: list[Token] = []
    for text, sources in french_tokens:
        contracted = french.contract(written[-1][0], text) if written else None
        if contracted is None:
            written.append((text, sources))
        else:
            written[-1] = (contracted, (*written[-1][1], *sources))
    return written


def fixed(english: str, french_text: str, pairs: Pairs) -> Phrase:
    """Return the phrase of a fixed expression with given word links."""
    return phrase(english.split(), tokens(french_text, pairs))


def tokens(french_text: str, pairs: Pairs, start: int = 0) -> list[Token]:
    """Split French words into tokens; ``start`` is the number of the first English word."""
    return [
        (word, tuple(start + i for i, j in pairs if j == position))
        for position, word in enumerate(french_text.split())
    ]


def joined(first: Phrase, second: Phrase) -> Phrase:
    """Return one phrase in which ``second`` follows ``first`` in both languages."""
    return Phrase(
        first.english + second.english,
        first.french + second.french,
        _joined_links(first.links, second.links),
    )


def crossed(first: Phrase, second: Phrase) -> Phrase:
    """Return one phrase in which ``first`` comes first in English and last in French."""
    return Phrase(
        first.english + second.english,
        second.french + first.french,
        _crossed_links(first.links, second.links),
    )


def possessive(owner: Phrase, owned: Phrase) -> Phrase:
    """Return *the teacher's* + *book* as *le livre* + *du professeur*.

    ``owned`` has an article only in French; the last word of ``owner`` (*'s*) links to the article.
    """
    both = crossed(owner, owned)
    return both._replace(links=_with_article(both.links, owner.links.english_words - 1))


@cache
def _with_article(both: Links, source: int) -> Links:
    pairs = tuple(sorted({*both.pairs, (source, 0)}))
    return links(both.english_words, both.french_words, pairs)


@cache
def _joined_links(first: Links, second: Links) -> Links:
    i, j = first.english_words, first.french_words
    shifted = tuple((i + k, j + m) for k, m in second.pairs)
    pairs = tuple(sorted({*first.pairs, *shifted}))
    return links(i + second.english_words, j + second.french_words, pairs)


@cache
def _crossed_links(first: Links, second: Links) -> Links:
    i, j = first.english_words, second.french_words
    pairs = (*((k, j + m) for k, m in first.pairs), *((i + k, m) for k, m in second.pairs))
    return links(i + second.english_words, j + first.french_words, tuple(sorted(pairs)))
