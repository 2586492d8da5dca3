"""Recurrent models with parts on several devices."""

from typing import Any

import pytest
import torch

from tests.helpers.recurrent_models import (
    FLAGS,
    GENERAL,
    PLAIN,
    PREVIOUS,
    VOCABULARY,
    build,
    recurrent,
    sources,
    stepwise,
    targets,
    teacher_forced,
)

PLACED: dict[str, dict[str, Any]] = {
    "previous": {"attention": {"score": "additive"}, "query": PREVIOUS | FLAGS, "summary": True},
    "current": {"attention": GENERAL | {"window": "local_p"}, "cell": "lstm"},
    "flags": {"attention": GENERAL | {"heads": 2}, "query": {"last_token": True, "language": True}},
    "feeding": {
        "attention": GENERAL | {"window": "local_m"},
        "input_feeding": True,
        "cell": "gru_2014",
        "summary": True,
    },
    "intra": {"attention": GENERAL, "intra_attention": GENERAL},
}
placed = pytest.mark.parametrize("name", PLACED)


@placed
def test_no_tensor_is_left_behind_on_another_device(name):
    """On meta devices, an operation on tensors of two devices fails as on a GPU."""
    placement = {"encoder": "cpu", "attention": "meta", "decoder": "meta"}
    model = build(PLAIN | PLACED[name] | {"placement": placement})
    devices = {
        part: {p.device.type for module in modules for p in module.parameters()}
        for part, modules in model.parts().items()
    }
    assert devices == {"encoder": {"cpu"}, "attention": {"meta"}, "decoder": {"meta"}}
    given = *sources([3, 9]), targets(2, 5)
    for logits, weights in (how(model, *given) for how in (teacher_forced, stepwise)):
        assert (logits.device.type, logits.shape) == ("meta", (2, 5, VOCABULARY))
        assert (weights.device.type, weights.shape) == ("meta", (2, 5, 9))
    assert logits.dtype == torch.float64


@placed
@pytest.mark.parametrize("here", ["attention", "decoder"])
def test_one_part_may_be_placed_alone(name, here):
    """The other parts are on Lightning's device: here ``meta``, which has no data."""
    there = {"attention": "decoder", "decoder": "attention"}[here]
    model = build(PLAIN | PLACED[name] | {"placement": {"encoder": "cpu", here: "meta"}})
    for module in model.parts()[there]:
        module.to("meta")
    given = *sources([3, 9]), targets(2, 5)
    for logits, weights in (how(model, *given) for how in (teacher_forced, stepwise)):
        assert (logits.device.type, logits.shape) == ("meta", (2, 5, VOCABULARY))
        assert (weights.device.type, weights.shape) == ("meta", (2, 5, 9))


@pytest.mark.parametrize("how", [torch.float64, "cpu"])
def test_moving_a_model_leaves_its_placed_parts(how):
    placement = {"encoder": None, "attention": "meta", "decoder": "meta"}
    settings = PLAIN | PLACED["intra"] | {"placement": placement}
    model = recurrent(settings).to(how)
    devices = {
        part: {p.device.type for module in modules for p in module.parameters()}
        for part, modules in model.parts().items()
    }
    assert devices == {"encoder": {"cpu"}, "attention": {"meta"}, "decoder": {"meta"}}
    if how is torch.float64:
        assert {parameter.dtype for parameter in model.parameters()} == {torch.float64}


def test_moving_a_model_leaves_gradients_with_its_placed_parts():
    """Lightning moves the model after training, with the gradients of the last step."""
    everywhere = dict.fromkeys(("encoder", "attention", "decoder"), "cpu")
    model = build(PLAIN | PLACED["current"] | {"placement": everywhere})
    model.decode(model.encode(*sources([3, 9])), targets(2, 5)).features.sum().backward()
    model.to("meta")
    assert {parameter.device.type for parameter in model.parameters()} == {"cpu"}
    assert {p.grad.device.type for p in model.parameters() if p.grad is not None} == {"cpu"}
