"""What a pair of sentences tells: translations of words, senses by their verbs, pronouns.

- ``tables.py``: the translations of words;
- ``differences.py``: what two readings of a pair do not share;
- ``persons.py``: the natural gender of persons;
- ``references.py``: which noun belongs to which verb, and for which noun a pronoun stands;
- ``senses.py``: nouns with two senses, of which the verb decides.
"""
