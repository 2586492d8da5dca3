"""Clauses and templates that a test set has to itself."""

import pytest

from datamodules.grammar import GrammarCorpus
from datamodules.grammar.disjoint import clause_text, template
from datamodules.grammar.languages import find_language
from datamodules.grammar.meaning.phrases import Clause, inner_clauses
from tests.datamodules.grammar.samples import SMALL


def clauses(corpus: GrammarCorpus, name: str, count: int) -> list[Clause]:
    writer = corpus._writer(name)  # type: ignore[arg-type]
    meanings = [writer.pair(5 + number % 30).meaning for number in range(count)]
    return [
        inner
        for meaning in meanings
        for joined in meaning
        for inner in inner_clauses(joined.clause)
    ]


@pytest.mark.long
@pytest.mark.parametrize("source", ["en", "fr"])
def test_clauses_of_the_test_set_are_not_in_training(source):
    target = "fr" if source == "en" else "en"
    language = find_language(source)
    shared = {}
    for disjoint in ("sentences", "clauses"):
        corpus = GrammarCorpus(
            **SMALL, source=source, target=target, disjoint=disjoint, vocabulary=60
        )
        train, test = (
            {clause_text(clause, language) for clause in clauses(corpus, name, count)}
            for name, count in (("train", 3000), ("test", 200))
        )
        shared[disjoint] = len(train & test) / len(test)
    assert shared["clauses"] == 0
    assert shared["sentences"] > 0.01


def test_templates_of_the_test_set_are_not_in_training():
    corpus = GrammarCorpus(**SMALL, disjoint="templates")
    train, test, val = (
        {template(clause) for clause in clauses(corpus, name, count)}
        for name, count in (("train", 2000), ("test", 150), ("val", 150))
    )
    assert not train & test
    assert not train & val
    assert len(test) > 50


@pytest.mark.long
def test_the_shares_are_told():
    arguments = SMALL | {"train_size": 1500, "val_size": 12, "test_size": 60}
    arguments |= {"vocabulary": 60, "zipf": 1.5}
    usual = GrammarCorpus(**arguments).split("train").seen
    assert set(usual) == {"clauses", "templates"}
    assert 0 < usual["clauses"] < usual["templates"] < 1
    assert GrammarCorpus(**arguments, disjoint="clauses").split("train").seen["clauses"] == 0
    assert GrammarCorpus(**arguments, disjoint="templates").split("train").seen["templates"] == 0
