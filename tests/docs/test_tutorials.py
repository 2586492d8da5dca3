"""The tutorials: their commands are run in short, and print what the pages show."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from lightning_modules.figures.latex import latex_figure
from tests.helpers.commands import ROOT, TINY, write
from tests.helpers.shown_commands import follow, missing, read_page

TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
MOST_WORDS = 600
WORDS = {
    "en": ["a", "man", "sees", "two", "dogs", "near", "the", "old", "house", "and", "sleeps"],
    "de": ["ein", "Mann", "sieht", "zwei", "Hunde", "beim", "alten", "Haus", "und", "schläft"],
}
PAIRS = 1_900  # of which 1,500 are for validation and test
SHORT = [each for each in TINY if not each.startswith(("data.", "scoring."))]
"""Of a training; the sizes of a corpus depend on the corpus."""
CORPUS = {
    "first_figure": ["data.train_size=300", "data.val_size=12", "data.test_size=180"],
    "your_attention": ["data.train_size=300", "data.val_size=12", "data.test_size=60"],
    "your_text": ["tokenizer.vocabulary_size=60"],
}
"""By page: settings of a smaller corpus, which ``task=data`` reads too."""


def write_text(folder: Path) -> None:
    """Write the reader's text: two files whose lines have a length in common."""
    random = np.random.default_rng(0)
    lengths = random.integers(4, 12, PAIRS)
    for language, words in WORDS.items():
        lines = [" ".join(random.choice(words, length)) for length in lengths]
        write(folder / f"text.{language}", lines)


@pytest.mark.long
@pytest.mark.parametrize("page", TUTORIALS, ids=[page.stem for page in TUTORIALS])
def test_the_commands_of_a_tutorial_print_what_it_shows(page, tmp_path):
    def shorter(arguments: Sequence[str]) -> list[str]:
        tasks = [each for each in arguments if each.startswith("task=")]
        if tasks not in ([], ["task=data"]):  # of a run, whose settings it has
            return []
        return CORPUS[page.stem] if tasks else [*CORPUS[page.stem], *SHORT]

    write_text(tmp_path)
    assert follow(page, tmp_path, shorter) == []


@pytest.mark.parametrize("page", TUTORIALS, ids=[page.stem for page in TUTORIALS])
def test_a_tutorial_is_short_and_shows_output(page):
    assert len(page.read_text(encoding="utf-8").split()) <= MOST_WORDS
    assert {"sh", "text"} <= {language for language, _ in read_page(page)}


def test_the_float_that_a_page_shows_is_the_one_that_is_written():
    shown = read_page(ROOT / "docs" / "how_to" / "paper_figure.md")
    assert ("latex", latex_figure("bleu_by_length_column", "…", 1.0, wide=False)) in shown


PRINTED = """
encoding the corpus into .cache/grammar-0123456789ab
bahdanau seed 1   29%  1,155 tokens  loss 4.495  0:07 left
bahdanau seed 1  100%  4,037 tokens  loss 3.062  0:00 left
✓ a fair comparison: all 20
conditions hold
"""


@pytest.mark.parametrize(
    ("shown", "absent"),
    [
        ("bahdanau seed 3 100% 400,037 tokens loss 2.1 1:02:07 left", []),  # other numbers
        ("encoding the corpus into .cache/grammar-d1a34e49b866\n…\n✓ a fair comparison", []),
        ("encoding the corpus into .cache/grammar-d1a34e49b866\n✓ a fair", ["encoding"]),  # no gap
        ("conditions hold\n…\nencoding the corpus", ["encoding"]),  # another order
        ("luong seed 1", ["luong"]),
    ],
)
def test_words_of_the_output_are_compared_and_numbers_are_not(shown, absent):
    found = missing(shown, PRINTED)
    assert [part.split()[0] for part in found] == absent
