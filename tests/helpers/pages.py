"""Reading a page in the browser, and names that a careless page would run as code."""

import numpy as np

from tests.helpers.run_folders import TEXT, Text

HOSTILE = ["</script><script>alert(1)</script>", "\"'`", "שלום", "語", "<b>", "the", "the"]
WORDS = [*HOSTILE, *["le"] * 13]  # the length of an easily read sentence
HOSTILE_TEXT = Text(
    [" ".join(WORDS), *TEXT.sources[1:]], [" ".join(WORDS), *TEXT.references[1:]], TEXT.gold
)


HEADS = {0: np.random.default_rng(0).dirichlet(np.ones(len(WORDS)), (2, 3, len(WORDS)))}
"""Attention weights of sentence 0: two layers with three heads."""


def texts(page, selector):
    script = "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)"
    return page.execute_script(script, selector)


def rows(page, table):
    script = """return [...document.querySelectorAll(`[id="${arguments[0]}"] tbody tr`)]
        .map(row => [...row.children].map(cell => cell.textContent))"""
    return page.execute_script(script, table)
