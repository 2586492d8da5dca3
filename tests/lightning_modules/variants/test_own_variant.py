"""A variant of a user, from the command line."""

import json

import pytest

from tests.helpers.commands import TINY, example, mistake, places, succeed


@pytest.mark.long
def test_the_example_of_the_page_trains_and_joins_an_ensemble(tmp_path):
    [arguments] = example("variant", tmp_path)
    given = [str(tmp_path / word) if word == "my_conf" else word for word in arguments]
    place, folder = {"PYTHONPATH": str(tmp_path)}, tmp_path / "run"
    settings = [*TINY, *places(tmp_path), "logger=none"]
    succeed(*given, *settings, f"hydra.run.dir={folder}", **place)
    result = json.loads((folder / "result.json").read_text())
    assert result["variant"] == "bag_of_words"
    succeed("model=seq2seq", *settings, f"hydra.run.dir={tmp_path}/rnn")
    together = ["task=translate", f"checkpoint=[{folder},{tmp_path}/rnn]"]
    assert succeed(*together, stdin="The cat sleeps.\n", **place).count("\n") == 1


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("torch.nn.Linear", "is not derived from lightning_modules.variants.base.EncoderDecoder"),
        ("lightning_modules.variants.EmbeddedEncoderDecoder", "lacks decode, encode"),
    ],
)
def test_a_wrong_variant_ends_with_one_line(target, words, tmp_path):
    line = mistake(f"model._target_={target}", "logger=none", *TINY, *places(tmp_path))
    assert f"model._target_={target}: " in line
    assert words in line
