"""What looks wrong in translations although every score can be computed."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import compress

from datamodules.corpus_statistics import MANY, SOME, Suspicion, suspicion
from datamodules.text_forms import LOWER_CASE, form_suspicions
from lightning_modules.metrics.failures import UNKNOWN_WORD
from lightning_modules.metrics.metric import ReferenceText, check_aligned

TOO_LONG, EXTRA_WORDS = 2, 10
"""Words of an over-long translation: so many for each word of the reference, and so many more."""
FEWEST_COPIED = 3  # least number of words of a copy: short names are the same in many languages
TOKENIZED_ENDS = (" .", " ?", " !", " 。")
SUBWORD = re.compile(r"@@( |$)|\u2581")  # marks of BPE and of SentencePiece
FAIRSEQ = re.compile(r"[DH]-\d+\t")


def suspicions_of_output(text: ReferenceText, hypotheses: Sequence[str]) -> list[Suspicion]:
    """Return what looks wrong in translations. Raises ``ValueError`` for unequal numbers of lines.

    Translations of a test set whose references look the same way are not suspicious.
    """
    references, sources = text.references, text.sources
    check_aligned(references=references, hypotheses=hypotheses)
    pairs = list(zip(references, hypotheses, strict=True))
    words = text.rules.target.words
    usual = {"", *_usual_scripts(references)}
    found = list(suspicion("translations are empty", _of_empty(text, pairs), len(pairs), 0))
    kinds: list[tuple[str, float, Callable[[str, str], object]]] = [
        (
            f"have an unknown word ({UNKNOWN_WORD})",
            MANY,
            lambda ref, hyp: UNKNOWN_WORD in hyp and UNKNOWN_WORD not in ref,
        ),
        (
            "are far longer than the reference",
            SOME,
            lambda ref, hyp: len(words(hyp)) > TOO_LONG * len(words(ref)) + EXTRA_WORDS,
        ),
        (
            "look tokenised: a space before the last mark",
            MANY,
            lambda ref, hyp: hyp.endswith(TOKENIZED_ENDS) and not ref.endswith(TOKENIZED_ENDS),
        ),
        (
            "have marks of subwords (@@, ▁), which must be joined",
            MANY,
            lambda ref, hyp: SUBWORD.search(hyp) and not SUBWORD.search(ref),
        ),
        (
            "begin as fairseq writes them (H-0 and a score): sort them and keep the last column",
            SOME,
            lambda _, hyp: FAIRSEQ.match(hyp),
        ),
        ("are in another script than the references", SOME, lambda _, h: _script(h) not in usual),
    ]
    for what, share, wrong in kinds:
        lines = [hyp for ref, hyp in pairs if wrong(ref, hyp)]
        found += suspicion(f"translations {what}", lines, len(pairs), share)
    advice = {LOWER_CASE: "; scoring.lowercase=true ignores case"}
    for form in form_suspicions({"translations": hypotheses, "references": references}, advice):
        if not (LOWER_CASE in form.what and text.rules.target.lowercase):
            found.append(form)
    if sources is not None:
        copies = [
            source
            for source, (ref, hyp) in zip(sources, pairs, strict=True)
            if hyp == source != ref and len(text.rules.source.words(source)) >= FEWEST_COPIED
        ]
        found += suspicion("translations are copies of the source", copies, len(pairs), SOME)
    return found


def _of_empty(text: ReferenceText, pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Return what should have been translated: sources, or references, of empty translations."""
    shown = text.references if text.sources is None else text.sources
    empty = (not hypothesis.strip() and bool(reference.strip()) for reference, hypothesis in pairs)
    return list(compress(shown, empty))


def _usual_scripts(lines: Sequence[str]) -> set[str]:
    """Return the scripts of at least a hundredth of the lines."""
    counts = Counter(map(_script, lines))
    return {script for script, count in counts.items() if count >= SOME * len(lines)}


def _script(line: str) -> str:
    """Return the script of most letters, such as ``LATIN``; empty without letters."""
    counts: Counter[str] = Counter()
    for letter in filter(str.isalpha, dict.fromkeys(line)):  # few letters, each of them often
        counts[_script_of_letter(letter)] += line.count(letter)
    return counts.most_common(1)[0][0] if counts else ""


@cache
def _script_of_letter(letter: str) -> str:
    return unicodedata.name(letter, "UNKNOWN").partition(" ")[0]
