"""An independent checker of the sentences of the grammar: agreement, clitics, cases, word order.

It shares no code and no forms with the grammar: its word lists were made from dictionaries and by
hand. It reads a sentence from left to right, and reports what a reader of English, French or German
would mark; the German part tries all readings. Of a pair, it also compares numbers, names, tenses,
determiners, and words with their translations (``translation/``): which noun belongs to which verb,
and for which noun a pronoun stands. ``drawn.py`` alone draws pairs of the corpus.
"""

from tests.tools.grammar_checker.pairs import (
    check_english,
    check_french,
    check_german,
    check_pair,
    check_translation,
)

__all__ = ["check_english", "check_french", "check_german", "check_pair", "check_translation"]
