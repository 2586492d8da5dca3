"""Arrays of token numbers on the disk."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datamodules.preparation.store import check_files, load_side, save_side

parts = st.lists(st.lists(st.lists(st.integers(0, 70_000), max_size=4), max_size=5), max_size=4)


def ragged(sequences):
    lengths = np.array([len(each) for each in sequences], np.int64)
    return np.array([token for each in sequences for token in each], np.int64), lengths


@settings(derandomize=True, deadline=None, database=None)
@given(parts)
def test_parts_come_back_as_one_side(tmp_path_factory, parts):
    folder = tmp_path_factory.mktemp("store")
    check_files(folder, save_side(folder, "train.source", [ragged(part) for part in parts]))
    side = load_side(folder, "train.source")
    ends = side.starts + side.lengths
    found = [side.tokens[a:b].tolist() for a, b in zip(side.starts, ends, strict=True)]
    assert found == [sequence for part in parts for sequence in part]


@pytest.mark.parametrize(("most", "kind"), [(255, np.uint8), (256, np.uint16), (65536, np.uint32)])
def test_numbers_have_the_narrowest_type(tmp_path, most, kind):
    save_side(tmp_path, "a", [(np.array([0, most]), np.array([2]))])
    side = load_side(tmp_path, "a")
    assert side.tokens.dtype == kind
    assert side.lengths.dtype == np.uint8
    assert isinstance(side.tokens.base, np.memmap)


def test_a_length_with_eos_fits(tmp_path):
    tokens, lengths = np.zeros(255, np.int64), np.array([255])
    save_side(tmp_path, "a", [(tokens, lengths)])
    side = load_side(tmp_path, "a")
    assert side.lengths + 1 == 256


@pytest.mark.parametrize("place", [-1, -2])
def test_a_changed_byte_is_damage(tmp_path, place):
    checksums = save_side(tmp_path, "a", [(np.array([4, 5]), np.array([2]))])
    file = tmp_path / "a.tokens.npy"
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.tokens\.npy is not as it was written"):
        check_files(tmp_path, checksums)


def test_a_full_disk_leaves_no_file(tmp_path, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array_header_1_0", full)
    with pytest.raises(OSError, match="No space left"):
        save_side(tmp_path, "a", [(np.array([4, 5]), np.array([2]))])
    assert not list(tmp_path.iterdir())
