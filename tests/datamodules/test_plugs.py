"""Finding, making and checking plugs."""

from abc import ABC, abstractmethod

import pytest
import torch

from datamodules.corpus import Corpus, read_parts, read_split
from datamodules.errors import UserError
from datamodules.plugs import check_shape, find_plug, make_plug
from tests.helpers.refusals import refused


class Shape(ABC):
    @abstractmethod
    def area(self) -> float: ...


class Square(Shape):
    def __init__(self, side: float = 1.0) -> None:
        if side < 0:
            raise ValueError("a side must be\n0 or more")
        self.side = side

    def area(self) -> float:
        return self.side**2


class Sketch(Shape):
    pass


OWN = """
from pathlib import Path

from tests.datamodules.test_plugs import Square

class Circle(Square):
    def __init__(self):
        Path("/nowhere/sides").read_text()
"""
KNOWN: dict[str, type[Shape]] = {"square": Square}
HERE = __name__


def find(name):
    return find_plug("drawing.shape", name, KNOWN, Shape)


def test_a_plug_is_found_by_name_and_by_dotted_path():
    assert find("square") is Square
    assert find(f"{HERE}.Square") is Square


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("circle", "choose one of square, or give the dotted path of a Shape class"),
        ("no_such_package.Circle", "cannot be imported"),
        (f"{HERE}.Circle", "cannot be imported"),
        (f"{HERE}.find", "is not derived from"),
        ("pathlib.Path", "is not derived from"),
        (f"{HERE}.Sketch", "Sketch lacks area"),
    ],
)
def test_another_name_ends_with_one_line(name, words, caplog):
    with pytest.raises(UserError) as caught:
        find(name)
    message = str(caught.value)
    assert message.startswith(f"drawing.shape={name}: ")
    assert words in message
    assert "\n" not in message
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "class Circle\n",
            "drawing.shape=faulty_shapes.Circle: faulty_shapes.py, line 1: expected",
        ),
        (
            "import no_such_package\n",
            "drawing.shape=faulty_shapes.Circle: faulty_shapes.py, line 1: ModuleNotFoundError: No "
            "module named 'no_such_package'",
        ),
        (
            "import json\n\njson.loads('{')\n",
            "drawing.shape=faulty_shapes.Circle: faulty_shapes.py, line 3: JSONDecodeError: Expect",
        ),
        (
            "from pathlib import Pth\n",
            "drawing.shape=faulty_shapes.Circle: faulty_shapes.py, line 1: ImportError: cannot imp",
        ),
    ],
)
def test_a_file_that_python_cannot_import_ends_with_one_line(tmp_path, monkeypatch, code, message):
    (tmp_path / "faulty_shapes.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError) as caught:
        find("faulty_shapes.Circle")
    assert str(caught.value).startswith(message)


def test_arguments_that_a_plug_does_not_take():
    assert make_plug("drawing.shape", "square", Square, side=2.0).area() == 4
    with pytest.raises(UserError, match=r"^drawing.shape=square: .*'radius'"):
        make_plug("drawing.shape", "square", Square, radius=2.0)
    line = r"^drawing.shape=square: test_plugs.py, line \d+: ValueError: a side must be 0 or more$"
    with pytest.raises(UserError, match=line):
        make_plug("drawing.shape", "square", Square, side=-1.0)


def test_any_error_of_a_constructor_names_the_line_of_the_users_file(tmp_path, monkeypatch):
    (tmp_path / "own_shapes.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError) as caught:
        make_plug("drawing.shape", "own_shapes.Circle", find("own_shapes.Circle"))
    line = "drawing.shape=own_shapes.Circle: own_shapes.py, line 8: FileNotFoundError: [Errno 2]"
    assert str(caught.value).startswith(line)


OWN_CORPUS = """
from datamodules.corpus import Corpus, ParallelText

class Mine(Corpus):
    name, source, target = "mine", "en", "fr"

    def split(self, name):
        if name == "train":
            return ParallelText("ab", "cd")
        raise KeyError("no such file")
"""


@pytest.mark.parametrize("read", [read_split, lambda *of: list(read_parts(*of))])
def test_a_mistake_in_a_users_corpus_is_one_line(read, tmp_path, monkeypatch):
    (tmp_path / "own_corpus.py").write_text(OWN_CORPUS)
    monkeypatch.syspath_prepend(tmp_path)
    mine = find_plug("data", "own_corpus.Mine", {}, Corpus)()
    place = "data._target_=own_corpus.Mine: Mine.split('val'): own_corpus.py, line 10: KeyError"
    with refused(place):
        read(mine, "val")
    with refused("Mine.split('train') has a source that is not a list of texts"):
        read(mine, "train")


def test_the_shape_of_what_a_plug_computes():
    plug = Square()
    check_shape("drawing.shape=square", plug, lambda: torch.zeros(2, 3), (2, 3))
    with pytest.raises(
        UserError, match=r"^drawing.shape=square: Square returns the shape \(2, 3\)"
    ):
        check_shape("drawing.shape=square", plug, lambda: torch.zeros(2, 3), (2, 4))
    with pytest.raises(
        UserError, match=r"Square cannot compute: test_plugs.py, line \d+: R.*: mat1"
    ):
        check_shape(
            "drawing.shape=square", plug, lambda: torch.zeros(2, 3) @ torch.zeros(2, 3), (2, 2)
        )
