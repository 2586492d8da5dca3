"""Words in place of the unknown tokens of translations, found by attention.

Each ``<unk>`` becomes the source word with the largest attention weight at that step, or the
translation of this word in a dictionary (Jean et al. 2015, arXiv 1412.2007; Luong et al. 2015,
arXiv 1508.04025, section 4.1).
"""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from omegaconf import DictConfig

from datamodules.errors import UserError
from datamodules.lines import read_lines
from datamodules.tokenization import SPECIALS, UNK, Tokenizers
from datamodules.tokenization.tokenizer import normalised
from lightning_modules.decoding import Hypothesis
from lightning_modules.runs.schema import ReplacedUnknown

Dictionary = Mapping[str, str]
"""A translation of each source word; without a word, the word is copied."""

_UNKNOWN = SPECIALS[UNK]

log = logging.getLogger(__name__)


def read_replacement(decoding: DictConfig) -> Dictionary | None:
    """Return the dictionary of a replacement, empty for copies; None to leave ``<unk>``.

    Raises ``UserError`` for a dictionary that is missing, not asked for, or cannot be used.
    """
    kind, file = decoding.get("replace_unknown"), decoding.get("dictionary")
    if kind == "dictionary" and file is None:
        raise UserError("decoding.replace_unknown=dictionary: give decoding.dictionary=FILE")
    if kind != "dictionary" and file is not None:
        raise UserError(
            f"decoding.dictionary={file}: only decoding.replace_unknown=dictionary reads a "
            "dictionary; set that or leave the file out"
        )
    if kind is None:
        return None
    return {} if file is None else _read_dictionary(str(file))


def all_unknown(count: int, sources: str, example: str) -> str:
    """Return the warning that each of so many ``sources`` has a word that no training had."""
    each = "the only line" if count == 1 else f"each of the {count:,} {sources}"
    return (
        f"{each} has a word that the source vocabulary lacks, such as “{example}”: write the "
        "text as the training text (language, case, spaces), or train with tokenizer=bytes, which "
        "knows all words"
    )


def write_out(
    hypotheses: Sequence[Hypothesis],
    sources: Sequence[str],
    tokenizers: Tokenizers,
    dictionary: Dictionary | None,
) -> tuple[list[str], ReplacedUnknown | None]:
    """Return the text of each hypothesis, and how many ``<unk>`` other words replaced.

    Without a ``dictionary`` nothing is replaced, and the counts are None. A replacement has as many
    words as before. Logs a warning for hypotheses without attention, which stay as they are.
    """
    if dictionary is None:
        return tokenizers.target.decode([each.tokens for each in hypotheses]), None
    if any(each.weights is None for each in hypotheses):
        log.warning("decoding.replace_unknown: without attention weights %s stays", _UNKNOWN)
    texts: list[str] = []
    every: list[str | None] = []
    for hypothesis, source in zip(hypotheses, sources, strict=True):
        aligned = list(_aligned_words(hypothesis, source, tokenizers))
        words = [_UNKNOWN if word is None else dictionary.get(word, word) for word in aligned]
        texts.append(tokenizers.target.decode_with(hypothesis.tokens, words))
        every += aligned
    translated = sum(word in dictionary for word in every)
    copied = len(every) - every.count(None) - translated
    return texts, ReplacedUnknown(unknown=len(every), copied=copied, translated=translated)


def _aligned_words(
    hypothesis: Hypothesis, source: str, tokenizers: Tokenizers
) -> Iterator[str | None]:
    """Yield for each unknown token the source word with the largest weight, None for no weight.

    A source word is the text of a token, so that a copied word does not bring along the punctuation
    marks that the translation has as tokens of its own.
    """
    places = [place for place, token in enumerate(hypothesis.tokens) if token == UNK]
    pieces = tokenizers.source.pieces_of_line(source) if places else []
    for place in places:
        if hypothesis.weights is None:
            yield None
            continue
        weights = hypothesis.weights[place, : len(pieces)].tolist()  # without EOS and padding
        words = [  # a piece that is only a marker is no word
            (weight, piece)
            for weight, piece in zip(weights, pieces, strict=True)
            if piece and weight > 0
        ]
        yield max(words, key=lambda word: word[0])[1] if words else None  # the first of equals


def _read_dictionary(file: str) -> Dictionary:
    """Read lines of a source word, a tab and a target word; the most frequent target counts."""
    option = "decoding.dictionary"
    pairs: Counter[tuple[Any, ...]] = Counter()
    for number, line in enumerate(read_lines(file, option), start=1):
        words = tuple(line.split("\t"))
        if len(words) != 2 or any(len(word.split()) != 1 for word in words):
            raise UserError(
                f"{option}={file}, line {number}: give a source word, a tab and a target word"
            )
        pairs[words] += 1
    dictionary: dict[str, str] = {}
    for source, target in dict(pairs.most_common()):  # of equally frequent ones the first
        dictionary.setdefault(normalised(source), normalised(target))
    return dictionary
