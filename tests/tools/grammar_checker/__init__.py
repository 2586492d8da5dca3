"""An independent checker of the sentences of the grammar: agreement, clitics, cases, word order.

It shares no code and no forms with the grammar: its word lists were made from dictionaries and by
hand. It reads an English or French sentence from left to right with a stack of open clauses, and
reports what a native reader would mark; the German part tries all readings. A time or place belongs
to the innermost open clause, a relative clause to the nearest noun. Of a pair, it compares numbers,
names, tenses, determiners, and words with their translations (``translation.py``): which noun,
time and place belongs to which verb, and for which noun a pronoun stands.
"""

from tests.tools.grammar_checker.pairs import (
    check_english,
    check_french,
    check_german,
    check_pair,
    check_translation,
)

__all__ = ["check_english", "check_french", "check_german", "check_pair", "check_translation"]
