"""The built-in corpus: a synchronous grammar that writes English and French side by side."""

from datamodules.grammar.corpus import GrammarCorpus

__all__ = ["GrammarCorpus"]
