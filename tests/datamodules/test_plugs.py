"""Finding, making and checking plugs."""

import sys
from abc import ABC, abstractmethod

import pytest
import torch

from datamodules.errors import UserError
from datamodules.plugs import check_shape, find_plug, make_plug
from sweeps.launch.errors import as_user_error


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
            "drawing.shape=faulty_shapes.Circle: cannot be imported: No module named "
            "'no_such_package', which its file imports",
        ),
    ],
)
def test_a_file_that_python_cannot_import_ends_with_one_line(tmp_path, monkeypatch, code, message):
    (tmp_path / "faulty_shapes.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError) as caught:
        find("faulty_shapes.Circle")
    assert str(caught.value).startswith(message)


def test_a_defect_in_the_module_of_a_plug_comes_through(tmp_path, monkeypatch):
    (tmp_path / "broken_shapes.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ZeroDivisionError) as caught:
        find("broken_shapes.Circle")
    assert as_user_error(caught.value) is None  # and that is found out without end
    assert "broken_shapes" not in sys.modules


def test_arguments_that_a_plug_does_not_take():
    assert make_plug("drawing.shape", "square", Square, side=2.0).area() == 4
    with pytest.raises(UserError, match=r"^drawing.shape=square: .*'radius'"):
        make_plug("drawing.shape", "square", Square, radius=2.0)
    with pytest.raises(UserError, match=r"^drawing.shape=square: a side must be 0 or more$"):
        make_plug("drawing.shape", "square", Square, side=-1.0)


def test_the_shape_of_what_a_plug_computes():
    plug = Square()
    check_shape("drawing.shape=square", plug, lambda: torch.zeros(2, 3), (2, 3))
    with pytest.raises(
        UserError, match=r"^drawing.shape=square: Square returns the shape \(2, 3\)"
    ):
        check_shape("drawing.shape=square", plug, lambda: torch.zeros(2, 3), (2, 4))
    with pytest.raises(UserError, match="Square cannot compute: mat1 and mat2"):
        check_shape(
            "drawing.shape=square", plug, lambda: torch.zeros(2, 3) @ torch.zeros(2, 3), (2, 2)
        )
