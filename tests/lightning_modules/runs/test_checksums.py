"""A file of a run that has changed is refused by name."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from lightning_modules.runs import checksums, files, paths
from lightning_modules.runs.checksums import ChangedFileError, check_file, verify_files
from lightning_modules.runs.schema import Result
from tests.helpers.run_folders import make_run

READERS = {
    "result.json": files.read_result,
    "predictions.jsonl": files.read_predictions,
    "statistics.npz": files.read_run,
    "word_counts.json": files.read_run,
    "bleu_by_length.csv": lambda folder: check_file(folder / "bleu_by_length.csv"),
}


def flip(file, place):
    content = bytearray(file.read_bytes())
    content[place % len(content)] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("place", [0, 57, -1])
def test_one_flipped_bit_is_refused(tmp_path, name, place):
    run = make_run(tmp_path / "run")
    before = READERS[name](run)
    flip(run / name, place)
    with pytest.raises(ChangedFileError, match=f"{name}: is not what the run wrote"):
        READERS[name](run)
    flip(run / name, place)
    assert repr(READERS[name](run)) == repr(before)


def test_the_file_is_read_all_the_same_without_verification(tmp_path):
    run = make_run(tmp_path / "run")
    text = (run / "predictions.jsonl").read_text().replace("a", "b", 1)
    (run / "predictions.jsonl").write_text(text)
    with verify_files(False), ThreadPoolExecutor(1) as thread:
        assert files.read_predictions(run)
        assert thread.submit(files.read_predictions, run).result()  # figures are drawn in a thread
    with pytest.raises(ChangedFileError):
        files.read_predictions(run)


def test_a_changed_digest_is_no_way_round(tmp_path):
    run = make_run(tmp_path / "run")
    record = run / "result.json"
    content = json.loads(record.read_text())
    content["scores"]["bleu"] = 99.0
    record.write_text(json.dumps(content))
    with pytest.raises(ChangedFileError, match=r"result\.json"):
        files.read_result(run)


def test_a_record_without_its_digest_is_refused(tmp_path):
    run = make_run(tmp_path / "run")
    (run / paths.RESULT_DIGEST).unlink()
    with pytest.raises(ChangedFileError, match=r"result\.json"):
        files.read_result(run)


def test_a_kill_between_record_and_digest_loses_nothing(tmp_path, monkeypatch):
    run = make_run(tmp_path / "run")
    record = files.read_run(run)
    assert record is not None
    result = record.result
    writes: list[Path] = []

    def killed(path, text):
        if len(writes) == stop:
            raise KeyboardInterrupt
        writes.append(path)
        original(path, text)

    original = checksums.write_text
    monkeypatch.setattr(checksums, "write_text", killed)
    for stop in range(3):
        writes.clear()
        changed = result.model_copy(update={"seed": 7 + stop})
        with pytest.raises(KeyboardInterrupt):
            files.write_run(run, replace(record, result=changed))
        read = files.read_result(run)
        assert isinstance(read, Result)
        assert read.seed == (7 + stop if stop == 2 else result.seed)


def test_files_that_no_record_lists_are_not_checked(tmp_path):
    (tmp_path / "history.csv").write_text("x")
    check_file(tmp_path / "history.csv")
