"""Files of contrastive pairs in the layout of LingEval97."""

import json
from typing import Any

import pytest

from datamodules.contrast_pairs import ContrastPair, read_contrast, write_contrast
from datamodules.errors import UserError

ENTRY: dict[str, Any] = {
    "source": "Prices fall.",
    "reference": "Die Preise fallen.",
    "origin": "newstest2009.1",
    "errors": [
        {
            "type": "np_agreement",
            "contrastive": "Der Preise fallen.",
            "distance": 1,
            "frequency": 9,
        },
        {"type": "polarity_particle_nicht_ins", "contrastive": "Die Preise fallen nicht."},
    ],
}


def test_a_file_of_lingeval97_is_read(tmp_path):
    file = tmp_path / "set.json"
    file.write_text(json.dumps([ENTRY]), encoding="utf-8")
    first, second = read_contrast(file, "pairs")
    assert first == ContrastPair(
        "Prices fall.", "Die Preise fallen.", "Der Preise fallen.", "np_agreement", 1
    )
    assert (second.category, second.distance) == ("polarity_particle_nicht_ins", None)


def test_written_pairs_are_read_again(tmp_path):
    pairs = [
        ContrastPair("A b.", "C d.", "C e.", "number", 3, True),
        ContrastPair("A b.", "C d.", "C.", "negation", 1),
        ContrastPair("É f.", "G h.", "G i.", "sense", 20, False),
    ]
    write_contrast(tmp_path / "set.json", pairs)
    assert read_contrast(tmp_path / "set.json", "pairs") == pairs
    assert len(json.loads((tmp_path / "set.json").read_text("utf-8"))) == 2


def without(name: str) -> dict:
    return {key: value for key, value in ENTRY.items() if key != name}


def error(**changes) -> dict:
    changed = {**ENTRY["errors"][0], **changes}
    given = {key: value for key, value in changed.items() if value is not None}
    return {**ENTRY, "errors": [given]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ({"source": "A"}, "entries: Input should be a valid list"),
        ([], "no entry has an error"),
        (["text"], "entries.0=text: Input should be a valid dict"),
        ([ENTRY, without("errors")], "entries.1.errors: Field required"),
        ([{**ENTRY, "errors": []}], "no entry has an error"),
        ([{**ENTRY, "reference": " "}], "entries.0.reference= : String should match"),
        ([error(type=None)], "entries.0.errors.0.type: Field required"),
        ([error(distance="far")], "entries.0.errors.0.distance=far: Input should be a valid int"),
        ([error(distance=-1)], "entries.0.errors.0.distance=-1: Input should be greater than"),
    ],
)
def test_wrong_files_are_refused_in_one_line(tmp_path, content, message):
    file = tmp_path / "set.json"
    text = content if isinstance(content, str) else json.dumps(content)
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        read_contrast(file, "pairs")
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"pairs={file}: ")
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(UserError, match="No such file"):
        read_contrast(tmp_path / "none.json", "pairs")
