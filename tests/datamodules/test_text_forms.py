"""Two texts that differ only in form are reported; texts in one form are not."""

import unicodedata

import pytest

from datamodules.text_forms import FORMS, form_suspicions

PLAIN = [f'L\'été {number}, Anna & Ben "dorment"!' for number in range(20)]
CHINESE = [f"今天,猫{number}睡觉!" for number in range(20)]


def told(first, second):
    return [str(each) for each in form_suspicions({"outputs": first, "references": second}, {})]


@pytest.mark.parametrize(
    ("form", "change", "lines"),
    [
        ("no capital letters", str.lower, PLAIN),
        ("Unicode's decomposed form", lambda line: unicodedata.normalize("NFD", line), PLAIN),
        ("typographic apostrophes", lambda line: line.replace("'", "’"), PLAIN),
        ("entities of HTML", lambda line: line.replace("&", "&amp;"), PLAIN),
        ("full-width marks", lambda line: line.replace(",", "，"), CHINESE),
        ("invisible letters", lambda line: f"{line}\u200b", CHINESE),
    ],
)
def test_each_form_is_one_line(form, change, lines):
    changed = list(map(change, lines))
    [line] = told(changed, lines)
    assert line.startswith(f"20 of 20 outputs have {form}, unlike references (0%): “")
    [line] = told(lines, changed)
    assert line.startswith(f"20 of 20 references have {form}, unlike outputs (0%): “")
    assert told(changed, changed) == []
    few = [*changed[:9], *lines[9:]]  # fewer than half
    assert told(few, lines) == []


def test_spaces_are_no_form_and_few_lines_show_none():
    spaced = [f" {line.replace(' ', '  ')}\t" for line in PLAIN]
    assert told(spaced, PLAIN) == []
    assert told([line.lower() for line in PLAIN[:9]], PLAIN) == []
    assert told([], []) == []
    assert len(FORMS) == 6
