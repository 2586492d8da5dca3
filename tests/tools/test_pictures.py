"""The pictures of README and docs: made of runs, in true colours."""

import re
from pathlib import Path

import pytest
from PIL import Image

from lightning_modules.runs.paths import FIGURES
from tests.helpers.run_folders import attention_history, history, make_run
from tests.tools.pictures import MODES, PICTURES, check_colours, main

ROOT = Path(__file__).parents[2]
BLUE = (18, 72, 224)


def figure(source: Path, mode: str = "RGB") -> Path:
    file = source / FIGURES / "bleu_by_length.png"
    file.parent.mkdir(parents=True)
    Image.new("RGB", (8, 4), BLUE).convert(mode).save(file)
    return file


def shown_pictures() -> set[Path]:
    """The pictures that README and pages show."""
    link = re.compile(r"!\[[^]]*\]\(([^)\s]+\.(?:png|gif))\)")
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    return {
        (page.parent / name).resolve()
        for page in pages
        for name in link.findall(page.read_text(encoding="utf-8"))
    }


def test_every_picture_that_a_page_shows_is_made_by_the_script():
    made = {(ROOT / file).resolve() for files in PICTURES.values() for file in files}
    assert shown_pictures() <= made


def test_every_picture_has_true_colours():
    for file in (each for each in shown_pictures() if each.suffix == ".png"):
        check_colours(file)
        with Image.open(file) as picture:
            assert picture.mode in MODES


@pytest.mark.long
def test_the_pictures_of_a_comparison_are_its_figure_and_the_animation_of_a_run(tmp_path, capsys):
    source, root = tmp_path / "comparison", tmp_path / "checkout"
    (root / "docs").mkdir(parents=True)
    drawn = figure(source)
    make_run(source / "0", "seq2seq")
    make_run(source / "1", "bahdanau", history=history(), attention_history=attention_history())
    main([f"quickstart={source}"], root)
    assert (root / "docs/findings/quickstart.png").read_bytes() == drawn.read_bytes()
    with Image.open(root / "docs/attention.gif") as picture:
        assert getattr(picture, "n_frames", 1) == 4
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.parametrize(
    ("name", "mode", "message"),
    [
        ("parity", None, "task=report runs="),
        ("parity", "P", "has a palette (mode P), no true colours"),
        ("quickstart", "RGB", "holds no finished run of bahdanau"),
        ("other", "RGB", "is none of quickstart, ladder, parity"),
    ],
)
def test_what_cannot_be_made_is_refused(tmp_path, capsys, name, mode, message):
    (tmp_path / "docs").mkdir()
    if mode is not None:
        figure(tmp_path, mode)
    with pytest.raises(SystemExit) as ended:
        main([f"{name}={tmp_path}"], tmp_path)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
