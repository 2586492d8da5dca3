"""Values of a configuration are checked against the table of settings."""

import pytest
from omegaconf import OmegaConf

from datamodules.errors import UserError
from lightning_modules.runs.setting_checks import (
    check_arguments,
    check_settings,
    is_known,
    unknown_key,
)

NAME = "give a name: a letter or digit, then up to 99 characters without slashes"
SEED = "give a whole number, at least 0 and at most 4,294,967,295"
ADAM = {"_target_": "torch.optim.Adam", "lr": 0.1}


@pytest.mark.parametrize(
    "config",
    [
        {"optimizer": ADAM, "threads": None, "seed": 1},
        {"scale": 0.5, "model": {"hidden_size": "${scaled:8}"}},
        {"decoding": {"_target_": "my_search.Mine", "beam_size": 0.5, "temperature": -1}},
        {"callbacks": {"mine": {"_target_": "my.Callback", "count": "many"}}},
    ],
)
def test_what_the_table_allows(config):
    check_settings(OmegaConf.create({"task": "x.y"} | config))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"optimizer": ADAM | {"lr": "abc"}}, "optimizer.lr=abc: give a number, above 0"),
        ({"seed": {"a": 1}}, f"seed: a mapping was given; {SEED}"),
        ({"seed": -1}, f"seed=-1: {SEED}"),
        ({"threads": 0}, "threads=0: give a whole number, at least 1, or null"),
        (
            {"fine_scale": 0.5, "model": {"layers": "${fine_scale}"}},
            "model.layers=0.5: give a whole number, at least 1",
        ),
        (
            {"data": {"corpora": {"one": {"limit": 0}}}},
            "data.corpora.one.limit=0: give a whole number, at least 1, or null",
        ),
        ({"variant": "../x"}, f"variant=../x: {NAME}"),
        (
            {"trainer": {"val_check_interval": 0}},
            "trainer.val_check_interval=0: give a number above 0, or a time DD:HH:MM:SS",
        ),
        (
            {"batching": {"max_token": 5}},
            "batching.max_token: no such setting; did you mean batching.max_tokens?",
        ),
        ({"nothing": 1}, "nothing: no such setting; task=settings lists all settings"),
        (
            {"model": {"attention": {"heads": 2}}},
            "model.attention.heads: this variant has no attention; choose another, such as "
            "model=bahdanau",
        ),
    ],
)
def test_what_the_table_refuses(config, message):
    with pytest.raises(UserError) as caught:
        check_settings(OmegaConf.create({"task": "x.y"} | config))
    assert str(caught.value) == message


TRANSLATE, TRAIN = (f"lightning_modules.tasks.{name}.{name}" for name in ("translate", "train"))


@pytest.mark.parametrize(
    ("task", "override", "readers"),
    [
        (TRANSLATE, "model=transformer", "only task=train"),
        (TRANSLATE, "seed=3", "only task=train"),
        (TRANSLATE, "scoring.unit=source_tokens", "only task=train, task=test"),
        ("sweeps.tasks.evaluate.evaluate_systems", "++optimizer.lr=1", "only task=train"),
        ("sweeps.tasks.reproduce.reproduce", "optimizer.lr=1", "only task=train"),
    ],
)
def test_a_task_refuses_what_it_does_not_read(task, override, readers):
    with pytest.raises(UserError, match=f"does not read .*, {readers}"):
        check_settings(OmegaConf.create({"task": task}), [override])


@pytest.mark.parametrize(
    ("task", "overrides"),
    [
        (TRAIN, ["model=transformer", "seed=1", "comparison=quickstart", "hydra/launcher=joblib"]),
        (TRANSLATE, ["task=translate", "decoding.beam_size=2", "threads=1", "input=x"]),
        ("sweeps.tasks.reproduce.reproduce", ["outputs=x", "logger=none", "run=y"]),
        ("my_module.task", ["model=transformer", "anything=1"]),
    ],
)
def test_a_task_takes_what_it_reads(task, overrides):
    check_settings(OmegaConf.create({"task": task}), overrides)


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ("data.skip_emtpy", "did you mean data.skip_empty?"),
        ("batching.max_token", "did you mean batching.max_tokens?"),
        ("lr", "did you mean optimizer.lr?"),
        ("beam_size", "did you mean decoding.beam_size?"),
        ("decoding.beam_size", "choose decoding=beam"),
        ("budget.updates", "choose budget=updates"),
        ("input", "choose task=translate"),
        ("data.root", "choose data=multi30k or data=text or data=wmt_en_de"),
        ("trainer.speed", "task=settings prefix=trainer lists the settings of trainer"),
        ("zzzzzz", "task=settings lists all settings"),
    ],
)
def test_the_remedy_fits_the_key(key, remedy):
    assert unknown_key(key).endswith(remedy)
    assert unknown_key(key).startswith(f"{key}: ")


@pytest.mark.parametrize(
    ("key", "known"),
    [
        ("optimizer.lr", True),
        ("callbacks.mine.anything", True),
        ("systems.any name", True),
        ("sweep.space.optimizer.lr.low", True),
        ("batching.foo", False),
        ("foo", False),
        ("model.attention.foo", False),
    ],
)
def test_mappings_take_any_key_and_groups_only_their_own(key, known):
    assert is_known(key) == known


class Strict:
    """A class of the user with one argument."""

    def __init__(self, width: int) -> None:
        self.width = width


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"optimizer": {"_target_": ADAM["_target_"], "_partial_": True, "bettas": 1}},
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
        {"_target_": ADAM["_target_"], "_partial_": True, "lr": 0.1, "betas": [0.9, 0.98]},
        {"_target_": f"{__name__}.Nowhere", "colour": "red"},
        {"_target_": "builtins.dict", "anything": 1},
    ],
)
def test_what_may_be_taken_passes(node):
    check_arguments(OmegaConf.create({"optimizer": node, "plain": {"colour": "red"}}))
