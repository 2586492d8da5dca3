"""The harness in Python, as in a notebook: load trained runs, translate, align, compare, train.

``docs/how_to/python.md`` has examples. Each function does what a command does, by the same code.
"""

from attention_bench.attention_map import AttentionMap
from attention_bench.comparison import RunComparison, compare
from attention_bench.run import Run, TranslatedSentence, load
from attention_bench.training import train
from datamodules.errors import UserError

__all__ = [
    "AttentionMap",
    "Run",
    "RunComparison",
    "TranslatedSentence",
    "UserError",
    "compare",
    "load",
    "train",
]
