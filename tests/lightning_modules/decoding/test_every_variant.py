"""Every search with every variant: its scores are those of teacher forcing, constraints hold."""

import math
from itertools import pairwise
from typing import Any

import pytest
import torch

from datamodules.tokenization import BOS, EOS, PAD
from lightning_modules.decoding import DiverseBeamSearch, SteppedSearch
from lightning_modules.variants import EncoderDecoder
from tests.helpers.searches import LIMITS, beam_search, greedy_search, sampling_search
from tests.helpers.variants import ALL, sentences, small_model

LENGTHS, REFERENCES = [5, 2, 9], torch.tensor([4, 6, 2])
BEAM: dict[str, Any] = {"beam_size": 4, "length_penalty": 0.0, "n_best": 2}
LEAST, NGRAM = 3, 2
SEARCHES: dict[str, SteppedSearch] = {
    "greedy": greedy_search(no_repeat_ngram=NGRAM),
    "beam": beam_search(**BEAM, min_length=LEAST),
    "groups": DiverseBeamSearch(2, 0.5, **BEAM, coverage_penalty=None, **LIMITS),
    "samples": sampling_search(n_best=3, top_k=5, min_length=LEAST),
    "reference": beam_search(**BEAM, length="reference", no_repeat_ngram=NGRAM),
}


@torch.no_grad()
def forced(model: EncoderDecoder, number: int, tokens: list[int]) -> float:
    """Return the log-probability of a translation of one sentence by teacher forcing."""
    src, mask = (each[number : number + 1, : LENGTHS[number]] for each in sentences(LENGTHS))
    decoded = model.decode(model.encode(src, mask), torch.tensor([[BOS, *tokens[:-1]]]))
    logits = model.logits(decoded.features)[0]
    logits[:, [PAD, BOS]] = -math.inf
    return float(logits.log_softmax(-1).gather(1, torch.tensor(tokens).unsqueeze(1)).sum())


@pytest.mark.parametrize("name", ALL)
def test_scores_are_those_of_teacher_forcing_and_constraints_hold(name):
    model = small_model(name).double()
    model.output.bias.data[EOS] += 0.3
    for kind, search in SEARCHES.items():
        found = search(model, *sentences(LENGTHS), lengths=REFERENCES)
        for number, hypotheses in enumerate(found):
            assert len(hypotheses) == {"greedy": 1, "samples": 3}.get(kind, 2)
            for each in hypotheses:
                tokens = each.tokens
                assert each.score == pytest.approx(forced(model, number, tokens), rel=1e-5)
                if search.min_length:
                    assert EOS not in tokens[:LEAST]
                if search.no_repeat_ngram:
                    pairs = list(pairwise(tokens))
                    assert len(set(pairs)) == len(pairs)
                if kind == "reference":
                    assert tokens.index(EOS) + 1 == len(tokens) == REFERENCES[number]
