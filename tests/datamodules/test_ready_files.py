"""The files of conf/data for real corpora: they compose, and say what was not tried."""

from typing import Any

import pytest
from omegaconf import OmegaConf

from datamodules.corpus import SPLITS
from datamodules.errors import UserError
from datamodules.huggingface import HuggingFaceCorpus
from datamodules.mixture import MixtureCorpus
from lightning_modules.runs.paths import CONF
from lightning_modules.runs.setting_checks import check_settings
from lightning_modules.training.factories import build_corpus
from tests.helpers.commands import ROOT
from tests.helpers.variants import configuration

datasets = pytest.importorskip("datasets")

OF_HUB = sorted(
    file.stem
    for file in (CONF / "data").glob("*.yaml")
    if "- huggingface" in file.read_text(encoding="utf-8")
)


def test_all_asked_corpora_have_a_file():
    asked = ("iwslt14", "iwslt15", "iwslt17", "wmt14_en_de", "wmt14_en_fr", "europarl", "opus100")
    for name in (*asked, "tatoeba", "multi30k"):
        assert any(file.startswith(name) for file in OF_HUB), name


@pytest.mark.parametrize("name", OF_HUB)
def test_a_ready_file_reads_a_dataset_of_its_shape(name, tmp_path, monkeypatch):
    config = configuration(f"data={name}", f"cache_dir={tmp_path}")
    check_settings(config, [f"data={name}"])
    corpus = build_corpus(config)
    assert isinstance(corpus, HuggingFaceCorpus)
    names = [str(column).split(".") for column in (corpus.columns.source, corpus.columns.target)]
    row: dict[str, Any] = {}
    for name_of, line in zip(names, ("hello", "hallo"), strict=True):
        if len(name_of) == 2:
            row.setdefault(name_of[0], {})[name_of[1]] = line
        else:
            row[name_of[0]] = line
    splits = {asked.partition("[")[0] for asked in corpus.splits.values()}
    table = datasets.Dataset.from_list([row] * 7000)
    monkeypatch.setattr(HuggingFaceCorpus, "_tables", dict.fromkeys(splits, table))
    for split in SPLITS:
        text = corpus.split(split)
        assert set(zip(text.source, text.target, strict=True)) == {("hello", "hallo")}
    if "[" in corpus.splits["train"]:  # the held-out rows are of the same split
        assert sum(len(corpus.split(each)) for each in SPLITS[::2]) <= 7000


@pytest.mark.parametrize("name", OF_HUB)
def test_a_file_that_was_not_tried_says_so(name):
    comment = (CONF / "data" / f"{name}.yaml").read_text(encoding="utf-8")
    assert "Not tried against the real source" in comment
    page = (ROOT / "docs/reference/corpora.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` "))
    assert row.rstrip(" |").endswith("no")


def test_the_mixture_composes(tmp_path):
    config = configuration("data=mixture", "+data@data.corpora.more=grammar_de")
    check_settings(config, ["data=mixture"])
    corpus = build_corpus(config)
    assert isinstance(corpus, MixtureCorpus)
    assert list(corpus.corpora) == ["captions", "news", "more"]


def test_mistakes_inside_a_mixture_name_their_setting():
    for key, value in (("train_max_words", "many"), ("target", "en")):
        config = configuration("data=mixture")
        OmegaConf.update(config, f"data.corpora.news.{key}", value)
        with pytest.raises(UserError, match=r"^data\.corpora\.news"):
            build_corpus(config)
