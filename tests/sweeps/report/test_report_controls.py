"""Controls of the report: sort, choose, save."""

import csv
import io
import re
import time
from functools import partial

import pytest

from lightning_modules.runs.files import read_history
from tests.helpers.pages import HEADS, HOSTILE, WORDS, all_drawn, number, rows, screen, texts

MEASURES = {
    "bleu": {"val_bleu": "validation BLEU"},
    "loss": {"train_loss": "training loss", "val_loss": "validation loss"},
}

pytestmark = [pytest.mark.chromium, pytest.mark.long]


@pytest.fixture
def saved(page, tmp_path):
    """Click a button and return the file that the browser saves."""
    allowed = {"behavior": "allow", "downloadPath": str(tmp_path)}
    page.execute_cdp_cmd("Browser.setDownloadBehavior", allowed)

    def click(selector, name):
        page.execute_script("document.querySelector(arguments[0]).click()", selector)
        path = tmp_path / name
        for _ in range(300):
            if path.is_file():
                return path
            time.sleep(0.1)
        raise AssertionError(f"{name} was not saved, but {list(tmp_path.iterdir())}")

    return click


def header(page, table, column):
    return page.execute_script(
        "return document.getElementById(arguments[0]).tHead.rows[0].cells[arguments[1]]",
        table,
        column,
    )


@pytest.mark.parametrize(
    ("table", "column"), [("scores", 3), ("bleu_significance", 5), ("bleu_significance", 7)]
)
def test_a_header_sorts_by_value_up_down_and_back(page, table, column):
    from selenium.webdriver.common.keys import Keys

    def values():
        return [number(row[column]) for row in rows(page, table)]

    before, title = rows(page, table), header(page, table, column)
    button = title.find_element("tag name", "button")
    button.send_keys(Keys.ENTER)
    assert title.get_attribute("aria-sort") == "ascending"
    assert values() == sorted(values())
    assert sorted(rows(page, table)) == sorted(before)
    button.send_keys(Keys.SPACE)
    assert title.get_attribute("aria-sort") == "descending"
    assert values() == sorted(values(), reverse=True)
    button.send_keys(Keys.ENTER)
    assert title.get_attribute("aria-sort") == "none"
    assert rows(page, table) == before


def test_equal_rows_keep_their_order_and_nothing_comes_last(page):
    before = rows(page, "attention_scores")
    assert before[0][3] == "–"
    alike = [row[0] for row in before]
    for column, order in ((3, [*alike[1:], alike[0]]), (2, alike)):
        button = header(page, "attention_scores", column).find_element("tag name", "button")
        for _ in ("ascending", "descending"):
            page.execute_script("arguments[0].click()", button)
            assert [row[0] for row in rows(page, "attention_scores")] == order
        page.execute_script("arguments[0].click()", button)


def test_tabs_show_one_table_each_with_the_best_values_in_bold(page):
    from selenium.webdriver.common.keys import Keys

    def shown():
        tables = page.find_elements("css selector", ".tabs table")
        return [table.get_attribute("id") for table in tables if table.is_displayed()]

    first, second, *_ = tabs = page.find_elements("css selector", "[role=tab]")
    names = [tab.get_attribute("aria-controls").removeprefix("panel-") for tab in tabs]
    assert shown() == ["scores"] == names[:1]
    first.send_keys(Keys.ARROW_LEFT)
    assert shown() == names[-1:]
    page.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    second.click()
    assert shown() == names[1:2]
    assert [tab.get_attribute("aria-selected") for tab in tabs].count("true") == 1
    first.click()
    leading = """return [...document.querySelectorAll('#scores tbody tr')]
        .map(row => row.cells[arguments[0]].className.includes('leads'))"""
    for column in range(3, len(rows(page, "scores")[0])):
        marked = page.execute_script(leading, column)
        assert len(marked) == len(rows(page, "scores"))
    values = [number(row[3]) for row in rows(page, "scores")]
    assert page.execute_script(leading, 3) == [value == max(values) for value in values]


CHARTED = ["sentences_by_score", "failures_by_length"]  # tables that the page shows as charts


def test_every_table_is_saved_as_it_lies_in_the_folder(page, saved, folder):
    shown = page.execute_script("return [...document.querySelectorAll('table[id]')].map(t => t.id)")
    offered = page.execute_script(
        "return [...document.querySelectorAll('[data-csv]')].map(b => b.dataset.csv)"
    )
    assert sorted(offered) == sorted([*shown, *CHARTED, "every_seed", "learning"])
    for name, file in (("scores", "tables/scores.csv"), ("every_seed", "bleu_by_length.csv")):
        path = saved(f"[data-csv={name}]", f"{name}.csv")
        assert path.read_bytes() == (folder / file).read_bytes()
    texts = page.execute_script("return files")
    for name in shown:
        lying = (folder / "tables" / f"{name}.csv").read_text(encoding="utf-8")
        assert list(csv.reader(io.StringIO(texts[name]))) == list(csv.reader(io.StringIO(lying)))


def test_figures_are_saved_as_they_are_drawn(page, saved):
    figure = ".drawing:has([data-figure=bleu_by_length]) [data-picture={}]"
    svg = saved(figure.format("svg"), "bleu_by_length.svg").read_text(encoding="utf-8")
    assert svg.startswith("<svg")
    assert "longest training sentence" in svg
    png = saved(figure.format("png"), "bleu_by_length.png").read_bytes()
    assert png.startswith(b"\x89PNG")


LINES = ".drawing:has([data-figure=bleu_by_length])"


def test_a_name_at_the_end_of_a_line_brings_it_out_and_all_back(page):
    from selenium.webdriver.common.action_chains import ActionChains

    script = """return [...document.querySelectorAll(arguments[0])]
        .map(line => Number(line.getAttribute('opacity') ?? 1))"""

    def clear():
        return page.execute_script(script, f"{LINES} .mark-line path")

    everything = clear()
    assert set(everything) == {1}
    names = page.find_elements("css selector", f"{LINES} .mark-text.role-mark text")
    [name] = [each for each in names if each.text == "luong"]
    for _ in range(2):
        ActionChains(page).move_to_element(name).click().perform()
        assert sorted(clear())[-2] < sorted(clear())[-1] == 1
        ActionChains(page).move_to_element(name).click().perform()
        assert clear() == everything


def test_the_pointer_says_the_scores_of_all_systems_at_a_length(page):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.support.ui import WebDriverWait

    chart = page.find_element("css selector", f"{LINES} .chart")
    said = """const told = document.querySelector('#vg-tooltip-element.visible');
        return told && [...told.querySelectorAll('tr')].map(
            row => [...row.cells].map(cell => cell.textContent))"""
    ActionChains(page).move_to_element(chart).perform()
    told = WebDriverWait(page, 20).until(lambda _: page.execute_script(said))
    (axis, length), *scores = told
    assert "source length" in axis
    assert length in ("1–10", "11–20", "21–30")
    systems = [HOSTILE[0], "luong", "none"]
    assert sorted(name.removesuffix(":") for name, _ in scores) == sorted(systems)
    for _, score in scores:
        assert re.match(r"[\d.]+ \[[\d.]+, [\d.]+\]", score)
    ActionChains(page).move_to_element(page.find_element("css selector", "h1")).perform()


def test_the_matrix_shows_the_tests_of_the_chosen_lengths(page):
    from selenium.webdriver.support.ui import Select

    chooser = Select(page.find_element("css selector", "#significance select"))
    for option, lengths in ((1, "1–10"), (0, "all")):
        chooser.select_by_index(option)
        [shown] = [m for m in page.find_elements("css selector", ".matrix") if m.is_displayed()]
        head = [e.text for e in shown.find_elements("css selector", "thead th")]
        side = [e.text for e in shown.find_elements("css selector", "tbody th")]
        cells = [e.text for e in shown.find_elements("css selector", "tbody td")]
        ranked = [side[0], *head]  # the highest BLEU first
        assert ranked[:-1] == side
        assert set(ranked) == {"none", HOSTILE[0], "luong"}
        assert len(list(filter(None, cells))) == 3  # each pair once
        for first, second, _, of, _, difference, _, p, *_ in rows(page, "bleu_significance"):
            if of == lengths:
                row, column = sorted([first, second], key=ranked.index)
                shown, *of = cells[len(head) * side.index(row) + head.index(column)].splitlines()
                value, *ends = re.findall(r"−?[\d.]+", difference)
                assert value.lstrip("−") in shown
                assert ("−" in shown) == (("−" in value) == (row == first))
                assert {end.lstrip("−") for end in ends} == set(re.findall(r"[\d.]+", of[0]))
                assert p in of[1]


def _has_drawn(page, name):
    return page.find_elements("css selector", f"[data-figure={name}] .mark-symbol.role-mark path")


def test_learning_curves_are_those_of_the_files_by_tokens_and_by_seconds(page, folder):
    from selenium.webdriver.support.ui import Select, WebDriverWait

    chooser = Select(page.find_element("css selector", "#learning select"))
    points = """const view = views.get(document.querySelector(`[data-figure=${arguments[0]}]`));
        return [...view.container().querySelectorAll('.mark-symbol.role-mark path')]
            .map(path => path.__data__.datum).filter(datum => arguments[1] in datum)
            .map(({seed, what, value, [arguments[1]]: place}) => [seed, what, place, value])"""
    kept = [(1, read_history(folder / "0")), (2, read_history(folder / "3"))]
    for option, pace in ((1, "seconds"), (0, "target_tokens")):
        chooser.select_by_index(option)
        for measure, columns in MEASURES.items():
            name = f"learning_{measure}_by_{pace}"
            WebDriverWait(page, 30).until(partial(_has_drawn, name=name))
            drawn = page.execute_script(points, name, pace)
            expected = [
                [seed, title, getattr(point, pace), pytest.approx(getattr(point, column), 1e-5)]
                for seed, history in kept
                for point in history
                for column, title in columns.items()
            ]
            assert sorted(drawn) == sorted(expected, key=lambda row: row[:3])
            shown = page.find_elements("css selector", "#learning .chart")
            by_tokens, by_seconds = option == 0, option == 1
            assert [chart.is_displayed() for chart in shown] == [by_tokens] * 2 + [by_seconds] * 2


def weights_of(page, name):
    """The weights of a map of the strip, row by row, once it is drawn as ``name``."""
    from selenium.webdriver.support.ui import WebDriverWait

    script = """return [...document.querySelectorAll(
        `.strip [data-name="${arguments[0]}"] .layer_0_marks path`)]
        .map(path => path.__data__.datum.weight)"""
    return WebDriverWait(page, 30).until(lambda _: page.execute_script(script, name))


def marked(page):
    """The words that are marked, and the numbers of the cells that are, in each map."""
    words = texts(page, "#look .word.on")
    script = """return [...document.querySelectorAll('.strip .chart')].map(chart =>
        [...chart.querySelectorAll('.layer_0_marks path')]
            .flatMap((cell, place) => cell.matches('.on') ? [place] : []))"""
    return words, page.execute_script(script)


def column(place, words=WORDS):
    return [row * len(words) + place for row in range(len(words))]


def row(place, words=WORDS):
    return [place * len(words) + other for other in range(len(words))]


def chosen_sentence(page):
    from selenium.webdriver.support.ui import Select

    return Select(page.find_element("css selector", "#look [data-of=sentence]"))


def test_all_systems_stand_side_by_side_those_with_maps_first(page):
    assert texts(page, ".strip h3 bdi") == [HOSTILE[0], "luong", "none"]
    assert len(texts(page, ".strip .chart svg.marks")) == 2
    assert texts(page, ".strip .note")[-1].startswith("This model has no attention")
    tops = page.execute_script(
        "return [...document.querySelectorAll('.strip .chart')].map(e => e.offsetTop)"
    )
    assert len(tops) == 2


@pytest.mark.parametrize(
    ("count", "most", "rows_of"),
    [(5, 4, [3, 2]), (7, 3, [3, 2, 2]), (4, 4, [4]), (3, 1, [1, 1, 1]), (0, 4, [])],
)
def test_maps_are_spread_over_rows(page, count, most, rows_of):
    assert page.execute_script(f"return rowsOf({count}, {most})") == rows_of


@pytest.mark.parametrize(("width", "in_rows"), [(1400, [2, 1]), (390, [1, 1, 1])])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_maps_fill_their_rows(page, width, in_rows, scheme):
    from selenium.webdriver.support.ui import WebDriverWait

    places = """const strip = document.querySelector('.strip');
        const right = strip.getBoundingClientRect().right;
        return [...strip.children].map(card => card.getBoundingClientRect())
            .map(box => [box.top, right - box.right])"""

    def rows_of():
        by_top: dict[float, list[float]] = {}
        for top, left_over in page.execute_script(places):
            by_top.setdefault(top, []).append(left_over)
        return list(by_top.values())

    with screen(page, width, scheme):
        WebDriverWait(page, 20).until(lambda _: [*map(len, rows_of())] == in_rows)
        assert all(abs(row[-1]) <= 2 for row in rows_of())
    WebDriverWait(page, 20).until(lambda _: all_drawn(page))


def test_layer_and_head_of_a_system_are_chosen(page):
    from selenium.webdriver.support.ui import Select

    layer, head = map(Select, page.find_elements("css selector", ".strip select"))
    assert layer.first_selected_option.text == "1"
    assert head.first_selected_option.text == "mean"
    weights = HEADS[0]
    drawn = weights_of(page, "attention-0-2-layer1-headmean")
    assert drawn == pytest.approx(weights[1].mean(0).ravel(), abs=1e-3)
    layer.select_by_index(0)
    head.select_by_index(2)
    drawn = weights_of(page, "attention-0-2-layer0-head2")
    assert drawn == pytest.approx(weights[0, 2].ravel(), abs=1e-3)
    layer.select_by_index(1)
    head.select_by_index(3)
    weights_of(page, "attention-0-2-layer1-headmean")


def test_a_word_of_the_source_is_marked_in_all_maps(page):
    from selenium.webdriver.common.keys import Keys

    first = page.find_element("css selector", "[data-shown=source] .word")
    page.execute_script("arguments[0].focus()", first)
    words, cells = marked(page)
    assert words == [WORDS[0]]
    assert cells == [column(0)] * 2
    first.send_keys(Keys.ARROW_RIGHT)
    assert marked(page) == ([WORDS[1]], [column(1)] * 2)
    told = texts(page, "#look .told")[0]
    assert told.startswith(f"{WORDS[1]}: {HOSTILE[0]} ")
    assert "; luong " in told
    page.switch_to.active_element.send_keys(Keys.END)
    assert marked(page)[1] == [column(len(WORDS) - 1)] * 2
    assert chosen_sentence(page).first_selected_option.text.startswith("0:")
    page.execute_script("document.activeElement.blur()")
    assert marked(page) == ([], [[], []])
    assert texts(page, "#look .told") == [""]


def test_a_word_of_a_translation_is_marked_in_the_others(page):
    """Of a word that stands twice, the first is the first of the others."""
    place = WORDS.index("the") + 1
    script = "document.querySelectorAll('.strip .line')[1].children[arguments[0]].focus()"
    page.execute_script(script, place)
    words, cells = marked(page)
    assert words == ["the"] * 3
    assert cells == [row(place)] * 2
    stops = "return document.querySelectorAll('#look .word[tabindex=\"0\"]').length"
    assert page.execute_script(stops) == 4  # one stop of the Tab key for each line
    page.execute_script("document.activeElement.blur()")


def test_a_cell_that_is_pointed_at_marks_its_words(page):
    point = """document.querySelectorAll('.strip .chart')[1]
        .querySelectorAll('.layer_0_marks path')[arguments[0]]
        .dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))"""
    page.execute_script(point, row(5)[3])
    words, cells = marked(page)
    assert words == [WORDS[3], *[WORDS[5]] * 3]
    assert cells == [sorted({*row(5), *column(3)})] * 2
    assert texts(page, "#look .told")[0].startswith(f"{WORDS[3]} → {WORDS[5]}: {HOSTILE[0]} 0.")
    page.execute_script("look.dispatchEvent(new PointerEvent('pointerleave'))")
    assert marked(page) == ([], [[], []])


def test_arrow_keys_step_through_the_sentences(page):
    from selenium.webdriver.common.keys import Keys

    look, sentence = page.find_element("id", "look"), chosen_sentence(page)
    first = sentence.first_selected_option.text
    before = texts(page, ".strip .line")
    look.send_keys(Keys.ARROW_RIGHT)
    assert sentence.first_selected_option.text != first
    assert texts(page, ".strip .line") != before
    assert not page.find_elements("css selector", ".strip select")  # no heads were recorded
    assert " gold link" in " ".join(texts(page, ".key-of-maps"))
    page.find_element("css selector", "[data-step='-1']").click()
    assert sentence.first_selected_option.text == first
    assert texts(page, ".strip .line") == before
    weights_of(page, "attention-0-2-layer1-headmean")
