"""BLEU as papers computed it, beside sacreBLEU's: numbers of unlike flavours are no neighbours."""

from collections.abc import Callable, Sequence
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

    def score(self, hypotheses: Lines, references: Lines, language: str) -> float:
        """Return BLEU of a corpus, 0 to 100.

        Args:
            hypotheses: translations, one a sentence.
            references: a reference for each.
            language: code of the target language, for Moses' rules on abbreviations.
        """
        moses = self.tokenized_by == "moses"
        split = _moses(language) if moses else _unchanged
        bleu = BLEU(
            lowercase=self.lowercase,
            tokenize="none" if moses else self.tokenized_by,
            force=True,  # no warning that the text is tokenised
            smooth_method="none" if moses else "exp",
        )
        score = bleu.corpus_score(split(hypotheses), [split(references)])
        return float(score.score)


FLAVOURS = {
    flavour.name: flavour
    for flavour in (
        Flavour("sacrebleu", "13a"),
        Flavour("sacrebleu, intl", "intl"),
        Flavour("multi-bleu, tokenised", "moses"),
        Flavour("multi-bleu, tokenised, lower-cased", "moses", lowercase=True),
    )
}
"""By name. ``multi-bleu.perl`` counts the tokens that it is given, and does not smooth."""


def _moses(language: str) -> Callable[[Lines], list[str]]:
    tokenizer = MosesTokenizer(lang=language)
    return lambda lines: [tokenizer.tokenize(line, return_str=True, escape=False) for line in lines]


def _unchanged(lines: Lines) -> list[str]:
    return list(lines)
