"""A training starts from the weights of another run as far as they fit; parts may be frozen."""

import pytest
import torch
from omegaconf import OmegaConf

from datamodules.tokenization import SPECIALS, Tokenizers, Words
from lightning_modules.training.first_weights import Source, freeze, take_weights
from tests.helpers.commands import TINY, in_process, mistake, places
from tests.helpers.refusals import refused
from tests.helpers.run_folders import result_of
from tests.helpers.variants import small_model

HERE, THERE = "a b c d e f", "f x c a y"
"""Words of two vocabularies of the target, which share a, c and f."""
CONFIG = OmegaConf.create({"init_from": "a-run"})
SETTINGS = [
    *(given for given in TINY if not given.startswith("budget")),
    *["model=bahdanau", "budget=updates", "budget.updates=4", "logger=none"],
    *["scoring.resamples=100", "scoring.metrics=[bleu]"],
]


def vocabulary(words: str) -> Words:
    return Words.train([words], 100, 1)


def taken(monkeypatch, ours: str = HERE, theirs: str = THERE, *overrides: str):
    """Return a model, the weights that it took from another, those it had, and the record."""
    own, other = (vocabulary(words) for words in (ours, theirs))
    model = small_model("bahdanau", *overrides, vocabulary=len(own))
    there = small_model("bahdanau", vocabulary=len(other)).state_dict()
    given = {name: 3 * tensor for name, tensor in there.items()}
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    source = Source(given, Tokenizers(other, other))
    monkeypatch.setattr("lightning_modules.training.first_weights.read_source", lambda path: source)
    record = take_weights(model, Tokenizers(own, own), CONFIG)
    return model.state_dict(), given, before, record


def test_tables_take_the_rows_of_the_tokens_that_both_have(monkeypatch, caplog):
    caplog.set_level("INFO")
    now, given, before, record = taken(monkeypatch)
    own, other = vocabulary(HERE).numbers, vocabulary(THERE).numbers
    shared = {own[piece]: other[piece] for piece in own.keys() & other.keys()}
    shared |= {number: number for number in range(len(SPECIALS))}
    for name in ("src_embedding.weight", "tgt_embedding.weight", "output.weight", "output.bias"):
        for row in range(len(now[name])):
            wanted = given[name][shared[row]] if row in shared else before[name][row]
            assert torch.equal(now[name][row], wanted), (name, row)
        assert record.tokens[name] == (7, 10)
    for name in now.keys() - record.tokens.keys():
        assert torch.equal(now[name], given[name]), name
    assert (record.taken, record.at_random, record.left) == (len(now), [], [])
    [line] = caplog.messages
    assert "src_embedding.weight for 7 of 10 tokens" in line


def test_what_does_not_fit_is_named(monkeypatch, caplog):
    caplog.set_level("INFO")
    other = ["model.attention.score=general", "model.layers=2"]
    now, given, before, record = taken(monkeypatch, HERE, THERE, *other)
    fits = {name for name in now.keys() & given.keys() if now[name].shape == given[name].shape}
    fits |= record.tokens.keys()
    assert record.at_random == sorted(now.keys() - fits)
    assert record.left == sorted(given.keys() - fits)
    assert "attention.score.energy.weight" in record.left
    assert record.at_random
    for name in record.at_random:
        assert torch.equal(now[name], before[name])
    assert f"at random: {record.at_random[0]}" in caplog.text


def test_equal_weights_have_equal_fingerprints(monkeypatch):
    _, given, _, record = taken(monkeypatch)
    tokenizers = Tokenizers(vocabulary(HERE), vocabulary(HERE))
    assert Source({**given}, tokenizers).fingerprint == record.fingerprint
    changed = {name: tensor.clone() for name, tensor in given.items()}
    changed["output.bias"][0] += 1
    assert Source(changed, tokenizers).fingerprint != record.fingerprint


@pytest.mark.parametrize(
    ("pattern", "frozen"),
    [
        ("encoder", lambda name: name.startswith("encoder.")),
        ("*embedding*", lambda name: "embedding" in name),
        ("output.bias", lambda name: name == "output.bias"),
    ],
)
def test_patterns_name_what_is_frozen(pattern, frozen):
    model = small_model("bahdanau")
    freeze(model, [pattern])
    for name, parameter in model.named_parameters():
        assert parameter.requires_grad != frozen(name), name


def test_patterns_that_freeze_nothing_or_all_are_refused():
    model = small_model("bahdanau")
    with refused("freeze=encoderr: fits no parameter of this model; its names are ", " and "):
        freeze(model, ["encoderr"])
    with refused("freeze=[*]: leaves nothing to train; freeze less"):
        freeze(model, ["*"])


@pytest.fixture(scope="module")
def run(space):
    assert in_process(*SETTINGS, *places(space), f"hydra.run.dir={space}/first/run") == 0
    return space / "first" / "run"


def weights(run):
    content = torch.load(run / "checkpoints" / "last.ckpt", weights_only=True)
    return content["state_dict"]


@pytest.mark.long
def test_frozen_parts_keep_the_weights_of_another_corpus(space, run):
    folder = space / "second" / "run"
    given = [f"init_from={run}", "freeze=[encoder]", "data.seed=9", f"hydra.run.dir={folder}"]
    assert in_process(*SETTINGS, *places(space), *given) == 0
    here, there = weights(folder), torch.load(run / "checkpoints" / "best.ckpt")["state_dict"]
    for name in here:
        if name.startswith("model.encoder."):
            assert torch.equal(here[name], there[name]), name
    record, first = result_of(folder), result_of(run)
    assert record.first_weights is not None
    assert record.first_weights.run == str(run)
    assert (record.parameters or 0) < (first.parameters or 0)
    assert not torch.equal(here["model.output.weight"], there["model.output.weight"])
    before = (folder / "result.json").read_bytes()
    assert in_process(*SETTINGS, *places(space), *given) == 0
    assert (folder / "result.json").read_bytes() == before


@pytest.mark.long
@pytest.mark.parametrize(
    ("given", "line"),
    [
        (["init_from=nowhere"], "init_from=nowhere: does not exist in "),
        (["continue=nowhere", "scheduler=constant"], "continue=nowhere: does not exist in "),
        (["init_from=EMPTY"], "best.ckpt does not exist; give the folder of a finished run"),
        (["continue=EMPTY", "scheduler=constant"], "last.ckpt does not exist; give the folder"),
        (["continue=EMPTY"], "scheduler ends with the budget, so that nothing can follow; give"),
        (["continue=EMPTY", "init_from=EMPTY"], "leave one of them out"),
        (["freeze=[nothing]"], "freeze=nothing: fits no parameter of this model; its names are "),
    ],
)
def test_bad_input_ends_in_a_line(tmp_path, given, line):
    given = [each.replace("EMPTY", str(tmp_path)) for each in given]
    assert line in mistake(*SETTINGS, *places(tmp_path), *given)
