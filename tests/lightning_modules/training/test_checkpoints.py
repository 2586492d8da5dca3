"""Checkpoints that are damaged, hold NaN or are no checkpoints are refused in a line."""

import pickle
import shutil
from zipfile import ZipFile

import pytest
import torch

from datamodules.errors import UserError
from lightning_modules.runs.checksums import verify_files
from lightning_modules.training.checkpoints import load_trained
from tests.helpers.commands import TINY, inside, mistake, places


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    space = tmp_path_factory.mktemp("checkpoints")
    inside("model=seq2seq", *TINY, *places(space), "logger=none", f"hydra.run.dir={space}/run")
    return space / "run"


@pytest.fixture
def run(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "run")


def best(run):
    return run / "checkpoints" / "best.ckpt"


def flip_weight(file):
    """Flip a bit of the largest part of a checkpoint, a weight."""
    with ZipFile(file) as parts:
        largest = max(parts.infolist(), key=lambda part: part.file_size)
        place = largest.header_offset + 300 + largest.file_size // 2
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)


@pytest.mark.long
def test_a_flipped_bit_is_refused_by_the_checksum_of_the_run(run):
    flip_weight(best(run))
    assert "best.ckpt: is not what the run wrote" in mistake("task=translate", f"checkpoint={run}")


def test_a_flipped_bit_is_refused_by_the_checkpoint_itself(run):
    flip_weight(best(run))
    (run / "result.json").unlink()
    with pytest.raises(UserError, match=r"best\.ckpt: .* is damaged; give another copy"):
        load_trained(run)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_refused(run, value):
    content = torch.load(best(run), weights_only=True)
    name, tensor = next(iter(content["state_dict"].items()))
    tensor.view(-1)[0] = value
    torch.save(content, best(run))
    with verify_files(False), pytest.raises(UserError, match=f"{name} holds NaN or infinity"):
        load_trained(run)


class Harmful:
    """A pickle that would run code."""

    def __reduce__(self):
        return print, ("run",)


def plain_pickle(content, file):
    file.write_bytes(pickle.dumps(content))


@pytest.mark.parametrize("write", [torch.save, plain_pickle])
def test_a_pickle_is_no_checkpoint(run, write, capsys):
    write({"state_dict": Harmful()}, best(run))
    with verify_files(False), pytest.raises(UserError, match="cannot be read as a checkpoint of"):
        load_trained(run)
    assert "run" not in capsys.readouterr().out


def test_what_is_there_instead_of_a_checkpoint_is_told(run):
    best(run).unlink()
    best(run).mkdir()
    with pytest.raises(UserError, match=r"best\.ckpt is a folder; give the folder of a finished"):
        load_trained(run)
