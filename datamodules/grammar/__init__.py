"""The built-in corpus: a synchronous grammar that writes English and French sentence pairs.

An English sentence always has the same French translation. Word links follow these conventions:

- *not* and *never* link to both words of the French negation, *do* and *did* to the finite verb;
- an English past links to both words of the passé composé; of *is going to eat* / *va manger*,
  the first two words link to *va*, the other words to the infinitive;
- of *the teacher's book* / *le livre du professeur*, *the* links to *du*, and *teacher's* to the
  article *le* as well as to *professeur*;
- a French preposition without an English one links to the determiner that follows it;
- an elided or contracted word has the links of all words that it combines.
"""

from datamodules.grammar.corpus import GrammarCorpus
