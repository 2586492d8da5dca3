"""``activation_checkpointing=true``: the same numbers with fewer saved tensors."""

import logging

import pytest
import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from lightning_modules.training.factories import recompute_layers
from tests.helpers.variants import sentences, small_model, targets


def trained(model) -> tuple[list[Tensor], int]:
    kept: list[Tensor] = []
    torch.manual_seed(1)

    def keep(tensor: Tensor) -> Tensor:
        kept.append(tensor)
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        features = model.decode(model.encode(*sentences([5, 3, 7])), targets(3, 6)).features
    features.square().sum().backward()
    return [features, *(p.grad for p in model.parameters() if p.grad is not None)], len(kept)


@pytest.mark.parametrize("name", ["transformer", "transformer_relative", "bahdanau"])
def test_computing_layers_again_changes_no_bit_with_dropout(name):
    expected, all_kept = trained(small_model(name, "model.dropout=0.2").train())
    model = small_model(name, "model.dropout=0.2")
    names = list(model.state_dict())
    recompute_layers(model)
    actual, kept = trained(model.train())
    assert all(map(torch.equal, actual, expected))
    assert list(model.state_dict()) == names
    assert kept < all_kept / 5 if "transformer" in name else kept == all_kept


def test_a_model_without_such_layers_says_so(caplog):
    caplog.set_level(logging.INFO)
    recompute_layers(small_model("bahdanau"))
    [message] = caplog.messages
    assert message.startswith("activation_checkpointing=true: changes nothing")
