"""Prepare a corpus for training: text in parts, vocabularies, token numbers on the disk."""

from datamodules.preparation.build import INDEX, STATISTICS, WORD_COUNTS, build
from datamodules.preparation.store import check_files, load_side
