"""Words that Arrow cuts are those of ``str.split``."""

from collections import Counter
from itertools import chain

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from datamodules.words import word_counts, words_of

# Letters, every kind of white space, and characters that look like white space but are none.
CHARACTERS = "ab é\t\n\r\x0b\x0c\x1c\x1f\x85\xa0\u1680\u2003\u2028\u2029\u202f\u3000\u200b\ufeff中"


@settings(derandomize=True, deadline=None, database=None)
@given(st.lists(st.text(CHARACTERS) | st.text(), max_size=9))
def test_words_are_those_of_str_split(lines):
    distinct, (places, counts) = found = words_of(lines)
    words = list(map(str.split, lines))
    flat = list(chain.from_iterable(words))
    assert [distinct[place] for place in places] == flat
    assert distinct == list(Counter(flat))
    assert found.frequencies.tolist() == list(Counter(flat).values())
    for made in (counts, word_counts(lines)):
        assert made.tolist() == list(map(len, words))
        assert made.dtype == np.int64
