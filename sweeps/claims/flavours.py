"""BLEU as papers computed it, beside sacreBLEU's; different flavours never share a column."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from sacrebleu.metrics.bleu import BLEU
from sacremoses import MosesTokenizer

Lines = Sequence[str]


class Flavour(NamedTuple):
    """A way to compute BLEU; two scores of one flavour may stand in one column."""

    name: str
    tokenized_by: str
    """Tokeniser of sacreBLEU, or ``moses``, as for ``multi-bleu.perl``."""
    lowercase: bool = False
    no_unknown: bool = False
    """Whether only sentences count of which neither source nor reference has an unknown word."""

    def score(self, hypotheses: Lines, references: Lines, language: str) -> float:
        """Return BLEU of the sentences that count, 0 to 100.

        Args:
            hypotheses: translations, one a sentence.
            references: a reference for each.
            language: code of the target language, for Moses' rules on abbreviations.
        """
        against = _against(self, tuple(references), language)
        return float(against.corpus_score(self.split(hypotheses, language), None).score)

    def split(self, lines: Lines, language: str) -> Lines:
        """Return lines as sacreBLEU gets them."""
        if self.tokenized_by != "moses":
            return lines
        tokenizer = MosesTokenizer(lang=language)
        return [tokenizer.tokenize(line, return_str=True, escape=False) for line in lines]


@lru_cache(maxsize=8)
def _against(flavour: Flavour, references: Lines, language: str) -> BLEU:
    """Return BLEU with references that are counted once for all systems."""
    moses = flavour.tokenized_by == "moses"
    return BLEU(
        lowercase=flavour.lowercase,
        tokenize="none" if moses else flavour.tokenized_by,
        force=True,  # no warning that the text is tokenised
        smooth_method="none" if moses else "exp",
        references=[flavour.split(references, language)],
    )


FLAVOURS = {
    flavour.name: flavour
    for flavour in (
        Flavour("sacrebleu", "13a"),
        Flavour("sacrebleu, intl", "intl"),
        Flavour("multi-bleu, tokenised", "moses"),
        Flavour("multi-bleu, tokenised, lower-cased", "moses", lowercase=True),
        Flavour("multi-bleu, tokenised, no UNK", "moses", no_unknown=True),
    )
}
"""By name. ``multi-bleu.perl`` counts the tokens that it is given, and does not smooth."""
