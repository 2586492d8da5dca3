"""The animation of a run: a frame for each validation, in true colours."""

import numpy as np
import pytest
from PIL import Image, ImageSequence

from tests.helpers.run_folders import attention_history, history, make_run
from tests.tools.attention_animation import FRAME, LAST_FRAME, main

pytestmark = pytest.mark.long
ORANGE = (213, 94, 0)


def colours(picture):
    return {tuple(colour) for colour in np.asarray(picture.convert("RGB")).reshape(-1, 3)}


def test_each_validation_is_a_frame_with_sharper_colours(tmp_path, capsys):
    run = make_run(tmp_path / "run", history=history(), attention_history=attention_history())
    file = tmp_path / "attention.gif"
    main([str(run), str(file)])
    assert capsys.readouterr().out.startswith(str(file))
    with Image.open(file) as picture:
        frames = [each.copy() for each in ImageSequence.Iterator(picture)]
        durations = [each.info["duration"] for each in ImageSequence.Iterator(picture)]
    assert len(frames) == 4
    assert durations == [FRAME, FRAME, FRAME, LAST_FRAME]
    assert len({each.size for each in frames}) == 1
    for each in frames:
        assert ORANGE in colours(each)  # the gold links
    shades = [colours(each) for each in frames]
    assert len({frozenset(each) for each in shades}) == 4


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--sentence", "2"], "--sentence 2: the run has 2, from 0"),
        ([], "holds no finished run that kept its attention"),
    ],
)
def test_what_cannot_be_drawn_is_refused(tmp_path, capsys, given, message):
    kept = attention_history() if given else None
    run = make_run(tmp_path / "run", attention_history=kept)
    with pytest.raises(SystemExit) as ended:
        main([str(run), str(tmp_path / "a.gif"), *given])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "a.gif").exists()
