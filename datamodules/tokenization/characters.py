"""Characters as tokens."""

from collections import Counter

from tokenizers import models
from typing_extensions import override

from datamodules.tokenization.tokenizer import MARKER, SPECIALS, UNK
from datamodules.tokenization.word_pieces import WordPieces, characters_of


class Characters(WordPieces):
    """Every character is a token, and so is the marker before a word.

    The most frequent characters are kept; a run of others inside a piece of ``Words`` is one
    unknown token.
    """

    @override
    @staticmethod
    def _learn(
        pieces: Counter[str], vocabulary_size: int, min_frequency: int, specials: list[str]
    ) -> models.Model:
        counts = characters_of(pieces)
        del counts[MARKER]
        frequent = sorted(counts, key=lambda one: (-counts[one], one))
        kept = [one for one in frequent if counts[one] >= min_frequency]
        tokens = [*specials, MARKER, *kept][:vocabulary_size]
        numbers = {token: number for number, token in enumerate(tokens)}
        # BPE without merges leaves characters.
        return models.BPE(numbers, [], unk_token=SPECIALS[UNK], fuse_unk=True, ignore_merges=True)
