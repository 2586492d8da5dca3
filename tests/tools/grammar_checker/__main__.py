"""Read many pairs of the built-in corpus: ``python -m tests.tools.grammar_checker [PAIRS]``."""

import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

from tests.helpers.data_settings import grammar_corpus
from tests.tools.grammar_checker import check_translation

HARD: dict[str, Any] = {
    "vocabulary": 2000, "zipf": 0.5, "distance": 1.5, "embedding": 0.6, "attractors": 0.8,
    "ambiguity": 1, "open_words": 0.2, "verbosity": 0.5, "reordering": 0.7, "longest": 100,
    "short_share": 0.5,
}  # fmt: skip
ODD: dict[str, Any] = {
    "vocabulary": 1200, "zipf": 0.3, "fronting": 1, "pronouns": 0.8, "relatives": 0.8, "moods": 0.5,
    "passives": 0.5, "perfects": 0.3, "questions": 0.2, "comparatives": 0.6, "ambiguity": 0.6,
    "short_share": 0.5,
}  # fmt: skip
RICH: dict[str, Any] = {"vocabulary": 2000, "zipf": 0, "paraphrase": 0.5, "short_share": 0.5}
SETTINGS: dict[str, dict[str, Any]] = {"default": {}, "hard": HARD, "rich": RICH, "odd": ODD}
Languages = tuple[str, str]
LANGUAGES: tuple[Languages, ...] = (
    ("en", "fr"), ("en", "de"), ("fr", "de"), ("fr", "en"), ("de", "en"),
)  # fmt: skip


def pairs(setting: str, most: int, languages: Languages) -> Iterator[tuple[str, str]]:
    """Yield sentence pairs of the grammar."""
    source, target = languages
    corpus = grammar_corpus(seed=5, source=source, target=target, **SETTINGS[setting])
    return ((pair.source, pair.target) for pair in islice(corpus.training_pairs(), most))


def wrong_pairs(
    setting: str, most: int, languages: Languages
) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the pairs with findings among the first ``most``."""
    for source, target in pairs(setting, most, languages):
        findings = check_translation(source, target, languages)
        if findings:
            yield source, target, findings


SHARES = {"default": 0.2, "hard": 0.08, "rich": 0.08, "odd": 0.04}
SHOWN = 20


def main(most: int) -> bool:
    """Print the first pairs with findings of each two languages; return whether there are any."""
    found = False
    for languages in LANGUAGES:
        for setting in SETTINGS:
            checked = round(SHARES[setting] * most)
            wrong = list(islice(wrong_pairs(setting, checked, languages), SHOWN))
            found |= bool(wrong)
            between = "-".join(languages)
            print(f"{between} {setting}: {checked:,} pairs, {len(wrong) or 'no'} with findings")
            for source, target, findings in wrong:
                print(f"  {source}\n  {target}\n    {'; '.join(findings)}")
    return found


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000))
