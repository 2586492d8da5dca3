"""A key that is no setting is refused, with the setting that the user may have meant."""

import pytest

from lightning_modules.runs.setting_checks import is_known, unknown_key


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
