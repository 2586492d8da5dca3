"""The explorer in a browser: of the server, and as a file."""

import contextlib
import json
import threading

import pytest

from tests.helpers.explorers import SOURCES, explorer
from tests.helpers.pages import HOSTILE, needs_axe, screen, serious_violations, texts

pytestmark = [pytest.mark.chromium, pytest.mark.long]


@pytest.fixture(scope="module")
def whole():
    return explorer("bahdanau", "seq2seq", "transformer")


@pytest.fixture(scope="module")
def address(whole):
    pytest.importorskip("werkzeug", reason="the extra explore is missing")
    from sweeps.explorer.server import ExplorerApp, make_explorer_server

    server = make_explorer_server(ExplorerApp(whole, 600.0), 0)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://localhost:{server.port}/"
    server.shutdown()
    thread.join()


@pytest.fixture(scope="module")
def file(whole, space):
    path = space / "explorer.html"
    path.write_text(whole.file_page(lambda count: None), encoding="utf-8")
    return path


def settled(browser, systems=3):
    """Wait until so many translations stand there, and all pictures."""
    from selenium.webdriver.support.ui import WebDriverWait

    script = """const said = document.getElementById('said').textContent;
        return said.startsWith(`Translated by ${arguments[0]} `)
            && document.querySelector('#beam .chart')?.getAttribute('aria-label') != null"""
    WebDriverWait(browser, 300).until(lambda _: browser.execute_script(script, systems))
    return browser


@contextlib.contextmanager
def opened(browser, where):
    browser.switch_to.new_window("tab")
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(where)
    yield settled(browser)
    browser.close()
    browser.switch_to.window(browser.window_handles[0])


@pytest.fixture(params=["server", "file"])
def page(request, browser):
    if request.param == "server":
        where = request.getfixturevalue("address")
    else:
        where = request.getfixturevalue("file").as_uri()
    with opened(browser, where) as shown:
        yield shown


@pytest.fixture
def served(browser, address):
    with opened(browser, address) as shown:
        yield shown


@pytest.fixture
def read(browser, file):
    with opened(browser, file.as_uri()) as shown:
        yield shown


def test_it_shows_translations_ends_attention_steps_and_the_tree(page, whole):
    assert len(texts(page, "#translations .card .words")) == 3
    assert texts(page, "[data-shown=source]") == [SOURCES[0]]
    record = whole.record(0, SOURCES[0])
    [first, *_] = texts(page, "#translations .card .words bdi")
    assert first == "".join(f"{word}{round(100 * p)}" for word, p in record["words"])
    assert len(texts(page, "#steps tbody tr")) == len(record["steps"])
    assert len(texts(page, "#prefixes tbody tr")) == len(record["beam"]["datasets"]["links"])
    assert len(texts(page, "#finished tbody tr")) == len(record["finished"])
    drawn = texts(page, "#beam .chart svg text")
    for node in record["beam"]["datasets"]["nodes"]:
        assert node["label"] in drawn
    marks = "return document.querySelectorAll('#ends .mark-symbol.role-mark path').length"
    expected = sum(len(whole.record(n, SOURCES[0])["ends"]) for n in range(3))
    assert page.execute_script(marks) == expected


def test_hostile_words_are_text_and_the_console_stays_silent(page):
    assert page.get_log("browser") == []
    with pytest.raises(Exception, match="no such alert"):
        _ = page.switch_to.alert.text
    assert HOSTILE[0] in texts(page, "#systems bdi")
    assert page.execute_script("return document.querySelectorAll('main b, form b').length") == 0


def test_a_file_loads_nothing(read):
    sent = requests_of(read)
    assert [url.rsplit("/", 1)[-1] for url in sent] == ["explorer.html"]


def test_the_page_of_a_server_asks_this_server_alone(served, address):
    assert set(requests_of(served)) == {address, f"{address}trace"}


def requests_of(browser):
    messages = (json.loads(entry["message"])["message"] for entry in browser.get_log("performance"))
    urls = [
        each["params"]["request"]["url"]
        for each in messages
        if each["method"] == "Network.requestWillBeSent"
    ]
    return [url for url in urls if url.startswith(("http", "file"))]


def test_a_sentence_is_typed_and_a_refusal_is_said(served):
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

    box = served.find_element("id", "source")
    box.clear()
    box.send_keys("the cat sees <b>")
    served.execute_script("document.getElementById('said').textContent = ''")
    box.send_keys(Keys.ENTER)
    settled(served)
    assert texts(served, "[data-shown=source]") == ["the cat sees <b>"]
    box.clear()
    box.send_keys(" ", Keys.ENTER)
    wrong = "return document.getElementById('wrong').textContent"
    WebDriverWait(served, 60).until(
        lambda _: served.execute_script(wrong).count("the sentence is empty") == 3
    )


def choose(page, name, index):
    from selenium.webdriver.support.ui import Select

    Select(page.find_element("css selector", f"[data-of={name}]")).select_by_index(index)


def wait_for(page, script, wanted):
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(page, 60).until(lambda _: page.execute_script(script) == wanted)


def test_layers_heads_and_a_model_without_attention(page, whole):
    heads = whole.record(2, SOURCES[0])["map"]["heads"]
    choose(page, "system", 2)
    shown = """return ['layer', 'head'].map(name =>
        document.querySelector(`[data-of=${name}]`).options.length)"""
    wait_for(page, shown, [len(heads), len(heads[0])])
    choose(page, "layer", 0)
    choose(page, "head", 0)
    label = "return document.querySelector('#attention .chart').ariaLabel"
    wait_for(page, f"{label}.includes('layer 0, head 0')", True)
    choose(page, "system", 1)
    wait_for(page, "return document.getElementById('attention').hidden", True)
    assert "has no attention" in texts(page, "#inside .note")[0]


def test_systems_are_picked(page):
    page.find_elements("name", "system")[0].click()
    settled(page, 2)
    assert len(texts(page, "#translations .card .words")) == 2


def test_test_sentences_are_found_by_their_words(page):
    from selenium.webdriver.support.ui import Select

    page.find_element("id", "find").send_keys("語")
    wait_for(page, "return document.getElementById('example').options.length", 1)
    assert texts(page, "#found") == ["1 of 4 sentences"]
    page.execute_script("document.getElementById('said').textContent = ''")
    example = page.find_element("id", "example")
    page.execute_script("arguments[0].dispatchEvent(new Event('change', {bubbles: true}))", example)
    settled(page)
    assert texts(page, "[data-shown=source]") == [SOURCES[2]]
    assert texts(page, "[data-shown=reference]") == [f"reference 2 {HOSTILE[0]}"]
    assert Select(example).first_selected_option.text.startswith("20: the cat")


def test_the_keyboard_reaches_every_control(page):
    from selenium.webdriver.common.keys import Keys

    page.execute_script("document.activeElement.blur(); scrollTo(0, 0)")
    script = """const e = document.activeElement;
        return [e.id || e.name || e.dataset.of || e.textContent,
            e === document.body || getComputedStyle(e).outlineStyle != 'none']"""
    seen = {}
    for _ in range(60):
        page.switch_to.active_element.send_keys(Keys.TAB)
        name, outlined = page.execute_script(script)
        seen[name] = outlined
    assert {"find", "example", "system"} <= seen.keys()
    assert all(seen.values())


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page, scheme):
    choose(page, "system", 2)
    with screen(page, scheme=scheme):
        assert serious_violations(page) == []


@pytest.mark.parametrize("width", [390, 1400])
def test_nothing_needs_sideways_scrolling(page, width):
    with screen(page, width):
        script = "return [document.documentElement.scrollWidth, window.innerWidth]"
        content, window = page.execute_script(script)
        assert content <= window == width
