"""Words that Arrow cuts are those of ``str.split``."""

from collections import Counter
from itertools import chain
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datamodules import words as words_module
from datamodules.words import lengths_in_words, word_counts, word_frequencies, words_of

# Letters, every kind of white space, and characters that look like white space but are none.
CHARACTERS = "ab é\t\n\r\x0b\x0c\x1c\x1f\x85\xa0\u1680\u2003\u2028\u2029\u202f\u3000\u200b\ufeff中"


@settings(derandomize=True, deadline=None, database=None)
@given(st.lists(st.text(CHARACTERS) | st.text(), max_size=9))
def test_words_are_those_of_str_split(lines):
    distinct, (places, _, counts) = words_of(lines)
    words = list(map(str.split, lines))
    flat = list(chain.from_iterable(words))
    assert [distinct[place] for place in places] == flat
    assert distinct == list(Counter(flat))
    with patch.object(words_module, "LINES_AT_ONCE", 3):
        assert list(word_frequencies(lines).items()) == list(Counter(flat).items())
    for made in (counts, word_counts(lines)):
        assert made.tolist() == list(map(len, words))
        assert made.dtype == np.int64


@pytest.mark.parametrize(
    ("line", "language", "words"),
    [
        ("小狗 在 跑", "en", 3),
        ("小狗在跑。", "zh", 3),
        ("小狗在跑。", "zh_TW", 3),
        ("小 狗 在 跑", "zh", 4),
        ("สุนัขวิ่ง", "th", 3),
        (" ", "ja", 0),
    ],
)
def test_lengths_in_words(line, language, words):
    assert lengths_in_words([line], language).tolist() == [words]
