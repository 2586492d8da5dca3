"""CTranslate2 against this harness's search, sentence by sentence."""

import builtins
from typing import Any

import pytest
import torch

from datamodules.errors import UserError
from lightning_modules.decoding import Search
from lightning_modules.decoding.ctranslate2_engine import Ctranslate2Engine
from lightning_modules.variants import Ensemble
from tests.helpers.commands import TINY, mistake, places, run, succeed
from tests.helpers.searches import LIMITS as SETTINGS
from tests.helpers.searches import beam_search, greedy_search, sampling_search
from tests.helpers.variants import sentences, small_model

pytest.importorskip("ctranslate2", reason="ctranslate2 is not installed")
LENGTHS = [3, 9, 5, 9, 2, 12]
LIMITS: Any = {"max_ratio": 1.0, "max_extra": 4}
FORMS = {
    "norm_before": [],
    "norm_after": ["model.norm=after"],
    "learned": ["model.positions=learned", "model.max_length=20"],
    "tied": ["model.tied=all"],
    "sizes": ["model.encoder_layers=1", "model.decoder_layers=3"],
}


def peaked(*overrides):
    """A model whose decisions are not close."""
    model = small_model("transformer", *overrides).eval()
    with torch.no_grad():
        model.output.weight.mul_(3)
    return model


@pytest.mark.parametrize("form", FORMS)
def test_greedy_translations_are_the_same_one_by_one(form):
    model, source, search = peaked(*FORMS[form]), sentences(LENGTHS), greedy_search(**LIMITS)
    ours = search(model, *source)
    theirs = Ctranslate2Engine(model, search, max(LENGTHS))(model, *source)
    for [one], [other] in zip(ours, theirs, strict=True):
        assert other.tokens == one.tokens
        assert other.score == pytest.approx(one.score, rel=1e-3, abs=1e-3)
        assert other.weights is None


def test_beams_score_their_hypotheses_alike():
    """The searches may find other hypotheses; the same hypothesis has the same score."""
    model, source = peaked(), sentences(LENGTHS)
    search = beam_search(4, n_best=3, **LIMITS)
    ours = search(model, *source)
    theirs = Ctranslate2Engine(model, search, max(LENGTHS))(model, *source)
    common = 0
    for ranked, others in zip(ours, theirs, strict=True):
        assert len(others) == 3
        assert [other.score for other in others] == sorted(
            (other.score for other in others), reverse=True
        )
        known = {tuple(each.tokens): each.score for each in ranked}
        for other in others:
            if tuple(other.tokens) in known:
                common += 1
                assert other.score == pytest.approx(known[tuple(other.tokens)], rel=1e-3, abs=1e-3)
    assert common >= len(LENGTHS)


def test_integers_are_an_option_there_too():
    search = greedy_search(int8=True, **LIMITS)
    found = Ctranslate2Engine(peaked(), search, max(LENGTHS))(peaked(), *sentences(LENGTHS))
    assert all(len(hypotheses) == 1 for hypotheses in found)


class Own(Search):
    def search(self, model, memory, request, backpointers): ...


@pytest.mark.parametrize(
    ("model", "search", "message"),
    [
        (["bahdanau"], greedy_search(), "one Transformer, not a model Recurrent; set engine=torch"),
        (None, greedy_search(), "one Transformer, not a model Ensemble; set engine=torch"),
        (["transformer"], Own(**SETTINGS), "greedy and beam search alone"),
        (["transformer"], sampling_search(), "greedy and beam search alone"),
        (["transformer"], greedy_search(min_length=3), r"decoding\.min_length=3; set engine=torch"),
        (["transformer"], beam_search(no_repeat_ngram=2), r"decoding\.no_repeat_ngram=2"),
        (["transformer"], beam_search(length="reference"), r"decoding\.length=reference"),
        (["transformer"], beam_search(coverage_penalty=0.2), r"decoding\.coverage_penalty"),
        (["transformer"], beam_search(bf16=True), r"set decoding\.bf16=false"),
        (["transformer", "model.positions=rotary"], beam_search(), "sinusoidal or learned"),
        (["transformer", "model.decoder_positions=alibi"], beam_search(), "sinusoidal or learned"),
        (["transformer", "model.positions=gru"], beam_search(), "sinusoidal or learned"),
        (["transformer", "model.key_size=4"], beam_search(), "needs a model whose keys"),
        (["transformer", "model.encoder_mixer=gru"], beam_search(), "self-attention in each layer"),
        (["transformer", "model.norm=none"], beam_search(), "all its parts"),
        (["transformer", "model.residual=false"], beam_search(), "all its parts"),
        (["transformer", "model.hidden_size=null"], beam_search(), "all its parts"),
        (["transformer", "model.cross_attention=last"], beam_search(), "all its parts"),
    ],
)
def test_what_it_cannot_express_is_refused(model, search, message):
    built = Ensemble([small_model("transformer")]) if model is None else small_model(*model)
    with pytest.raises(UserError, match=f"engine=ctranslate2: .*{message}"):
        Ctranslate2Engine(built, search, 5)


def test_without_the_library_one_line_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def missing(name, *rest):
        if name == "ctranslate2":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(UserError, match=r"pip install 'attention-bench\[ctranslate2\]'"):
        Ctranslate2Engine(small_model("transformer"), greedy_search(), 5)


@pytest.mark.exhaustive
@pytest.mark.long
def test_the_command_translates_with_either_engine(tmp_path):
    trained = tmp_path / "run"
    given = ["model=transformer", "logger=none", *TINY, *places(tmp_path)]
    succeed(*given, f"hydra.run.dir={trained}")
    command = ["task=translate", f"checkpoint={trained}", "decoding=greedy"]
    text = "the old dog sleeps .\n\nthe dog sees the cat .\n"
    ours = run(*command, stdin=text).stdout
    assert run(*command, "engine=ctranslate2", stdin=text).stdout == ours
    assert ours.count("\n") == 3
    error = mistake(*command, "engine=ctranslate2", f"alignments={tmp_path / 'a'}")
    assert "alignments=: engine=ctranslate2 gives no weights" in error
    assert "engine" in mistake(*command, "engine=onnx")
