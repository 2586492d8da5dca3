"""How attention forms, as a small animation for a page that shows pictures alone, as the README.

``python -m tests.tools.attention_animation RUN FILE.gif`` draws the validations that a finished run
keeps in ``attention_history.npz``, one frame each, with target tokens and BLEU above the map. The
second sentence of a run is longer: ``--sentence 1``.
"""

import argparse
import sys
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import vl_convert
from PIL import Image

from datamodules.errors import UserError
from datamodules.files import whole_file
from lightning_modules.figures.charts import as_spec
from lightning_modules.figures.heat_map import PNG_SCALE, attention_map
from lightning_modules.runs.files import read_attention_history, read_history, read_result
from lightning_modules.runs.job import label_of
from sweeps.report.sections.attention_over_training import moment

FRAME, LAST_FRAME = 350, 2500  # milliseconds
COLOURS = 256  # of one frame: a map has shades of blue, orange and grey


def frames_of(run: Path, number: int) -> list[Image.Image]:
    """Return a picture of each kept validation for a sentence, counted from 0; all of one size.

    Raises ``UserError`` for a folder without a finished run, or without such a sentence.
    """
    result, history = read_result(run), read_attention_history(run)
    if result is None or history is None:
        raise UserError(f"{run}: holds no finished run that kept its attention over the training")
    if not 0 <= number < len(history.sentences):
        raise UserError(f"--sentence {number}: the run has {len(history.sentences)}, from 0")
    label = label_of(result.variant, result.overrides, result.config)
    points, sentence = read_history(run), history.sentences[number]
    drawn = [
        _picture(as_spec(attention_map(sentence.at(place), label, moment(validation, points))))
        for place, validation in enumerate(history.validations)
    ]
    size = max(each.width for each in drawn), max(each.height for each in drawn)
    return [_on_paper(each, size) for each in drawn]


def _picture(spec: dict[str, Any]) -> Image.Image:
    with Image.open(BytesIO(vl_convert.vegalite_to_png(spec, scale=PNG_SCALE))) as picture:
        return picture.convert("RGB")


def _on_paper(picture: Image.Image, size: tuple[int, int]) -> Image.Image:
    """Put a picture on white paper, in colours of its own; mixed dots would look like weights."""
    paper = Image.new("RGB", size, "white")
    paper.paste(picture)
    return paper.quantize(COLOURS, dither=Image.Dither.NONE)


def write_animation(frames: Sequence[Image.Image], file: Path) -> None:
    """Write a GIF that starts again after its last frame, whole or not at all."""
    first, *others = frames
    durations = [*[FRAME] * len(others), LAST_FRAME]
    with whole_file(file) as temporary:
        first.save(
            temporary, "GIF", save_all=True, append_images=others, duration=durations, loop=0
        )


def main(arguments: Sequence[str]) -> None:
    """Draw the animation of a run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--sentence", type=int, default=0)
    given = parser.parse_args(arguments)
    try:
        write_animation(frames_of(given.run, given.sentence), given.file)
    except UserError as error:
        parser.error(str(error))
    print(f"{given.file}: {given.file.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main(sys.argv[1:])
