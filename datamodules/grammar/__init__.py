"""The built-in corpus: a synchronous grammar that writes English and French side by side.

The French of a sentence follows from its English alone. Word links follow these conventions:

- *not* and *never* link to both words of the French negation, *do* and *did* to the finite verb;
- an English past links to both words of the passé composé; of *is going to eat* / *va manger*,
  the first two words link to *va*, the others to the infinitive;
- of *the teacher's book* / *le livre du professeur*, *the* links to *du*, and *teacher's* to the
  article *le* as well as to *professeur*;
- a French preposition without an English one links to the determiner that follows it;
- elided and contracted words hold the links of all that they are made of.
"""

from datamodules.grammar.corpus import GrammarCorpus

__all__ = ["GrammarCorpus"]
