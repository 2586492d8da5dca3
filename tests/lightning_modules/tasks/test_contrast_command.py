"""``task=contrast``, end to end."""

import json
from pathlib import Path

import pytest
import torch

from datamodules.contrast_pairs import ContrastPair, read_contrast, write_contrast
from datamodules.grammar.contrast import drawing
from datamodules.grammar.contrast.errors import CONTROLLED
from lightning_modules.runs.files import read_result
from lightning_modules.testing.contrastive_pairs import choose
from lightning_modules.training.checkpoints import load_trained
from lightning_modules.training.factories import build_model
from tests.helpers.commands import TINY, inside, mistake, places, succeed

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def untrained(space) -> Path:
    """A model after a few updates: it knows no agreement."""
    folder = space / "run"
    given = ["data=grammar_tiny", "model=bahdanau", "logger=none", f"hydra.run.dir={folder}"]
    inside(*given, *TINY, *places(space))
    return folder


@pytest.fixture(scope="module")
def drawn(space, untrained) -> Path:
    """The output of the task with the pairs of the corpus, fewer than in earnest."""
    folder = space / "drawn"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "MOST_SENTENCES", 1200)
        command = ["task=contrast", f"checkpoint={untrained}", f"hydra.run.dir={folder}"]
        inside(*command, *places(space), "threads=1")
    return folder


def test_the_pairs_of_the_corpus(space, drawn):
    summary = json.loads((drawn / "contrast.json").read_text("utf-8"))
    number = summary["accuracy"]["category"]["number"]
    assert number["pairs"] > 300
    assert number["low"] < number["value"] < number["high"]
    kinds = {"all", "category", "distance", "distances", "attractor"}
    assert set(summary["accuracy"]) == kinds
    for width in ("", "_column"):
        assert (drawn / f"accuracy_by_distance{width}.svg").is_file()
    [kept] = (space / "cache").glob("contrast-*.json")
    assert kept.read_bytes() == (drawn / "pairs.json").read_bytes()


def test_random_weights_guess(untrained, drawn):
    """Half of the choices are right where right and wrong are equally long."""
    pairs = [
        pair
        for pair in read_contrast(drawn / "pairs.json", "pairs")
        if pair.category not in CONTROLLED
    ]
    trained = load_trained(untrained)
    sizes = len(trained.tokenizers.source), len(trained.tokenizers.target)
    found = []
    for seed in range(6):
        torch.manual_seed(seed)
        guessing = trained._replace(model=build_model(trained.config, *sizes).eval())
        found.append(choose(guessing, pairs, 20_000).right_choices.mean())
    assert sum(found) / len(found) == pytest.approx(0.5, abs=0.03)


def test_a_file_of_pairs(space, untrained):
    file = space / "set.json"
    write_contrast(
        file,
        [
            ContrastPair("The cat sleeps.", "Le chat dort.", "Le chat dorment.", "number", 1),
            ContrastPair("I see.", "Je vois.", "Je vois.", "same", None),
        ],
    )
    folder = space / "given"
    command = ["task=contrast", f"checkpoint={untrained}", f"pairs={file}", *places(space)]
    output = succeed(*command, f"hydra.run.dir={folder}")
    assert "1 of 2 pairs have no distance" in output
    summary = json.loads((folder / "contrast.json").read_text("utf-8"))
    alone = {"pairs": 1, "value": 50.0, "low": None, "high": None}
    assert summary["accuracy"]["category"]["same"] == alone
    assert list(summary["accuracy"]["distance"]) == ["1"]


def test_mistakes(space, untrained):
    file = space / "wrong.json"
    file.write_text('[{"source": "A"}]')
    command = ["task=contrast", f"checkpoint={untrained}", *places(space)]
    assert "entries.0.reference: Field required" in mistake(*command, f"pairs={file}")
    assert "none.json: does not exist" in mistake(*command, f"pairs={space}/none.json")


def test_a_run_tests_itself_with_the_pairs(space, drawn):
    """``scoring.contrastive`` gives the accuracies of ``task=contrast``, from the kept pairs."""
    folder = space / "scored"
    given = ["data=grammar_tiny", "model=bahdanau", "logger=none", f"hydra.run.dir={folder}"]
    inside(*given, *TINY, *places(space), "scoring.contrastive=true", "scoring.resamples=10000")
    result = read_result(folder)
    assert result is not None
    found = result.contrast
    summary = json.loads((drawn / "contrast.json").read_text("utf-8"))
    assert found["all"]["all"].pairs == len(read_contrast(drawn / "pairs.json", "pairs"))
    for kind in ("all", "category", "distances"):
        for name, accuracy in found[kind].items():
            assert accuracy.value == pytest.approx(
                summary["accuracy"][kind][name]["value"], abs=0.2
            )


def test_a_corpus_without_pairs_is_refused_before_the_training(space, tmp_path):
    for split in ("train", "val", "test"):
        for language in ("en", "fr"):
            (tmp_path / f"{split}.{language}").write_text(f"a {split} b\n" * 3, "utf-8")
    given = ["data=text", f"data.root={tmp_path}", "data.source=en", "data.target=fr"]
    output = mistake(*given, "scoring.contrastive=true", "logger=none", *places(space))
    assert "scoring.contrastive=true: text writes no contrastive pairs" in output
