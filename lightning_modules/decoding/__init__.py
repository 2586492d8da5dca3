"""Greedy and beam search for all variants, through the step interface."""

from lightning_modules.decoding.beam import BeamSearch
from lightning_modules.decoding.greedy import GreedySearch
from lightning_modules.decoding.search import (
    Backpointers,
    Hypothesis,
    HypothesisEnd,
    Request,
    Search,
    best_tokens,
)
from lightning_modules.decoding.stepped import SteppedSearch
