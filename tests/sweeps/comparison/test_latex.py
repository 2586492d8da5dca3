"""LaTeX tables: a stock pdflatex sets each of them without an error and within the line."""

import re
import unicodedata

import pytest

from lightning_modules.metrics.bootstrap import Estimate
from sweeps.comparison.table_files import as_latex, latex_text
from sweeps.comparison.tables import Column, Table
from tests.sweeps.comparison.pdflatex import assert_compiles, pdflatex

ORIGIN: dict[str, str | int] = {
    "signature": "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0",
    "resamples": 9,
}
HOSTILE = [
    r"a_b & 5% of #1 cost $2 {x} ~y ^z \w <unk> | \"quoted\" 'x' `y`",
    "[1] in brackets, * with a star, -- with hyphens",
    "−1 ± 2 × 3 → 4 ≤ 5 ≈ 6 ≥ 7 … – — “x” ‘y’ „z“ « » µ ° · § ½ €",
    "Ångström, naïve, Łódź, groß, Œuvre, ısı, żółć, čeština, Tiếng Việt, ǰ, ñ",
    "机器翻译 машинный перевод ترجمة עברית हिन्दी 🙂 \u200b\ufeff\x07 ▲▼█",
    "x" * 20,
]
NAMES = ["none", "bahdanau", "luong_global,model.attention.score=general", "transformer"]
CLASSES = ["article", "twocolumn,article"]


def table(columns, rows, name="example", note=""):
    return Table(name, "An example", columns, rows, ORIGIN, note)


def estimates(count, rows, digits=2):
    """A table like that of scores by length."""
    columns = [Column("system", "system"), Column("seeds", "seed")]
    columns += [Column(f"b{n}", f"{n}1–{n + 1}0* (n = 123)", "estimate") for n in range(count)]
    low, high = 10**digits / 3, 10**digits / 2
    cells = [Estimate(0.4 * 10**digits, -low, high, 0.5)] * count
    return table(columns, [[NAMES[row % 4], str(row), *cells] for row in range(rows)])


def long_texts(rows):
    columns = [Column("n", "sentence", "count"), Column("a", "translation"), Column("b", "source")]
    columns.append(Column("p", "p, bootstrap, after Holm", "p"))
    return table(columns, [[row, "word " * 30, HOSTILE[row % 4], 0.01] for row in range(rows)])


def wide(rows):
    columns = [Column("corpus", "corpus")]
    columns += [Column(f"c{n}", f"target vocabulary {n}", "count") for n in range(18)]
    return table(columns, [["grammar", *range(10_000, 10_018)]] * rows)


@pdflatex
@pytest.mark.parametrize("of", CLASSES)
def test_tables_compile_within_the_line(tmp_path, of):
    columns = [Column("text", HOSTILE[0]), Column("n", HOSTILE[1], "count")]
    hostile = table(columns, [[text, n] for n, text in enumerate(HOSTILE)], note=" ".join(HOSTILE))
    made = [
        estimates(1, 3),
        estimates(7, 5),
        estimates(7, 60),
        estimates(14, 3),
        estimates(4, 3, 4),
    ]
    made += [
        long_texts(3),
        long_texts(90),
        wide(1),
        wide(5),
        hostile,
        table([Column("a", "a")], []),
    ]
    assert_compiles(tmp_path, made, of)


@pytest.mark.parametrize("text", HOSTILE)
def test_latex_text_is_ascii_and_keeps_ascii_words(text):
    written = latex_text(text)
    assert written.isascii()
    assert all(character.isprintable() for character in written)
    for word in re.findall(r"[A-Za-z]{3,}", unicodedata.normalize("NFC", text)):
        assert word in written


def test_a_character_that_the_fonts_lack_is_named():
    assert latex_text("机").startswith("U+673A")
    assert latex_text("ế é ï") == r"\'{\^{e}} \'{e} \"{\i}"
    assert latex_text("\u22121") == r"\ensuremath{-}1"


def test_numbers_stand_on_the_right_and_the_best_of_a_column_is_bold():
    columns = [
        Column("system", "system"),
        Column("bleu", "BLEU", "estimate", best=1),
        Column("ter", "TER", "number", best=-1),
        Column("n", "words", "count"),
    ]
    text = as_latex(
        table(
            columns,
            [["a", Estimate(64.04, 62, 66.06, 0.5), 31.0, 5], ["b", Estimate(-1.0), 9.0, 5]],
        )
    )
    assert r"\begin{tabular}{lrrr}" in text
    rows = {line.split(" & ")[0].strip(): re.split(r" +& +", line) for line in text.splitlines()}
    best = r"\textbf{64.0 {[}62.0, 66.1{]} \ensuremath{\pm} 0.5}"
    assert rows["a"][1:3] == [best, "31.0"]
    assert rows["b"][1:3] == [r"\ensuremath{-}1.0", r"\textbf{9.0}"]


def test_a_long_table_is_cut_off_for_paper():
    text = as_latex(estimates(1, 60))
    assert text.count("\\\\\n") == 45 + 1
    assert "The first 45 of 60 rows." in text
