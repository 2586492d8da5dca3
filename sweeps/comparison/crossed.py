"""Comparisons that repeat the same systems and seeds on several corpora."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from lightning_modules.runs.schema import Result
from lightning_modules.runs.settings.table import key_of, labelling_overrides


def corpora(results: Sequence[Result]) -> list[list[int]]:
    """Return the numbers of the runs on each corpus, if each has the same systems and seeds.

    Such a comparison is one controlled comparison for each corpus, and each is checked alone. In
    every other comparison, runs on different corpora are a mistake: then all runs stand together.
    """
    by_corpus: dict[tuple[str, ...], list[int]] = defaultdict(list)
    jobs: dict[tuple[str, ...], Counter[tuple[str, ...]]] = defaultdict(Counter)
    for number, result in enumerate(results):
        overrides = labelling_overrides(result.overrides, result.variant)
        corpus = tuple(each for each in overrides if _names_corpus(each))
        others = (each for each in overrides if not _names_corpus(each))
        by_corpus[corpus].append(number)
        jobs[corpus][result.variant, *others, str(result.seed)] += 1
    first, *rest = jobs.values()
    if rest and all(each == first for each in rest):
        return list(by_corpus.values())
    return [list(range(len(results)))]


def _names_corpus(override: str) -> bool:
    return key_of(override).partition(".")[0] == "data"
