"""All pictures of README and docs, from folders of finished runs.

``python -m tests.tools.pictures quickstart=FOLDER parity=FOLDER`` writes the pictures of the
sources that are given: ``quickstart`` is the comparison of ``make quickstart``, ``ladder`` that of
docs/findings/ladder.md, ``parity`` the evaluation of docs/findings/parity.md. Figures are those of
their ``figures/``, as the harness drew them; the animation is that of the first run of
``ANIMATED``.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from PIL import Image

from datamodules.errors import UserError
from datamodules.files import whole_file
from lightning_modules.runs.files import find_runs, read_result
from lightning_modules.runs.paths import FIGURES
from tests.tools.attention_animation import frames_of, write_animation

ANIMATED = "bahdanau"
"""The system whose attention the animation shows."""
MODES = ("RGB", "RGBA")  # of a PNG in true colours


def copy_figure(name: str) -> Callable[[Path, Path], None]:
    """Return what writes a figure of a report as a picture."""

    def write(source: Path, picture: Path) -> None:
        figure = source / FIGURES / f"{name}.png"
        if not figure.is_file():
            raise UserError(f"{figure}: is missing; python run.py task=report runs={source}")
        check_colours(figure)
        with whole_file(picture) as temporary:
            temporary.write_bytes(figure.read_bytes())

    return write


def check_colours(picture: Path) -> None:
    """Raise ``UserError`` for a picture with a palette, whose colours are not those of the page."""
    with Image.open(picture) as opened:
        if opened.mode not in MODES:
            raise UserError(f"{picture}: has a palette (mode {opened.mode}), no true colours")


def animate(source: Path, picture: Path) -> None:
    """Write the animation of how attention forms, of the longer of two kept sentences."""
    for run in find_runs(source):
        result = read_result(run)
        if result is not None and result.variant == ANIMATED:
            write_animation(frames_of(run, 1), picture)
            return
    raise UserError(f"{source}: holds no finished run of {ANIMATED}")


PICTURES: Mapping[str, Mapping[str, Callable[[Path, Path], None]]] = {
    "quickstart": {
        "docs/findings/quickstart.png": copy_figure("bleu_by_length"),
        "docs/attention.gif": animate,
    },
    "ladder": {"docs/findings/ladder.png": copy_figure("bleu_by_length")},
    "parity": {"docs/findings/parity.png": copy_figure("bleu_by_length")},
}
"""For each source: files from the root of the repository, and what writes them."""


def write_pictures(sources: Mapping[str, Path], root: Path) -> list[Path]:
    """Write the pictures of some sources into a checkout; return them.

    Raises ``UserError`` for an unknown source, and for a picture that cannot be made.
    """
    written = []
    for name, source in sources.items():
        if name not in PICTURES:
            raise UserError(f"{name}={source}: is none of {', '.join(PICTURES)}")
        for file, write in PICTURES[name].items():
            write(source, root / file)
            written.append(root / file)
    return written


def main(arguments: Sequence[str], root: Path = Path()) -> None:
    """Write the pictures of the sources that are given as NAME=FOLDER."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sources", nargs="+", metavar="NAME=FOLDER")
    given = [each.partition("=") for each in parser.parse_args(arguments).sources]
    try:
        for picture in write_pictures({name: Path(folder) for name, _, folder in given}, root):
            print(f"{picture}: {picture.stat().st_size / 1024:.0f} KiB")
    except UserError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
