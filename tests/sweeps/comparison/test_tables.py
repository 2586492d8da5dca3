"""Tables: numbers as readers see them, four formats, LaTeX that pdflatex sets."""

import csv
import io
import json
import re
import unicodedata
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightning_modules.figures.charts import as_spec
from lightning_modules.metrics.bootstrap import Estimate
from sweeps.comparison.numbers import (
    MINUS,
    format_estimate,
    format_number,
    format_p,
    format_size,
    p_floor,
    p_statement,
)
from sweeps.comparison.table_files import (
    FORMATS,
    as_csv,
    as_json,
    as_latex,
    as_markdown,
    latex_text,
)
from sweeps.comparison.tables import Column, Table
from sweeps.report.report import make_report
from tests.helpers.run_folders import REPORT, TEXT, findings_of, make_run, text
from tests.sweeps.comparison.pdflatex import ACL, assert_compiles, pdflatex


@pytest.mark.parametrize(
    ("value", "decimals", "shown"),
    [(-1.25, 1, "−1.2"), (-0.001, 1, "0.0"), (1234567.0, 0, "1,234,567"), (-9876, 0, "−9,876")],
)
def test_a_number_has_a_real_minus_sign_and_zero_has_none(value, decimals, shown):
    assert format_number(value, decimals) == shown


@pytest.mark.parametrize("decimals", [0, 1, 2, 3])
def test_a_value_its_interval_and_its_deviation_have_the_same_decimals(decimals):
    shown = format_estimate(Estimate(64, -1.23456, 70.5, 0.1), decimals)
    numbers = shown.replace("[", "").replace("]", "").replace(",", "").replace("± ", "").split()
    assert len(numbers) == 4
    assert {len(number.partition(".")[2]) for number in numbers} == {decimals}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"), (9_999, "9,999"), (10_000, "10.0 k"), (99_960, "100 k"), (1_234_567, "1.23 M"),
        (999_999, "1.00 M"), (12_345_678_901, "12.3 G"),
    ],
)  # fmt: skip
def test_a_size_has_three_digits_and_a_unit(value, shown):
    assert format_size(value) == shown


def readable(p):
    return float(p.removeprefix("≤ ").replace(MINUS, "-"))


@pytest.mark.parametrize("p", [1.0, 0.05, 0.0001, 0.00009999, 1 / 10_001, 1 / 1_000_001, 1e-300])
def test_no_p_value_is_shown_as_nothing(p):
    assert readable(format_p(p)) > 0
    assert readable(format_p(p)) == pytest.approx(p, rel=0.06)


@pytest.mark.parametrize("tests", [1, 2, 15, 71, 500])
@pytest.mark.parametrize("resamples", [100, 10_000, 1_000_000])
def test_a_p_value_at_the_floor_of_the_resamples_is_shown_as_at_most_that(resamples, tests):
    floor = p_floor(resamples, tests)
    if floor < 1:
        assert format_p(floor, floor).startswith("≤ ")
        assert readable(format_p(floor, floor)) >= floor * (1 - 1e-9)
        assert readable(format_p(floor, floor)) <= max(1.1 * floor, floor + 1e-4)
    assert not format_p(min(1, 1.5 * floor), floor).startswith("≤") or floor == 1


def test_a_p_value_as_a_statement():
    assert p_statement(0.03125, p_floor(10_000, 71)) == "p = 0.0312"
    assert p_statement(71 / 10_001, p_floor(10_000, 71)) == "p ≤ 0.0071"


ORIGIN: dict[str, str | int] = {
    "test sentences": 65,
    "signature": "nrefs:1|case:mixed",
    "resamples": 200,
    "seed": 12345,
}
WHOLE = Estimate(1 / 3, 0.1, 2 / 3, 0.0123456789, (0.3, 0.4))
BARE = Estimate(64.0)
SPECIAL = r"a_b & 5% of #1 cost $2 {x} ~y ^z \w"


def table(*rows, note=""):
    columns = [
        Column("system", "system"),
        Column("count", "words", "count"),
        Column("share", "share", "number", 2),
        Column("bleu", "BLEU", "estimate"),
        Column("p", "p, bootstrap", "p"),
    ]
    return Table("example", "An example", columns, rows, ORIGIN, note)


ROWS = [["luong", 12345, 0.1 + 0.2, WHOLE, 1e-05], ["none", 0, None, BARE, 0.5], ["x"] + [None] * 4]


def csv_rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_holds_every_number_in_full_and_estimates_in_four_columns():
    first, second, third = csv_rows(as_csv(table(*ROWS)))
    assert first["system"] == "luong"
    assert int(first["count"]) == 12345
    numbers = ("share", "bleu", "bleu_low", "bleu_high", "bleu_deviation", "p")
    assert [float(first[key]) for key in numbers] == [
        0.1 + 0.2, WHOLE.value, WHOLE.low, WHOLE.high, WHOLE.deviation, 1e-05,
    ]  # fmt: skip
    assert second["count"] == "0"
    assert [second[key] for key in numbers] == ["", "64.0", "", "", "", "0.5"]
    assert [third[key] for key in numbers] == [""] * 6
    for row in (first, second, third):
        assert {key: row[key] for key in ORIGIN} == {key: str(v) for key, v in ORIGIN.items()}


def test_json_holds_every_number_in_full_and_estimates_as_objects():
    content = json.loads(as_json(table(*ROWS, note="read me")))
    assert content["origin"] == ORIGIN
    assert content["note"] == "read me"
    assert content["columns"]["p"] == "p, bootstrap"
    first, second, third = content["rows"]
    assert first == {
        "system": "luong",
        "count": 12345,
        "share": 0.1 + 0.2,
        "bleu": {
            "value": 1 / 3, "low": 0.1, "high": 2 / 3, "deviation": 0.0123456789,
            "seeds": [0.3, 0.4],
        },
        "p": 1e-05,
    }  # fmt: skip
    assert second["bleu"] == {
        "value": 64, "low": None, "high": None, "deviation": None, "seeds": [],
    }  # fmt: skip
    assert third["bleu"] is None


def test_readers_see_intervals_deviations_and_dashes():
    assert table(*ROWS).shown == [
        ["luong", "12,345", "0.30", "0.3 [0.1, 0.7] ± 0.0", "1.0e−05"],
        ["none", "0", "–", "64.0", "0.5000"],
        ["x", "–", "–", "–", "–"],
    ]


def cells(markdown):
    """Cells of a pipe table's body as a reader of GitHub's Markdown sees them."""
    rows = [line for line in markdown.splitlines() if line.startswith("|")][2:]
    body = []
    for row in rows:
        inner = re.split(r"(?<!\\)\|", row.strip()[1:-1])
        body.append([re.sub(r"\\(.)", r"\1", cell).strip() for cell in inner])
    return body


def test_markdown_keeps_pipes_and_line_ends_inside_their_cell():
    hostile = ["a | b", "two\nlines\r\nand\u2028more", "ends with \\"]
    body = cells(as_markdown(table(*[[name, 1, 0.5, BARE, 0.5] for name in hostile])))
    assert [row[0] for row in body] == ["a | b", "two lines and more", "ends with \\"]
    assert all(len(row) == 5 for row in body)


def test_markdown_shows_tags_as_text():
    """``<unk>`` is a word of translations; as HTML it would vanish."""
    shown = as_markdown(table(["<unk> & <b>", 1, 0.5, BARE, 0.5]))
    [row] = cells(shown)
    assert row[0] == "&lt;unk&gt; &amp; &lt;b&gt;"


@pytest.mark.parametrize("gap", ["\n", "\r", "\x0b", "\x0c", "\x85", "\u2028"])
def test_a_line_end_inside_a_cell_breaks_no_format(gap):
    made = table([f"one{gap}two", 1, 0.5, BARE, 0.5], note=f"a{gap}b")
    assert len(json.loads(as_json(made))["rows"]) == 1
    assert [row["system"] for row in csv_rows(as_csv(made))] == ["one two"]
    assert [row[0] for row in cells(as_markdown(made))] == ["one two"]
    latex = as_latex(made)
    assert "one two" in latex
    assert "a b" in latex


def test_a_table_without_rows_is_still_one():
    made = table()
    assert json.loads(as_json(made))["rows"] == []
    assert len(as_csv(made).splitlines()) == 1
    assert "BLEU" in as_markdown(made)
    assert "BLEU" in as_latex(made)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """All tables of a comparison on two test sets, with seeds, attention and gold links."""
    folder = tmp_path_factory.mktemp("runs")
    made = [("none", 1, TEXT), ("luong", 1, TEXT), ("luong", 2, TEXT), ("transformer", 1, text(1))]
    runs = [
        make_run(folder / f"{variant}{seed}", variant, seed, text=on) for variant, seed, on in made
    ]
    return make_report(findings_of(runs), REPORT)


def printed(latex):
    """LaTeX as its reader sees it, as far as the origins of tables need."""
    shown = latex.replace(r"\allowbreak{}", "").replace(r"\textbar{}", "|").replace(r"\_", "_")
    return shown.replace(r"\#", "#")


def test_every_format_of_every_table_tells_its_origin(report):
    assert {"scores", "bleu_significance", "words_by_frequency"} <= report.tables.keys()
    for name, made in report.tables.items():
        drawn = any(column.kind in ("estimate", "p") for column in made.columns)
        counted = "runs" if name in ("speed", "learning") else "sentences"
        assert any(counted in key for key in made.origin), name
        assert ("resamples" in made.origin and "resampling seed" in made.origin) or not drawn, name
        assert "signature" in made.origin or name.split("_")[0] not in ("bleu", "chrf", "ter"), name
        for value in made.origin.values():
            for ending, write in FORMATS.items():
                content = (
                    printed(write(made)) if ending == "tex" else write(made).replace("\\|", "|")
                )
                assert str(value) in content, (name, ending)


def test_a_deviation_is_explained_where_a_system_has_several_seeds(tmp_path):
    runs = [make_run(tmp_path / f"{name}", name) for name in ("none", "luong")]
    again = make_run(tmp_path / "2", "luong", 2)
    for made, told in ((runs, False), ([*runs, again], True)):
        tables = make_report(findings_of(made), REPORT).tables
        for name in ("scores", "main", "bleu_by_length", "bleu_trend", "failures_by_length"):
            assert "In brackets the 95% bootstrap interval" in tables[name].caption
            assert ("after ± the standard deviation" in tables[name].caption) == told, name


@pdflatex
@pytest.mark.parametrize("of", ["article", "twocolumn,article", ACL])
def test_every_table_of_a_report_compiles_within_the_line(report, tmp_path, of):
    assert_compiles(tmp_path, report.tables.values(), of)


@pytest.mark.long
def test_a_chart_of_sentences_counts_each_sentence_once(report):
    values = as_spec(report.figures["sentences_by_score"])["data"]["values"]
    for label in ("none", "luong"):
        counted = sum(row["sentences"] for row in values if row["system"] == label)
        assert counted == len(TEXT.references)


def test_every_table_reads_back_from_csv_as_from_json(report):
    for made in report.tables.values():
        by_json = json.loads(as_json(made))["rows"]
        for one, other in zip(by_json, csv_rows(as_csv(made)), strict=True):
            for column in made.columns:
                value = one[column.key]
                value = value["value"] if isinstance(value, dict) else value
                read = other[column.key]
                same = read == ("" if value is None else str(value))
                assert same or float(read) == value, (made.name, column.key)


SIGNATURE: dict[str, str | int] = {
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
CLASSES = ["article", "twocolumn,article", ACL]


def paper_table(columns, rows, name="example", note=""):
    return Table(name, "An example", columns, rows, SIGNATURE, note)


def estimates(count, rows, digits=2):
    """A paper_table like that of scores by length."""
    columns = [Column("system", "system"), Column("seeds", "seed")]
    columns += [Column(f"b{n}", f"{n}1–{n + 1}0* (n = 123)", "estimate") for n in range(count)]
    low, high = 10**digits / 3, 10**digits / 2
    cells = [Estimate(0.4 * 10**digits, -low, high, 0.5)] * count
    return paper_table(columns, [[NAMES[row % 4], str(row), *cells] for row in range(rows)])


def long_texts(rows):
    columns = [Column("n", "sentence", "count"), Column("a", "translation"), Column("b", "source")]
    columns.append(Column("p", "p, bootstrap, after Holm", "p"))
    return paper_table(
        columns, [[row, "word " * 30, HOSTILE[row % 4], 0.01] for row in range(rows)]
    )


def wide(rows):
    columns = [Column("corpus", "corpus")]
    columns += [Column(f"c{n}", f"target vocabulary {n}", "count") for n in range(18)]
    return paper_table(columns, [["grammar", *range(10_000, 10_018)]] * rows)


@pdflatex
@pytest.mark.parametrize("of", CLASSES)
def test_tables_compile_within_the_line(tmp_path, of):
    columns = [Column("text", HOSTILE[0]), Column("n", HOSTILE[1], "count")]
    hostile = paper_table(
        columns, [[text, n] for n, text in enumerate(HOSTILE)], note=" ".join(HOSTILE)
    )
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
        paper_table([Column("a", "a")], []),
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


@pytest.mark.parametrize("text", ["source length (words), 500", "a; (b), c: (d)."])
def test_no_line_breaks_before_a_mark(text):
    assert latex_text(text) == text


def test_the_table_of_a_paper_says_how_its_systems_were_trained(tmp_path):
    """Without authors, whom a paper cites."""
    labels = {"none": "No attention (Cho et al.)", "luong": "Luong, dot"}
    runs = [
        make_run(tmp_path / f"{name}{seed}", name, seed, config={"label": label})
        for name, label in labels.items()
        for seed in (1, 2)
    ]
    main = make_report(findings_of(runs), REPORT).tables["main"]
    trained = "Trained on 60,000 pairs of grammar (en → fr); 1,500,000 target tokens (1.3 epochs)"
    assert f"{trained} per run; seeds 1, 2." in main.caption
    assert [row[0] for row in main.shown] == ["No attention", "Luong, dot"]
    weak = [make_run(tmp_path / "3", "none", 3, alarms=[BELOW]), runs[-1]]
    main = make_report(findings_of(weak), REPORT).tables["main"]
    why = "on short sentences worse than a translation without a model"
    assert f"‡: learned too little ({why})." in main.caption
    assert [row[0] for row in main.shown] == ["none‡", "Luong, dot"]
    assert r"none\ensuremath{\ddagger}" in as_latex(main)
    counts = [column.key for column in main.columns[1:]]
    assert f"{len(TEXT.references):,} in all" in main.caption
    assert all(f" of {name}" in main.caption for name in counts[1:])


BELOW = {"kind": "below", "text": "BLEU 12.3 at 1–10 words, phrase table 45.6"}


@pytest.mark.parametrize("weak", [True, False])
def test_the_caption_of_a_figure_names_weak_systems_and_says_what_baselines_are(tmp_path, weak):
    more: dict[str, Any] = {"alarms": [BELOW], "phrase_table": TEXT.references} if weak else {}
    runs = [make_run(tmp_path / "0", "none", **more), make_run(tmp_path / "1", "luong")]
    figures = make_report(findings_of(runs), REPORT).figures
    for name in ("bleu_by_length", "chrf_by_length"):
        caption = figures[name].usermeta["caption"]
        assert ("“none” has learned too little (on short sentences worse than " in caption) == weak
        drawn = weak and name == "bleu_by_length"  # other scores have no baselines
        assert (" Without a model: phrase table (phrase by phrase, " in caption) == drawn


def test_a_rule_stands_above_translations_without_a_model(tmp_path):
    """And a gap between rows of two lines."""
    runs = [
        make_run(tmp_path / name, name, phrase_table=TEXT.references) for name in ("none", "luong")
    ]
    made = make_report(findings_of(runs), REPORT).tables["main"]
    assert made.apart
    first, second = as_latex(made).split("\\midrule")[1:]
    assert second.split("&")[0].strip() == "phrase table"
    assert first.count("\\addlinespace") == 1
    plain = as_latex(replace(made, apart=()))
    assert (plain.count("\\midrule"), plain.count("\\addlinespace")) == (1, len(made.rows) - 1)


def test_rows_of_different_lengths_do_not_compete():
    columns = [
        Column("system", "system"),
        Column("lengths", "lengths"),
        Column("bleu", "BLEU", "estimate", best=1),
        Column("ter", "TER", "number", best=-1),
    ]
    rows = [
        ["a", "1–10", Estimate(60.0), 30.0],
        ["b", "1–10", Estimate(50.0), 20.0],
        ["a", "11–20", Estimate(10.0), 90.0],
        ["b", "11–20", Estimate(20.0), 90.0],
    ]
    table = paper_table(columns, rows)
    assert table.best == [set(), set(), {0}, {1}]
    assert replace(table, within="lengths").best == [set(), set(), {0, 3}, {1}]


def test_a_translation_without_a_model_is_never_the_best(tmp_path):
    """Bold is for systems, also where a phrase table has a higher score."""
    places = [(tmp_path / name, name) for name in ("none", "luong")]
    runs = [make_run(*place, phrase_table=TEXT.references) for place in places]
    tables = make_report(findings_of(runs), REPORT).tables
    for name in ("main", "scores", "bleu_by_length"):
        table = tables[name]
        bold = {table.rows[number][0] for numbers in table.best for number in numbers}
        assert bold == {"luong"}, name
        told = "Bold: the best system; translations without a model (phrase table) may be better."
        assert told in as_latex(table)
        assert "Bold: the best system." in as_latex(replace(table, rows=table.rows[:2]))
        assert "Bold" not in as_latex(replace(table, rows=table.rows[:1]))


def test_numbers_stand_on_the_right_and_the_best_of_a_column_is_bold():
    columns = [
        Column("system", "system"),
        Column("bleu", "BLEU", "estimate", best=1),
        Column("ter", "TER", "number", best=-1),
        Column("n", "words", "count"),
    ]
    text = as_latex(
        paper_table(
            columns,
            [["a", Estimate(64.04, 62, 66.06, 0.5), 31.0, 5], ["b", Estimate(-1.0), 9.0, 5]],
        )
    )
    assert r"\begin{tabular}{lrrr}" in text
    body = text.partition(r"\midrule")[2].partition(r"\bottomrule")[0]
    rows = [
        [cell.strip() for cell in re.split(r" *& *", line.removesuffix(r"\\"))]
        for line in body.strip().splitlines()
    ]
    beneath = r"\scriptsize {[}62.0, 66.1{]} \ensuremath{\pm} 0.5"
    assert rows == [
        ["a", r"\textbf{64.0}", "31.0", "5"],
        ["", beneath, "", ""],
        ["b", r"\ensuremath{-}1.0", r"\textbf{9.0}", "5"],
    ]


def test_a_long_title_stands_in_lines_above_its_numbers():
    columns = [Column("system", "system"), Column("n", "falls below 80% of its best at", "number")]
    text = as_latex(paper_table(columns, [["a", 41.0]]))
    assert r"\shortstack[r]{falls below\\80\% of its\\best at}" in text


@given(st.lists(st.text("abcde", min_size=1, max_size=14), min_size=1, max_size=20))
def test_no_title_has_more_than_three_lines(words):
    column = Column("n", " ".join(words), "count")
    head = as_latex(paper_table([column], [[1]])).partition(r"\midrule")[0]
    lines = head.partition(r"\toprule")[2].strip().removesuffix(r"\\")
    assert lines.count(r"\\") < 3
    assert re.findall("[a-e]+", lines.replace("shortstack", "")) == words


def test_a_long_table_is_cut_off_for_paper():
    text = as_latex(long_texts(60))
    assert text.count("\\\\\n") == 45 + 1
    assert "The first 45 of 60 rows." in text
