"""Measurements: ``python -m tests.benchmarks.NAME`` prints a table; nothing runs them by itself."""
