"""An independent checker of the sentences of the grammar: agreement, clitics, word order.

It shares no code and no words with the grammar: its word lists were made from the French
dictionary of Hunspell and by hand. It reads a sentence from left to right, keeps a stack of open
clauses, and reports what a reader of English or French would mark. Of a pair, it also compares what
needs no understanding: numbers, names, tenses, determiners, and words with their translations.
"""

from tests.grammar_checker.pairs import check_english, check_french, check_pair

__all__ = ["check_english", "check_french", "check_pair"]
