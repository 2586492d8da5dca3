"""Contrastive pairs of the grammar: a translation, and the same translation with one error.

- ``errors.py``: where an error fits, and how the wrong words come about;
- ``particles.py``: parts of verbs whose loss is no error;
- ``senses.py``: verbs that decide between two senses of a noun;
- ``wrong_words.py``: words of a wrong sentence set into the right sentence;
- ``drawing.py``: pairs of all categories, spread over distances.
"""
