"""The built-in corpus: one meaning, written in two languages, with gold word alignments.

- ``meaning/``: the lexicon as concepts, and phrases and clauses made of concepts;
- ``drawing/``: random sentences as meanings, under the knobs of ``knobs.py``;
- ``languages/``: how each language writes a meaning; a language knows nothing of the others;
- ``pairs.py``: a meaning in two languages; words with the same role in it are linked.

Unless ``paraphrase`` or ``noise`` is set, a source sentence has one translation. Conventions of the
links:

- a link is *possible* where one word only helps another: *do* and the French auxiliary of a simple
  past (*did eat* / *a mangé*), *to* before an infinitive, *'s* and *de*; all others are sure;
- both words of a French negation link to *not* or *never*;
- a French article without an English word, and a preposition that only one language needs, have no
  link; nor has a particle that only one language says;
- an elided or contracted word has the links of all words that it combines.
"""

from datamodules.grammar.corpus import GrammarCorpus
