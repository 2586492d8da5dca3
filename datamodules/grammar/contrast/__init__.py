"""Contrastive pairs of the grammar: a translation, and the same translation with one error.

- ``right.py``: a right translation, and how an error changes some of its words;
- ``errors.py``: the categories: where an error fits, and what changes;
- ``particles.py``: parts of verbs whose loss is no error;
- ``senses.py``: verbs that decide between two senses of a noun;
- ``wrong_words.py``: words of a wrong sentence set into the right sentence;
- ``drawing.py``: pairs of all categories, spread over distances.
"""
