"""The words of the built-in corpus, and the frequency of each word."""
