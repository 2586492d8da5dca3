"""``task=explore``: a file for a test set, and what is refused."""

import json
import re
import shutil
import sys
import zlib
from base64 import b64decode

import pytest
from omegaconf import OmegaConf

from lightning_modules.runs.files import read_predictions
from sweeps.tasks.explore import examples_of, names_of
from tests.helpers.commands import TINY, inside, mistake, places
from tests.helpers.explorers import trained_model
from tests.helpers.refusals import refused
from tests.helpers.run_folders import unsealed


def test_equal_labels_get_their_seeds_and_then_their_folders(tmp_path):
    def run(variant, label, seed, folder):
        config = OmegaConf.create({"variant": variant, "label": label, "seed": seed})
        return trained_model("bahdanau")._replace(config=config, folder=tmp_path / folder)

    runs = [
        run("bahdanau", "Bahdanau", 1, "a"),
        run("transformer", "Transformer", 1, "b"),
        run("bahdanau", "Bahdanau", 2, "c"),
        run("bahdanau", "Bahdanau", 2, "d"),
    ]
    names = names_of(runs)
    last = [f"Bahdanau, seed 2 ({tmp_path / folder})" for folder in "cd"]
    assert [label for _, label in names] == ["Bahdanau, seed 1", "Transformer", *last]
    assert [name for name, _ in names] == ["Bahdanau, seed 1", "transformer", *last]
    with refused("is given twice"):
        names_of([runs[0], runs[0]])


@pytest.fixture(scope="module")
def trained(space):
    folder = space / "run"
    inside(*TINY, *places(space), "logger=none", f"hydra.run.dir={folder}")
    return folder


@pytest.mark.long
def test_a_file_has_sentences_spread_over_the_test_set(trained, tmp_path, capsys):
    inside("task=explore", f"checkpoint={trained}", f"export={tmp_path}/explorer.html",
           "test_sentences=3")  # fmt: skip
    page = (tmp_path / "explorer.html").read_text(encoding="utf-8")
    predictions = read_predictions(trained)
    wanted = [predictions[place * len(predictions) // 3].source for place in range(3)]
    found = re.search(r'<script type="application/json" id="explorer">(.*?)</script>', page)
    assert found
    shown = json.loads(zlib.decompress(b64decode(json.loads(found[1]))))
    assert [each["source"] for each in shown["examples"]] == wanted
    assert f"the explorer of 3 sentences: {tmp_path}/explorer.html" in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["export=-"], "give the name of a file"),
        (["export=none/explorer.html"], "does not exist"),
        (["export=x.html", "decoding=mbr"], "MinimumBayesRisk has none of its own"),
        (["port=70000"], "port=70000: give a whole number"),
        (["logger=wandb"], "task=explore tracks nothing"),
    ],
)
def test_what_is_refused(trained, tmp_path, monkeypatch, given, words):
    monkeypatch.chdir(tmp_path)
    assert words in mistake("task=explore", f"checkpoint={trained}", *given)


@pytest.mark.long
def test_without_the_library_a_file_remains(trained, monkeypatch):
    monkeypatch.setitem(sys.modules, "werkzeug", None)
    # A module that is loaded already would be found without its package.
    loaded = ("werkzeug.", "sweeps.explorer.server")
    for name in [each for each in sys.modules if each.startswith(loaded)]:
        monkeypatch.delitem(sys.modules, name)
    line = mistake("task=explore", f"checkpoint={trained}")
    assert "pip install 'attention-bench[explore]', or give export=FILE" in line


@pytest.mark.long
def test_a_run_without_its_translations_has_no_examples(trained, tmp_path, monkeypatch):
    run = unsealed(shutil.copytree(trained, tmp_path / "run"))
    (run / "predictions.jsonl").unlink()
    line = mistake("task=explore", f"checkpoint={run}", f"export={tmp_path}/x.html")
    assert "the test set of the first run is not in its folder" in line
    assert examples_of(trained_model("bahdanau")._replace(folder=run), 5) == []
