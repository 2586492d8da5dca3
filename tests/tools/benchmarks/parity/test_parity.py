"""The verdict on two toolkits, the batches of JoeyNMT, and weights by JoeyNMT's names."""

import os
import shutil

import numpy as np
import pytest
import torch

from lightning_modules.training.factories import build_model
from lightning_modules.training.schedules import inverse_sqrt
from tests.helpers.variants import configuration
from tests.tools.benchmarks.parity.same_weights import (
    VOCABULARIES,
    largest_difference,
    their_names,
    with_their_specials,
)
from tests.tools.benchmarks.parity.systems import SYSTEMS, as_in_joeynmt
from tests.tools.benchmarks.parity.trainings import batches_of

JOEYNMT = os.environ.get("JOEYNMT", "")


def test_a_batch_ends_with_the_sentence_that_fills_it():
    assert batches_of(np.array([50]), 50) == 1
    assert batches_of(np.full(21, 5), 50) == 3
    assert batches_of(np.array([1, 50, 1]), 50) == 2


def test_only_the_first_rate_differs_from_our_schedule():
    rates = []
    for schedule in (inverse_sqrt, as_in_joeynmt):
        optimizer = torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))], lr=0.016)
        scheduler = schedule(optimizer, warmup_updates=100)
        found = []
        for _ in range(300):
            found.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            scheduler.step()
        rates.append(found)
    ours, theirs = rates
    assert theirs == [0.016, *ours[1:]]


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_weight_gets_a_name_of_joeynmt(system):
    model = build_model(configuration(*SYSTEMS[system].ours, "tokenizer.shared=true"), 9, 9)
    ours = model.state_dict()
    theirs = their_names(ours, system != "transformer")
    lacking = sum(name.startswith(("output.bias", "bridge.cell.")) for name in ours)
    added = system != "transformer"  # a bias before the output layer
    assert len(theirs) == len(ours) - lacking + added
    assert not {*ours} & {*theirs} - {name for name in ours if ".rnn." in name}
    parts = {".".join(name.split(".")[:2]) for name in theirs}
    assert {part.rpartition(".")[0] for part in parts} == {
        *("encoder", "decoder", "src_embed", "trg_embed")
    }
    longer = with_their_specials(theirs)
    for name in VOCABULARIES:
        assert longer[name].equal(torch.cat([theirs[name][[3, 0, 1, 2]], theirs[name]]))


@pytest.mark.long
@pytest.mark.skipif(
    shutil.which(JOEYNMT) is None, reason="the variable JOEYNMT names no Python with JoeyNMT 2.3"
)
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_same_weights_give_the_same_probabilities(system, tmp_path):
    # JoeyNMT keeps the sinusoids in float32.
    assert largest_difference(system, JOEYNMT, tmp_path) < (
        1e-7 if system == "transformer" else 1e-12
    )
