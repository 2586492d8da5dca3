"""Reading a page in the browser, and names that a careless page would run as code."""

import os
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.run_folders import TEXT, Text

HOSTILE = ["</script><script>alert(1)</script>", "\"'`", "שלום", "語", "<b>", "the", "the"]
WORDS = [*HOSTILE, *["le"] * 13]  # the length of an easily read sentence
HOSTILE_TEXT = Text(
    [" ".join(WORDS), *TEXT.sources[1:]],
    [" ".join(WORDS), *TEXT.references[1:]],
    ["", *(TEXT.gold or [])[1:]],
)
"""Its first sentence has no gold links, the others have some."""


HEADS = {0: np.random.default_rng(0).dirichlet(np.ones(len(WORDS)), (2, 3, len(WORDS)))}
"""Attention weights of sentence 0: two layers with three heads."""


@contextmanager
def without_pictures():
    """Leave the files of the figures empty: to draw them takes most of the time of a comparison."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "sweeps.report.publish.draw", lambda *_: dict.fromkeys(("svg", "png", "pdf"), b"")
        )
        yield


def texts(page, selector):
    script = "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)"
    return page.execute_script(script, selector)


def all_drawn(page):
    """Return whether every chart that is shown has been drawn."""
    script = """return [...document.querySelectorAll('.chart')]
        .every(each => !each.checkVisibility() || each.querySelector('svg.marks'))
        && !document.querySelector('.strip:empty')"""
    return page.execute_script(script)


def rows(page, table):
    script = """return [...document.querySelectorAll(`[id="${arguments[0]}"] tbody tr`)]
        .map(row => [...row.children].map(cell => cell.textContent))"""
    return page.execute_script(script, table)


def number(cell):
    """Return the first number of a cell, such as ``−13.44 [−15, −12]`` or ``≤ 0.0028``."""
    return float(cell.removeprefix("≤ ").split()[0].replace("−", "-"))


AXE = os.environ.get("AXE")  # path of `axe.min.js`, from `npm pack axe-core`
needs_axe = pytest.mark.skipif(
    not AXE, reason="the variable AXE names no axe.min.js (npm pack axe-core)"
)


@contextmanager
def screen(browser, width=1400, scheme="light"):
    """A screen of another width, in light or dark colours."""
    feature = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", feature)
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    yield
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def serious_violations(browser):
    """Return what axe finds serious or critical: each rule with its first elements."""
    browser.set_script_timeout(300)
    browser.execute_script(Path(AXE or "").read_text(encoding="utf-8"))
    script = """axe.run().then(found => arguments[0](found.violations.map(
        ({impact, id, nodes}) => [impact, id, nodes.slice(0, 3).map(node => node.html)])))"""
    found = browser.execute_async_script(script)
    return [(rule, nodes) for impact, rule, nodes in found if impact in ("serious", "critical")]
