"""Settings that do not fit each other or the text."""

import pytest

from datamodules.batching import Batching
from datamodules.errors import UserError
from datamodules.text import TextCorpus
from datamodules.tokenization import TokenizerSettings
from datamodules.translation_data import TranslationData
from lightning_modules.building import build_model, check_lengths, check_tags
from tests.variants import configuration, small_model


@pytest.fixture
def data(tmp_path):
    def make(source, kind="words"):
        for split in ("train", "val", "test"):
            (tmp_path / f"{split}.en").write_text(f"{source}\nhe\n")
            (tmp_path / f"{split}.fr").write_text("il dort bien\nlui\n")
        corpus = TextCorpus(tmp_path, "en", "fr")
        settings = TokenizerSettings(kind, 100, 1, False)
        return TranslationData(corpus, settings, Batching(99, 99), None, 1, tmp_path / "cache")

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
    if side is None:
        check_lengths(model, data(source))
        return
    with pytest.raises(UserError, match=rf"^model\.max_length={length}: .* {side} tokens; set"):
        check_lengths(model, data(source))


def test_models_without_a_limit_take_any_text(data):
    check_lengths(small_model("bahdanau"), data("he " * 50))


@pytest.mark.parametrize("kind", ["words", "bpe"])
def test_a_query_by_language_takes_tagged_sources(data, kind):
    config = configuration("model=luong_general", "model.query.language=true")
    check_tags(config, data("<2fr> he sleeps", kind))
    with pytest.raises(UserError, match=r"^model\.query\.language=true: .* <2fr>; [^\n]*$"):
        check_tags(config, data("he sleeps <2fr>", kind))
    check_tags(configuration("model=luong_general"), data("he sleeps", kind))


def test_one_table_takes_one_vocabulary():
    config = configuration("model=transformer", "model.tied=all")
    with pytest.raises(UserError, match=r"^model\.tied=all: .* set tokenizer\.shared=true$"):
        build_model(config, 9, 9)
    config.tokenizer.shared = True
    assert build_model(config, 9, 9).src_embedding.num_embeddings == 9
