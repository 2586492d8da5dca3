"""The label of a system names the score and the window that it has, the user's own included."""

import pytest
from hydra import compose, initialize_config_dir

from lightning_modules.figures.palette import LOOKS
from lightning_modules.runs.job import label_of, label_with_changes
from lightning_modules.runs.paths import CONF
from sweeps.launch.resolvers import register


@pytest.mark.parametrize(
    ("overrides", "label"),
    [
        ([], "Bahdanau, additive"),
        (["model.attention.score=my_score.WeightedDot"], "Bahdanau, my_score.WeightedDot"),
        (["model=luong_global", "model.attention.score=concat"], "Luong global, concat"),
        (["model=luong_global", "model.attention.window=my_window.Mine"],
         "Luong my_window.Mine, dot"),
        (["model=luong_scaled_dot"], "Luong global, scaled dot"),
        (["model=luong_local_p"], "Luong local-p, general, published size"),
        (["model=luong_predictive_near", "model.attention.half_width=7"],
         "Luong local-p, dot, D = 7"),
        (["model.cell=my_cell.Mine"], "Bahdanau, additive with model.cell=my_cell.Mine"),
        (["model.attention=null"], "Bahdanau, none with model.attention=null"),
        (["model.cell=lstm", "label=Mine"], "Mine"),
    ],
)  # fmt: skip
def test_a_label_says_what_the_run_has(overrides, label):
    register()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        config = compose("config", overrides, return_hydra_config=True)
        assert label_with_changes(label_of("bahdanau", overrides, config), overrides) == label


def test_every_variant_has_a_label_of_its_own():
    register()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        labels = [
            label_of(name, given, compose("config", given, return_hydra_config=True))
            for name in LOOKS
            for given in [[f"model={name}"]]
        ]
    assert len(set(labels)) == len(labels), labels
