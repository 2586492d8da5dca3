"""Arrays of token numbers, in memory and on the disk."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datamodules.sequences import Sequences, check_files, load_sequences, save_sequences

EVERY = st.lists(st.lists(st.integers(0, 70_000), max_size=4), max_size=9)


def save(folder, *sequences, pieces=1):
    made = Sequences.of(sequences)
    largest = int(made.tokens.max(initial=0))
    return save_sequences(folder, "a", made.lengths, np.array_split(made.tokens, pieces), largest)


@settings(derandomize=True, deadline=None, database=None)
@given(EVERY, st.integers(1, 5))
def test_sequences_come_back_from_the_disk(tmp_path_factory, sequences, pieces):
    folder = tmp_path_factory.mktemp("store")
    check_files(folder, save(folder, *sequences, pieces=pieces))
    loaded = load_sequences(folder, "a")
    rows = np.arange(len(sequences))[::-1]
    chosen = loaded.select(rows)
    ends = np.cumsum(chosen.lengths)[:-1]
    found = [part.tolist() for part in np.split(chosen.flat(), ends)] if len(rows) else []
    assert found == sequences[::-1]


@pytest.mark.parametrize(("most", "kind"), [(255, np.uint8), (256, np.uint16), (65536, np.uint32)])
def test_numbers_have_the_narrowest_type(tmp_path, most, kind):
    save(tmp_path, [0, most])
    loaded = load_sequences(tmp_path, "a")
    assert loaded.tokens.dtype == kind
    assert loaded.lengths.dtype == np.uint8
    assert isinstance(loaded.tokens.base, np.memmap)


def test_a_length_with_eos_fits(tmp_path):
    save(tmp_path, [0] * 255)
    assert load_sequences(tmp_path, "a").lengths + 1 == 256


@pytest.mark.parametrize("place", [-1, -2])
def test_a_changed_byte_is_damage(tmp_path, place):
    checksums = save(tmp_path, [4, 5])
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
        save(tmp_path, [4, 5])
    assert not list(tmp_path.iterdir())
