"""Settings that do not fit each other or the text."""

from functools import partial

import pytest
import torch

from datamodules.corpus import SPLITS
from datamodules.errors import UserError
from datamodules.text import TextCorpus
from datamodules.tokenization import TokenizerSettings
from datamodules.translation_data import TranslationData
from lightning_modules.training.factories import (
    build,
    build_corpus,
    build_model,
    build_optimizer,
    check_callbacks,
    check_lengths,
    check_tags,
)
from lightning_modules.variants import EmbeddedEncoderDecoder
from tests.helpers.data_settings import NO_CLEANING, batch_sizes
from tests.helpers.variants import configuration, small_model


@pytest.fixture
def data(tmp_path):
    def make(source, kind="words", **other):
        """Build data with two sentences a split; ``other`` replaces the second of some splits."""
        for split in SPLITS:
            lines = f"{source}\n{other.get(split, source)}\n"
            (tmp_path / f"{split}.en").write_text(lines)
            (tmp_path / f"{split}.fr").write_text("il dort bien\nlui\n")
        corpus = TextCorpus(tmp_path, "en", "fr")
        settings = TokenizerSettings(kind, 100, 1, False)
        return TranslationData(
            corpus, NO_CLEANING, settings, batch_sizes(99, 99), None, 1, tmp_path / "cache"
        )

    return make


@pytest.mark.parametrize(
    ("length", "source", "side"),
    [
        (5, "he sleeps very well", None),
        (4, "he sleeps very well", "source has 5"),
        (3, "he", "target has 4"),
    ],
)
def test_text_longer_than_the_model_knows_positions(data, length, source, side):
    model = small_model("transformer", "model.positions=learned", f"model.max_length={length}")
    text = data(source).encoded_corpus.encoded
    if side is None:
        check_lengths(model, text)
        return
    wanted = rf"^model\.max_length={length}: .* {side} tokens \(sentence \d of those kept\); train"
    with pytest.raises(UserError, match=wanted):
        check_lengths(model, text)


@pytest.mark.parametrize("split", SPLITS)
def test_no_split_may_be_longer_than_the_model_knows_positions(data, split):
    text = data("he", **{split: "he sleeps very well"}).encoded_corpus.encoded
    check_lengths(small_model("luong_location", "model.attention.max_length=5"), text)
    model = small_model("luong_location", "model.attention.max_length=4")
    with pytest.raises(UserError) as caught:
        check_lengths(model, text)
    assert str(caught.value) == (
        f"model.attention.max_length=4: the longest {split} source has 5 tokens "
        "(sentence 2 of those kept); train with model.attention.max_length=5 or more, or shorten "
        "the text"
    )


def test_models_without_a_limit_take_any_text(data):
    check_lengths(small_model("bahdanau"), data("he " * 50).encoded_corpus.encoded)


@pytest.mark.parametrize("kind", ["words", "bpe"])
def test_a_query_by_language_takes_tagged_sources(data, kind):
    config = configuration("model=luong_general", "model.query.language=true")
    check = partial(checked_tags, config)
    check(data("<2fr> he sleeps", kind))
    with pytest.raises(
        UserError, match=r"=true: 2 of 2 train sources do not [^\n]* <2fr>; [^\n]*$"
    ):
        check(data("he sleeps <2fr>", kind))
    checked_tags(configuration("model=luong_general"), data("he sleeps", kind))


def checked_tags(config, made):
    check_tags(config, made.tokenizers.source, made.encoded_corpus.encoded)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("other", ["he sleeps", "he <2fr>", "<2de> he"])
def test_every_source_needs_a_tag_that_training_knows(data, split, other):
    config = configuration("model=luong_general", "model.query.language=true")
    made = data("<2fr> he sleeps", **{split: other})
    if split == "train" and other == "<2de> he":
        checked_tags(config, made)
        return
    with pytest.raises(UserError, match=rf"^model\.query\.language=true: 1 of 2 {split} sources "):
        checked_tags(config, made)


def test_one_table_takes_one_vocabulary():
    config = configuration("model=transformer", "model.tied=all")
    with pytest.raises(UserError, match=r"^model\.tied=all: .* set tokenizer\.shared=true$"):
        build_model(config, 9, 9)
    config.tokenizer.shared = True
    model = build_model(config, 9, 9)
    assert isinstance(model, EmbeddedEncoderDecoder)
    assert model.src_embedding.num_embeddings == 9


@pytest.mark.parametrize(
    ("overrides", "fused"),
    [
        ([], True),
        (["trainer.precision=bf16-mixed"], True),
        (["trainer.precision=16-mixed"], False),
        (["trainer.precision=16"], False),
        (["trainer.precision=16-mixed", "optimizer.fused=true"], True),
        (["optimizer.fused=false"], False),
    ],
)
def test_adam_is_fused_unless_float16_or_the_user_wants_otherwise(overrides, fused):
    parameters = [torch.nn.Parameter(torch.zeros(1))]
    optimizer = build_optimizer(configuration(*overrides))(parameters)
    assert optimizer.defaults["fused"] is fused


@pytest.mark.parametrize("name", ["sgd", "adadelta"])
def test_other_optimizers_are_made_as_torch_makes_them(name):
    parameters = [torch.nn.Parameter(torch.zeros(1))]
    overrides = [f"optimizer={name}", "trainer.precision=16-mixed"]
    assert not build_optimizer(configuration(*overrides))(parameters).defaults.get("fused")


OWN = """
from datamodules.corpus import Corpus
from lightning_modules.variants import Recurrent
from pytorch_lightning.callbacks import Callback

class Part:
    def __init__(self, *_, **__):
        {}["width"]

class Variant(Part, Recurrent): ...
class Text(Part, Corpus):
    def split(self, name): ...
class Watch(Part, Callback): ...
"""


@pytest.mark.parametrize(
    ("override", "make"),
    [
        ("model._target_=own_parts.Variant", lambda config: build_model(config, 9, 9)),
        ("data._target_=own_parts.Text", build_corpus),
        (
            "+callbacks.mine._target_=own_parts.Watch",
            lambda config: build(config, "callbacks.mine"),
        ),
        ("+callbacks.mine._target_=broken_parts.Watch", check_callbacks),
    ],
)
def test_an_error_inside_the_users_class_is_told_with_override_file_and_line(
    override, make, tmp_path, monkeypatch
):
    (tmp_path / "own_parts.py").write_text(OWN)
    (tmp_path / "broken_parts.py").write_text("\n" * 7 + "{}['width']\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError) as caught:
        make(configuration("model=bahdanau", override))
    file = override.partition("=")[2].partition(".")[0]
    line = f"{override.removeprefix('+')}: {file}.py, line 8: KeyError: 'width'"
    assert str(caught.value) == line
