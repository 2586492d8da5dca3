"""Greedy and beam search for all variants, through the step interface."""

from lightning_modules.decoding.beam import BeamSearch
from lightning_modules.decoding.search import (
    Backpointers,
    GreedySearch,
    Hypothesis,
    HypothesisEnd,
    Search,
    best_tokens,
)
