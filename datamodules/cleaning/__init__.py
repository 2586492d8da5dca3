"""Cleaning of a corpus: the same steps for every variant, each counted with examples."""

from datamodules.cleaning.cleaner import Cleaner
from datamodules.cleaning.duplicates import first_occurrences, pair_digests
from datamodules.cleaning.language import swapped
from datamodules.cleaning.settings import Cleaning
from datamodules.cleaning.steps import HeldOut, StepCount, nothing_left, total_counts
