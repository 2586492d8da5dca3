"""Small corpora shared by the grammar tests, and functions that read their lines."""

import re
from functools import cache
from random import Random
from typing import Any

from datamodules.corpus import ParallelText
from datamodules.grammar import GrammarCorpus
from datamodules.grammar.drawing.sentences import Sentences
from datamodules.grammar.drawing.vocabulary import Vocabulary
from datamodules.grammar.languages import find_language
from datamodules.grammar.meaning.phrases import Joined
from datamodules.grammar.pairs import SentencePair, write_pair
from tests.helpers.data_settings import grammar_corpus

SMALL: dict[str, Any] = {"train": 4000, "val": 240, "test": 900, "seed": 7}
DIRECTIONS = [("en", "fr"), ("fr", "en"), ("en", "de"), ("de", "en"), ("de", "fr"), ("fr", "de")]
Link = tuple[int, int, bool]  # source word, target word, and whether the link is sure


def split(name, source="en", target="", **knobs) -> ParallelText:
    return _small(source, target or _other(source), **knobs).split(name)


@cache
def _small(source: str, target: str, **knobs) -> GrammarCorpus:
    """Keep a corpus, whose splits are made of each other."""
    return grammar_corpus(**SMALL, source=source, target=target, **knobs)


@cache
def pairs(
    count: int, words: int, source: str = "en", target: str = "", **knobs
) -> list[SentencePair]:
    languages = find_language(source), find_language(target or _other(source))
    return [write_pair(meaning, *languages) for meaning in meanings(count, words, **knobs)]


@cache
def meanings(count: int, words: int, **knobs) -> list[list[Joined]]:
    chosen = grammar_corpus(**knobs).knobs
    vocabulary = _vocabulary(chosen.vocabulary, chosen.zipf, chosen.separable)
    sentences = Sentences(vocabulary, chosen, Random(f"{count} {words}").random)
    return [sentences.sentence(words) for _ in range(count)]


_vocabulary = cache(Vocabulary)


def _other(source: str) -> str:
    return "fr" if source == "en" else "en"


def bare_words(line: str) -> list[str]:
    """Split a line into words without punctuation; an elided word is a separate word."""
    line = line.lower().replace("aujourd'hui", "aujourd’hui")
    return re.findall(r"[\w’-]+'?", line)


def parsed_links(line: str) -> list[Link]:
    return [
        (int(source), int(target), kind == "-")
        for source, kind, target in re.findall(r"(\d+)([-?])(\d+)", line)
    ]
