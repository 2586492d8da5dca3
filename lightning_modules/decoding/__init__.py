"""Searches for translations with all variants, through the step interface."""

from lightning_modules.decoding.beam import BeamSearch
from lightning_modules.decoding.diverse_beam import DiverseBeamSearch
from lightning_modules.decoding.greedy import GreedySearch
from lightning_modules.decoding.minimum_bayes_risk import MinimumBayesRisk
from lightning_modules.decoding.sampling import SamplingSearch
from lightning_modules.decoding.search import (
    Backpointers,
    Hypothesis,
    HypothesisEnd,
    Request,
    Search,
    best_tokens,
)
from lightning_modules.decoding.search_tree import SearchTree, search_with_tree
from lightning_modules.decoding.stepped import SteppedSearch
