"""Mixtures: shares, whole passes, order, test sets."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datamodules import mixture
from datamodules.corpus import Corpus, ParallelText, read_parts
from datamodules.errors import UserError
from datamodules.mixture import MixtureCorpus


class Numbered(Corpus):
    """``size`` training pairs ``NAME 0``, ``NAME 1``, … in parts of 7, every fifth left out."""

    source, target = "en", "de"

    def __init__(self, name, size, links=True):
        self.name, self.size, self.links = name, size, links

    def split(self, name):
        return self.text(range(3), name) if name != "train" else self.text(range(self.size), name)

    def parts(self, name):
        for first in range(0, self.size, 7):
            yield self.text(range(first, min(self.size, first + 7)), name)

    def text(self, numbers, split):
        lines = [f"{self.name} {split} {number}" for number in numbers]
        links = ["0-0" for _ in lines] if self.links else None
        return ParallelText(lines, list(map(str.upper, lines)), links, {"empty": len(lines) // 5})


def mixed(sizes, **options):
    corpora: dict[str, Corpus] = {name: Numbered(name, size) for name, size in sizes.items()}
    return MixtureCorpus(corpora, **options)


def counts(text):
    return Counter(line.split()[0] for line in text.source)


@given(
    st.dictionaries(st.sampled_from("abc"), st.integers(1, 40), min_size=1),
    st.none() | st.floats(0.3, 100),
    st.none() | st.integers(1, 300),
    st.integers(1, 60),
)
def test_each_corpus_has_its_share_in_whole_passes(sizes, temperature, size, part):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mixture, "PART", part)
        text = mixed(sizes, temperature=temperature, size=size)
        total = sum(n ** (1 / (temperature or 1)) for n in sizes.values())
        wanted = {
            name: round(n ** (1 / (temperature or 1)) / total * (size or sum(sizes.values())))
            for name, n in sizes.items()
        }
        if not sum(wanted.values()):
            return
        parts = list(read_parts(text, "train"))
    lines = [line for each in parts for line in each.source]
    for name, count in wanted.items():
        read = [line for line in lines if line.startswith(f"{name} ")]
        assert read == [f"{name} train {n % sizes[name]}" for n in range(count)]
    assert all(len(each) <= part + len(sizes) for each in parts)
    for each in parts:  # every part has all corpora in their shares
        for name, count in counts(each).items():
            assert abs(count - wanted[name] / len(parts)) < 1


def test_weights_are_shares_in_any_unit():
    for weights in ({"a": 1, "b": 3}, {"a": 0.25, "b": 0.75}):
        text = mixed({"a": 10, "b": 10}, weights=weights, size=100).split("train")
        assert counts(text) == {"a": 25, "b": 75}


def test_a_high_temperature_makes_the_shares_equal():
    shares = [
        counts(mixed({"a": 10, "b": 90}, temperature=t).split("train"))["a"] for t in (1, 2, 5, 1e9)
    ]
    assert shares == [10, 25, 39, 50]  # 100 / (1 + 9 ** (1 / T))


def test_what_is_left_out_is_told():
    text = mixed({"a": 21, "b": 7}, weights={"a": 1, "b": 1}, size=20).split("train")
    assert text.left_out == {"a: empty": 3, "b: empty": 1, "a: not drawn": 11}
    assert text.alignments == ["0-0"] * 20


def test_links_remain_if_all_corpora_have_links():
    corpora: dict[str, Corpus] = {"a": Numbered("a", 5), "b": Numbered("b", 5, links=False)}
    text = MixtureCorpus(corpora)
    assert text.split("train").alignments is None
    assert text.split("test").alignments is None


def test_validation_is_of_the_first_and_test_of_all():
    text = mixed({"b": 5, "a": 9})
    assert text.split("val").source == ["b val 0", "b val 1", "b val 2"]
    assert text.split("test").sets == {"b": 3, "a": 3}
    assert text.split("test").source[2:4] == ["b test 2", "a test 0"]


def test_several_test_sets_of_one_corpus_keep_their_names():
    class TwoSets(Numbered):
        def split(self, name):
            return ParallelText(["x"] * 3, ["y"] * 3, sets={"old": 1, "new": 2})

    assert MixtureCorpus({"a": TwoSets("a", 5)}).split("test").sets == {"a-old": 1, "a-new": 2}


def test_test_sets_of_one_name_are_refused():
    class Named(Numbered):
        def split(self, name):
            return ParallelText(["x"] * 3, ["y"] * 3, sets={self.name: 3})

    corpora: dict[str, Corpus] = {"a": Named("b-c", 5), "a-b": Named("c", 5)}
    with pytest.raises(UserError, match="two test sets get the name a-b-c; rename a corpus"):
        MixtureCorpus(corpora).split("test")


def test_the_fingerprint_changes_with_corpora_and_shares():
    made = [mixed({"a": 5, "b": 5}), mixed({"a": 5, "b": 6}), mixed({"b": 5, "a": 5})]
    made += [mixed({"a": 5, "b": 5}, **each) for each in ({"temperature": 2}, {"size": 3})]
    made += [mixed({"a": 5, "b": 5}, weights={"a": 1, "b": share}) for share in (1, 2)]
    assert len({each.fingerprint for each in made}) == len(made)
    assert mixed({"a": 5, "b": 5}).fingerprint == made[0].fingerprint


class French(Numbered):
    target = "fr"


class Broken(Numbered):
    def parts(self, name):
        raise UserError("/x/data.en is empty: set data.root=... or data.files")


@pytest.mark.parametrize(
    ("corpora", "options", "message"),
    [
        ({}, {}, "data.corpora: has no corpus"),
        ({"a": 3}, {}, "data.corpora.a: is not a corpus"),
        ({"a": Numbered("a", 1), "b": French("b", 1)}, {}, r"differ \(a en-de, b en-fr\)"),
        (
            {"a": Numbered("a", 1)},
            {"weights": {"b": 1}},
            "data.weights: has b, but the corpora are a",
        ),
        ({"a": Numbered("a", 1)}, {"weights": {"a": 1}, "temperature": 2}, "leave one out"),
        (
            {"a": Broken("a", 1)},
            {},
            r"/x/data.en is empty: set data.corpora.a.root=... or data.corpora.a.files",
        ),
    ],
)
def test_mistakes_are_told_in_one_line(corpora, options, message):
    with pytest.raises(UserError, match=message):
        MixtureCorpus(corpora, **options).split("train")
