"""``task=data clean=true``: which prepared corpora go and which stay."""

import shutil
from pathlib import Path

import pytest

from datamodules.files import locked
from tests.helpers.commands import TINY, inside, mistake, places
from tests.helpers.run_folders import make_run

CORPUS = ["data=grammar_tiny", *(given for given in TINY if given.startswith("data."))]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory) -> Path:
    """A cache with one store, and nothing else."""
    space = tmp_path_factory.mktemp("prepared")
    inside("task=data", *CORPUS, "logger=none", f"hydra.run.dir={space}/seen", *places(space))
    return space / "cache"


@pytest.fixture
def space(tmp_path, prepared) -> Path:
    shutil.copytree(prepared, tmp_path / "cache")
    return tmp_path


@pytest.fixture
def store(space) -> Path:
    [store] = (folder for folder in (space / "cache").iterdir() if folder.is_dir())
    return store


def clean(space: Path, capsys) -> str:
    capsys.readouterr()
    inside("task=data", "clean=true", *places(space))
    return capsys.readouterr().out


def test_a_store_without_a_run_goes(space, store, capsys):
    """Looking at a corpus makes no run."""
    size = sum(file.stat().st_size for file in store.rglob("*") if file.is_file())
    printed = clean(space, capsys)
    assert f"{store} removed: {size:,} bytes" in printed
    assert f"prepared corpora removed: 1, {size:,} bytes; left in {space}/cache: 0" in printed
    assert not store.exists()
    assert "prepared corpora removed: 0, 0 bytes; left in" in clean(space, capsys)


def test_the_store_of_a_finished_run_stays(space, store, capsys):
    other = shutil.copytree(store, store.with_name("grammar-0123456789ab"))
    data = {"name": "grammar", "fingerprint": store.name[-12:]}
    make_run(space / "outputs" / "comparisons" / "sweep" / "0", data=data)
    printed = clean(space, capsys)
    assert f"{other} removed" in printed
    assert store.is_dir()
    assert not other.exists()


def test_the_store_of_a_training_that_has_not_ended_stays(space, store, capsys):
    """A killed training, whose settings are those of ``.hydra/``."""
    run = space / "outputs" / "runs" / "killed"
    given = ["model=seq2seq", *CORPUS, "logger=none", f"hydra.run.dir={run}", *places(space)]
    inside(*given, *(each for each in TINY if not each.startswith("data.")))
    (run / "result.json").unlink()
    assert "prepared corpora removed: 0" in clean(space, capsys)
    assert store.is_dir()
    config = run / ".hydra" / "config.yaml"
    config.write_text(config.read_text().replace("train_size: 300", "train_size: lost"))
    printed = clean(space, capsys)
    assert f"{store} stays: which corpus the run {run} has cannot be read" in printed
    assert store.is_dir()


def test_a_store_that_is_prepared_stays(space, store, capsys):
    with locked(store.with_name(f".{store.name}.lock")):
        assert f"{store} stays: another process prepares it" in clean(space, capsys)
    assert store.is_dir()
    assert f"{store} removed" in clean(space, capsys)


def test_an_unfinished_store_goes(space, store, capsys):
    (store / "parts").mkdir()
    (store / "parts" / "00000.source").write_text("a\n")
    (store / "index.json").unlink()
    assert f"{store} removed" in clean(space, capsys)


def test_folders_that_are_no_stores_are_left_alone(space, store, capsys):
    cache = space / "cache"
    elsewhere = shutil.copytree(store, space / "elsewhere-0123456789ab")
    (cache / elsewhere.name).symlink_to(elsewhere)
    mine = {"photos-0123456789ab/index.json", "notes/index.json", f"{store.name}x/index.json"}
    for name in mine:
        (cache / name).parent.mkdir()
        (cache / name).write_text("{}")
    (cache / "file-0123456789ab").write_text("")
    (store / "link").symlink_to(elsewhere)
    assert "prepared corpora removed: 1" in clean(space, capsys)
    assert not store.exists()
    assert (elsewhere / "index.json").is_file()
    assert (cache / elsewhere.name).is_symlink()
    assert all((cache / name).is_file() for name in mine)
    assert (cache / "file-0123456789ab").is_file()


def test_a_store_that_cannot_be_removed_is_one_line(space, store, monkeypatch):
    really = shutil.rmtree

    def refuse(folder):
        if folder != store:  # the folder of the command
            return really(folder)
        raise PermissionError(13, "Permission denied", str(folder / "index.json"))

    monkeypatch.setattr("sweeps.tasks.stores.shutil.rmtree", refuse)
    line = mistake("task=data", "clean=true", *places(space))
    assert line == (
        f"error: {store}/index.json: cannot be removed (Permission denied); remove it by hand, or "
        "give another folder with cache_dir=..."
    )


def test_without_a_cache_there_is_nothing_to_remove(tmp_path, capsys):
    assert "prepared corpora removed: 0" in clean(tmp_path, capsys)
