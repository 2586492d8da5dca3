"""The files of conf/condition: whole conditions of a paper's text, for any corpus."""

import re

import pytest
from omegaconf import DictConfig

from datamodules.corpus import Corpus
from lightning_modules.runs.paths import CONF
from lightning_modules.runs.setting_checks import check_settings
from lightning_modules.training.factories import build_corpus
from tests.helpers.commands import mistake, places
from tests.helpers.variants import configuration

CONDITIONS = {  # most words of a training sentence, kind and size of a vocabulary, shared
    "bahdanau2015_30": (30, "words", 30_004, False),
    "bahdanau2015_50": (50, "words", 30_004, False),
    "luong2015": (50, "words", 50_004, False),
    "sutskever2014": (None, "words", 80_004, False),
    "vaswani2017": (None, "bpe", 37_000, True),
}
CORPORA = sorted({file.stem for file in (CONF / "data").glob("*.yaml")} - {"mixture"})
GIVEN = ["data.root=.", "data.source=en", "data.target=de"]
HUB = ["data.path=x/y", "data.columns={source: a, target: b}", *GIVEN[1:]]
NEEDED = {"text": GIVEN, "huggingface": HUB}


def composed(*overrides: str) -> DictConfig:
    config = configuration(*overrides)
    check_settings(config, overrides)
    return config


def test_every_file_is_a_condition_with_its_source():
    files = sorted((CONF / "condition").glob("*.yaml"))
    assert [file.stem for file in files] == sorted(CONDITIONS)
    for file in files:
        assert re.search(r"arXiv \d{4}\.\d{4,5}\), sections? \d", file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("name", CONDITIONS)
def test_one_override_sets_the_text_of_any_corpus(name, corpus):
    config = composed(f"data={corpus}", *NEEDED.get(corpus, []), "cleaning=none",
                      f"condition={name}")  # fmt: skip
    kind = config.tokenizer
    found = (config.data.train_max_words, kind.kind, kind.vocabulary_size, kind.shared)
    assert found == CONDITIONS[name]
    plain = composed(f"data={corpus}", *NEEDED.get(corpus, []))
    assert config.cleaning == plain.cleaning
    plain.data.train_max_words = config.data.train_max_words
    assert config.data == plain.data


def test_an_override_beside_a_condition_counts():
    config = composed("condition=luong2015", "tokenizer=bpe", "data.train_max_words=70")
    assert (config.tokenizer.kind, config.data.train_max_words) == ("bpe", 70)


@pytest.mark.parametrize("name", CONDITIONS)
def test_the_limit_reaches_the_corpus(name, tmp_path):
    for split in ("train", "val", "test"):
        for side in ("en", "de"):
            lines = "".join(f"{'a ' * words}\n" for words in (30, 31, 50, 51, 60))
            (tmp_path / f"{split}.{side}").write_text(lines)
    given = ["data=text", f"data.root={tmp_path}", *GIVEN[1:], f"cache_dir={tmp_path}"]
    corpus: Corpus = build_corpus(composed(*given, f"condition={name}"))
    most = CONDITIONS[name][0]
    lengths = [len(line.split()) for line in corpus.split("train").source]
    assert lengths == [length for length in (30, 31, 50, 51, 60) if most is None or length <= most]
    assert len(corpus.split("test")) == 5


def test_a_mixture_refuses_the_limit_of_a_condition(tmp_path):
    """Each of its corpora has a limit of its own."""
    mixed = ["data=mixture", "~data.corpora.captions", "~data.corpora.news"]
    mixed += [f"+data@data.corpora.{name}=grammar_tiny" for name in ("one", "other")]
    line = mistake(*mixed, "condition=luong2015", *places(tmp_path))
    assert "data.train_max_words=50" in line
