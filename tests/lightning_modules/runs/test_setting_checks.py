"""Values of a configuration are checked against the table of settings."""

import pytest
from omegaconf import OmegaConf

from datamodules.errors import UserError
from lightning_modules.runs.setting_checks import check_settings

ADAM = {"_target_": "torch.optim.Adam", "lr": 0.1}


@pytest.mark.parametrize(
    "config",
    [
        {"optimizer": ADAM, "threads": None, "seed": 1},
        {"model": {"hidden_size": "${scaled:8}"}},  # the class checks what comes out
        {"decoding": {"_target_": "my_search.Mine", "beam_size": 0.5, "temperature": -1}},
        {"callbacks": {"mine": {"_target_": "my.Callback", "count": "many"}}},
    ],
)
def test_what_the_table_allows(config):
    check_settings(OmegaConf.create(config))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"optimizer": ADAM | {"lr": "abc"}}, "optimizer.lr=abc: give a number, above 0"),
        ({"seed": -1}, "seed=-1: give a whole number, at least 0"),
        ({"seed": None}, "seed=null: give a whole number, at least 0"),
        ({"decoding": {"_target_": "nonsense"}}, "decoding._target_=nonsense: give a dotted path"),
    ],
)
def test_what_the_table_refuses(config, message):
    with pytest.raises(UserError) as caught:
        check_settings(OmegaConf.create(config))
    assert str(caught.value) == message
