"""An argument that no class takes is refused by name before any text is read."""

import pytest
from omegaconf import OmegaConf

from datamodules.errors import UserError
from lightning_modules.runs.setting_checks import check_arguments

ADAM_CLASS = "torch.optim.Adam"


class Strict:
    """A class of the user with one argument."""

    def __init__(self, width: int) -> None:
        self.width = width


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"optimizer": {"_target_": ADAM_CLASS, "_partial_": True, "bettas": 1}},
            "optimizer.bettas: Adam takes no such argument; did you mean optimizer.betas?",
        ),
        (
            {"callbacks": {"mine": {"_target_": f"{__name__}.Strict", "colour": "red"}}},
            "callbacks.mine.colour: Strict takes no such argument, only width",
        ),
    ],
)
def test_what_no_class_takes_is_refused(config, message):
    with pytest.raises(UserError) as caught:
        check_arguments(OmegaConf.create(config))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "node",
    [
        {"_target_": ADAM_CLASS, "_partial_": True, "lr": 0.1, "betas": [0.9, 0.98]},
        {"_target_": f"{__name__}.Nowhere", "colour": "red"},
        {"_target_": "builtins.dict", "anything": 1},
    ],
)
def test_what_may_be_taken_passes(node):
    check_arguments(OmegaConf.create({"optimizer": node, "plain": {"colour": "red"}}))
