"""A whole training on packed sentences, which only a GPU chooses, on a CPU."""

import pytest

from lightning_modules.kernels.choice import PLAIN, Choice, Kernels, use_kernels
from lightning_modules.runs.files import read_history, read_result
from lightning_modules.training import factories
from lightning_modules.variants import Transformer
from tests.helpers.commands import TINY, inside, places

SETTINGS = [*TINY, "model=transformer", "data=grammar_tiny", "logger=none", "model.dropout=0"]


def trained(folder, space, *overrides):
    inside(*SETTINGS, *places(space), f"hydra.run.dir={folder}", *overrides)
    result = read_result(folder)
    assert result is not None
    points = read_history(folder)
    return [loss for point in points for loss in (point.train_loss, point.val_loss)], result


@pytest.mark.long
@pytest.mark.parametrize("pieces", [1, 3])
def test_a_packed_training_has_the_losses_of_a_padded_one(tmp_path, monkeypatch, pieces):
    given = tmp_path, f"batching.pieces={pieces}"
    padded, _ = trained(tmp_path / "padded", *given)
    rooms: list[int] = []
    decode_packed = Transformer.decode_packed

    def watched(model, packed):
        rooms.append(len(packed.src))
        return decode_packed(model, packed)

    monkeypatch.setattr(Transformer, "decode_packed", watched)
    choice = Choice(Kernels(packed=True), {})
    monkeypatch.setattr(factories, "kernels_of_training", lambda *_: choice)
    try:
        packed, result = trained(tmp_path / "packed", *given)
    finally:
        use_kernels(PLAIN)
    assert packed == pytest.approx(padded, rel=1e-4)
    assert result.environment.kernels == "packed sentences"
    assert len(rooms) == pieces * result.training.updates
    assert set(rooms) == {640 if pieces == 1 else 256}
