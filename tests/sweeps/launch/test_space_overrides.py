"""The search space of a study is replaced and changed from the command line."""

import pytest
from hydra import initialize_config_dir
from hydra.errors import HydraException

from datamodules.errors import validated
from lightning_modules.runs.paths import CONF
from sweeps.launch.compose import composed, use_hydra_config
from sweeps.launch.errors import as_user_error
from sweeps.launch.space_overrides import with_space
from sweeps.studies.settings import Sweep
from tests.helpers.refusals import refused

LR, SMOOTHING, DROPOUT = "optimizer.lr", "label_smoothing", "model.dropout"
FLOAT = "{type: float, low: 0.1, high: 0.5}"
HEADS = "+model.attention.heads"


def sweep_with(*overrides, family="recurrent") -> Sweep:
    """Return the settings of a study that the command line asks for. Raises ``UserError``."""
    with initialize_config_dir(str(CONF), version_base="1.3"):
        try:
            config = composed(with_space([f"sweep={family}", *overrides]))
        except Exception as error:
            raise as_user_error(error) or error from None
        with use_hydra_config(config):
            return validated(Sweep, config.sweep, "sweep")


def names(*overrides, family="recurrent"):
    return [*sweep_with(*overrides, family=family).space]


def test_other_arguments_stay_as_they_are():
    given = [
        "-m",
        "sweep=recurrent",
        "seed=1,2",
        "sweep.trials=3",
        "~sweep.known",
        "sweep.spaces=1",
    ]
    assert with_space(given) == given


def test_a_space_is_replaced_as_a_whole():
    for key in (LR, "batching.max_tokens", HEADS):
        sweep = sweep_with(f"sweep.space={{{key}: {FLOAT}}}")
        assert [*sweep.space] == [key]
        assert sweep.space[key].model_dump()["log"] is False  # which the file gave optimizer.lr


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        (f"~sweep.space.{DROPOUT}", [LR, SMOOTHING]),
        (f"~sweep.space.{SMOOTHING}", [LR, DROPOUT]),
        (f"+sweep.space.model.rnn_layers={FLOAT}", [LR, SMOOTHING, DROPOUT, "model.rnn_layers"]),
        (f"+sweep.space={{scale: {FLOAT}}}", [LR, SMOOTHING, DROPOUT, "scale"]),
        (f"+sweep.space.{HEADS}={FLOAT}", [LR, SMOOTHING, DROPOUT, HEADS]),
    ],
)
def test_a_parameter_is_removed_or_added(override, expected):
    assert names(override) == expected


def test_a_parameter_of_a_family_with_a_sign_is_removed():
    assert HEADS in names(family="attention")
    assert HEADS not in names(f"~sweep.space.{HEADS}", family="attention")


CHOICES = "{type: categorical, choices: [0.0, 0.1]}"


@pytest.mark.parametrize(
    "override",
    [
        f"sweep.space.{DROPOUT}={CHOICES}",
        f"+sweep.space.{DROPOUT}={CHOICES}",
        f"++sweep.space.{DROPOUT}={CHOICES}",
        f"+sweep.space={{{DROPOUT}: {CHOICES}}}",
        f"++sweep.space={{{DROPOUT}: {CHOICES}}}",
    ],
)
def test_a_parameter_gets_another_type(override):
    sweep = sweep_with(override)
    assert [*sweep.space] == [LR, SMOOTHING, DROPOUT]
    assert sweep.space[DROPOUT].model_dump() == {
        "type": "categorical", "choices": [0.0, 0.1], "when": {},
    }  # fmt: skip


def test_a_part_of_a_range_is_changed():
    rate = sweep_with(f"sweep.space.{LR}.high=0.05").space[LR].model_dump()
    assert (rate["low"], rate["high"], rate["log"]) == (3e-4, 0.05, True)
    drop = sweep_with(f"+sweep.space.{LR}.when={{{SMOOTHING}: 0.1}}", f"~sweep.space.{LR}")
    assert [*drop.space] == [SMOOTHING, DROPOUT]


@pytest.mark.parametrize(
    ("override", "words"),
    [
        (
            "~sweep.space.model.drop",
            ["sweep.space.model.drop: ", "the space has no such parameter"],
        ),
        (
            f"sweep.space.model.drop={FLOAT}",
            ["sweep.space.model.drop: ", "+sweep.space.model.drop="],
        ),
        (f"sweep.space.{LR}.hihg=0.1", [f"sweep.space.{LR}.hihg"]),
        (f"sweep.space.{DROPOUT}=0.3", ["model.dropout=0.3: give a range, like {type: float"]),
        ("sweep.space={}", ["sweep.space: ", "at least 1 item"]),
        ("sweep.space=3", ["sweep.space=3: "]),
        ("sweep.space={a", ["sweep.space={a"]),
        ("~sweep.space.model.attention.score", ["model.attention.score is no parameter"]),
    ],
)
def test_what_cannot_be_done_is_told_with_the_parameter(override, words):
    with refused(*words):
        sweep_with(override, family="attention")


def test_a_space_without_a_study_is_refused():
    space = [f"sweep.space={{{LR}: {FLOAT}}}"]
    with initialize_config_dir(str(CONF), version_base="1.3"), pytest.raises(HydraException) as it:
        composed(with_space(space))
    assert str(as_user_error(it.value)).startswith("sweep.space: no such setting; ")


@pytest.mark.parametrize("key", ["pruner_options", "sampler_options"])
def test_options_are_given_with_and_without_a_plus(key):
    for override in (
        f"sweep.{key}={{lower: 99}}",
        f"+sweep.{key}={{lower: 99}}",
        f"+sweep.{key}.lower=99",
    ):
        assert getattr(sweep_with(override), key) == {"lower": 99}


def tuned(*overrides):
    """Return the variants that ``comparison=tuned`` tunes, each with its space."""
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return dict(composed(with_space(["comparison=tuned", *overrides])).tuned.variants)


def test_a_mapping_names_all_variants_that_are_tuned():
    assert tuned("tuned.variants={luong_dot: attention}") == {"luong_dot": "attention"}


def test_single_variants_are_added_changed_and_left_out():
    usual = tuned()
    found = tuned(
        "+tuned.variants.mine=own", "tuned.variants.bahdanau=my_space", "~tuned.variants.seq2seq"
    )
    del usual["seq2seq"]
    assert found == usual | {"mine": "own", "bahdanau": "my_space"}
