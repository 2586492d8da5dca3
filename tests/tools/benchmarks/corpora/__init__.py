"""The speed and the size of large corpora: ``python -m tests.tools.benchmarks.corpora``."""
