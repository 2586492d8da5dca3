"""Greedy and beam search, once for all variants, over the step interface."""

from lightning_modules.decoding.beam import BeamSearch
from lightning_modules.decoding.search import GreedySearch, Hypothesis, Search

__all__ = ["BeamSearch", "GreedySearch", "Hypothesis", "Search"]
