"""Greedy and beam search for all variants, through the step interface."""

from lightning_modules.decoding.beam import BeamSearch
from lightning_modules.decoding.hypotheses import Backpointers, HypothesisEnd
from lightning_modules.decoding.search import GreedySearch, Hypothesis, Search, best_tokens
