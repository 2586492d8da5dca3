"""The settings of averages: bad input, the recipe that averages, a run that is translated."""

import pytest

from tests.helpers.commands import inside, mistake, places
from tests.helpers.variants import configuration
from tests.lightning_modules.training.test_resume import SETTINGS


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (["callbacks=ema", "callbacks.ema.decay=1"], "callbacks.ema.decay=1: give "),
        (["callbacks=average", "callbacks.average.k=0"], "callbacks.average.k=0: give "),
        (["callbacks=average", "callbacks.average.of=first"], "callbacks.average.of=first: give "),
    ],
)
def test_bad_input_ends_in_a_line(tmp_path, given, line):
    assert line in mistake("data=grammar_tiny", "logger=none", *places(tmp_path), *given)


def test_the_recipe_of_vaswani_2017_averages_the_last_five_checkpoints():
    config = configuration("recipe=vaswani2017", "model=transformer_base")
    assert (config.callbacks.average.k, config.callbacks.average.of) == (5, "last")


@pytest.mark.long
@pytest.mark.parametrize("name", ["ema", "average"])
def test_a_run_is_translated_with_its_average(tmp_path, name):
    run = [*SETTINGS, *places(tmp_path), f"callbacks={name}", f"hydra.run.dir={tmp_path}/run"]
    inside(*run)
    (tmp_path / "in").write_text("the cat sleeps\n", encoding="utf-8")
    inside(
        "task=translate", f"checkpoint={tmp_path}/run", f"input={tmp_path}/in",
        f"output={tmp_path}/out", "logger=none",
    )  # fmt: skip
    assert (tmp_path / "out").read_text(encoding="utf-8").count("\n") == 1
