"""Measurements: ``python -m tests.tools.benchmarks.NAME`` prints a table."""
