"""Test sets by name, and gold alignments beside a test set."""

import io
from pathlib import Path
from typing import Any

import pytest
from sacrebleu.dataset import DATASETS

from datamodules.corpus import ParallelText, read_split
from datamodules.errors import UserError
from datamodules.text import TextCorpus

SETS = (["test"], ["test", "news"], ["news", "test"])


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refused(*_args, **_options):
        raise OSError("no network")

    monkeypatch.setattr("urllib.request.urlopen", refused)


@pytest.fixture
def root(tmp_path):
    for name, count in {"train": 4, "val": 1, "test": 2, "news": 3}.items():
        for language in ("en", "de"):
            lines = "".join(f"{name} {language} {n}\n" for n in range(count))
            (tmp_path / f"{name}.{language}").write_text(lines)
    (tmp_path / "sets").mkdir()
    return tmp_path


def corpus(root, **options):
    return TextCorpus(root, "en", "de", **options)


def refusal(root, **options):
    with pytest.raises(UserError) as caught:
        corpus(root, **options).split("test")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def put_wmt13(folder):
    """The files of sacreBLEU's wmt13 as sacreBLEU leaves them."""
    (folder / "wmt13").mkdir(parents=True)
    for field, line in {"src": "hello", "ref": "hallo", "docid": "a", "genre": "b"}.items():
        (folder / f"wmt13/wmt13.en-de.{field}").write_text(f"{line}\n{line} 2\n")
    (folder / "wmt13/wmt13.en-de.origlang").write_text("en\nen\n")
    return folder


def test_a_single_test_split_has_no_name(root):
    assert corpus(root).split("test").sets == {}
    assert corpus(root, files={"test": "news"}).split("test").sets == {}


def test_several_files_are_several_test_sets(root):
    text = corpus(root, files={"test": ["news", "test"]}).split("test")
    assert text.sets == {"news": 3, "test": 2}
    assert text.source == ["news en 0", "news en 1", "news en 2", "test en 0", "test en 1"]
    assert corpus(root, files={"train": ["news", "test"]}).split("train").sets == {}
    assert "news.en is given twice" in refusal(root, files={"test": ["news", "news"]})
    assert "the test set news is given twice" in refusal(root, test_sets=["news", "news"])


@pytest.mark.parametrize(
    "options", [{"test_sets": ["sub/news", "test"]}, {"files": {"test": ["sub/*", "test"]}}]
)
def test_names_of_sets_are_names_of_files(root, options):
    (root / "sub").mkdir()
    for language in ("en", "de"):
        (root / f"news.{language}").rename(root / f"sub/news.{language}")
    assert read_split(corpus(root, **options), "test").sets == {"sub-news": 3, "test": 2}


def test_sets_whose_names_become_the_same_are_refused(root):
    (root / "a").mkdir()
    for language in ("en", "de"):
        for name in ("a/b", "a-b"):
            (root / f"{name}.{language}").write_text("dog\n")
    assert "the test set a-b is given twice" in refusal(root, test_sets=["a/b", "a-b"])


def test_a_name_that_no_file_may_have_is_refused_when_the_text_is_read(root, monkeypatch):
    text = corpus(root)
    monkeypatch.setattr(text, "split", lambda _: ParallelText(["a"], ["b"], sets={"a/b": 1}))
    with pytest.raises(UserError, match="a set is named 'a/b'; give letters"):
        read_split(text, "test")


def test_names_and_their_order_change_the_fingerprint(root):
    options: list[dict[str, Any]] = [{}, *({"test_sets": each} for each in SETS)]
    options.append({"files": {"test": ["news", "test"]}})
    assert len({corpus(root, **each).fingerprint for each in options}) == 4  # the last two are one


def test_sets_are_those_of_a_folder_or_of_sacrebleu(root, tmp_path):
    folder = put_wmt13(tmp_path / "sets")
    names = ["news", "newstest2013", "wmt13"]
    text = corpus(root, test_sets=names, test_sets_folder=folder).split("test")
    assert text.sets == {"news": 3, "newstest2013": 2, "wmt13": 2}
    assert text.target[3:5] == ["hallo", "hallo 2"]


def test_the_split_test_need_not_be_there(root):
    for language in ("en", "de"):
        (root / f"test.{language}").unlink()
    assert corpus(root, test_sets=["news"]).split("test").sets == {"news": 3}


def test_sacrebleu_writes_the_text_of_an_unpacked_archive(root, tmp_path):
    raw = tmp_path / "sets/multi30k/2016/raw"
    raw.mkdir(parents=True)
    dataset = DATASETS["multi30k/2016"]
    [url] = dataset.data or []
    (raw / dataset._get_tarball_filename(url)).write_bytes(b"not read again")
    (raw / "test_2016_flickr.en").write_text("a dog\n")
    (raw / "test_2016_flickr.de").write_text("ein Hund\n")
    options = {"test_sets": ["multi30k/2016"], "test_sets_folder": tmp_path / "sets"}
    text = corpus(root, **options).split("test")
    assert (text.source, text.target) == (["a dog"], ["ein Hund"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("newstest2041", "no test set newstest2041, neither as files nor in sacreBLEU"),
        ("wmt14ful", "did you mean wmt14/full"),
        (
            "newstest2014",
            "newstest2014 cannot be fetched from https://statmt.org/wmt14/test-filter",
        ),
        ("wmt14/full", "test-full.tgz (no network): try again with a network"),
        ("wmt20/robust/set1", "cannot be fetched"),
        ("mtnt2019", "is not there for en-de; sacreBLEU has it for en-fr, en-ja, fr-en, ja-en"),
    ],
)
def test_what_is_not_there_is_told_in_one_line(root, tmp_path, name, message):
    assert message in refusal(root, test_sets=[name], test_sets_folder=tmp_path / "sets")


def test_newstest2015_is_no_discussion(root):
    """sacreBLEU's wmt15 from English to French is another test set, newsdiscusstest2015."""
    for name in ("train", "val", "test"):
        (root / f"{name}.de").rename(root / f"{name}.fr")
    with pytest.raises(
        UserError, match="newstest2015 is not there for en-fr; sacreBLEU has it for cs"
    ):
        TextCorpus(root, "en", "fr", test_sets=["newstest2015"]).split("test")


def test_a_wrong_download_is_not_kept(root, tmp_path, monkeypatch):
    monkeypatch.setattr("urllib.request.urlopen", lambda _: io.BytesIO(b"an error page"))
    options = {"test_sets": ["wmt13"], "test_sets_folder": tmp_path / "sets"}
    assert "its checksum is wrong" in refusal(root, **options)
    assert not list((tmp_path / "sets").rglob("*.tgz"))


def test_a_corpus_with_wrong_sets_is_refused():
    class Wrong(TextCorpus):
        def split(self, name):
            return ParallelText(["a"], ["b"], sets={"one": 2})

    with pytest.raises(UserError, match="has 1 sentences, but its test sets have 2"):
        read_split(Wrong(Path("x"), "en", "de"), "test")


def test_gold_links_follow_their_pairs(root):
    (root / "links").write_text("0-0 1-1\n\n0?2\n")
    (root / "news.en").write_text("news en 0\nnews en 1 with more words\nnews en 2\n")
    options = {"files": {"test": "news"}, "alignments": {"test": root / "links"}}
    text = corpus(root, **options).split("test")
    assert text.alignments == ["0-0 1-1", "", "0?2"]
    text = corpus(root, **options, test_max_words=3).split("test")
    assert (text.alignments, len(text)) == (["0-0 1-1", "0?2"], 2)
    assert corpus(root, **options).split("train").alignments is None


def test_gold_links_change_the_fingerprint(root):
    fingerprints = {corpus(root).fingerprint}
    for content in ("0-0\n0-0\n", "0-0\n1-1\n"):
        (root / "links").write_text(content)
        fingerprints.add(corpus(root, alignments={"test": root / "links"}).fingerprint)
    assert len(fingerprints) == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0-0\n", "links has 1 lines, but the test split has 2 pairs"),
        ("0-0\n0-0\n0-0\n", "links has 3 lines, but the test split has 2 pairs"),
        ("0-0\n0-3\n", "links, line 2: 0-3 points past its sentence pair (3 source and 3 target"),
        ("0-0\n0:1\n", "links, line 2: '0:1' is not a link like 0-0 or 1?2"),
        ("", "links is empty"),
    ],
)
def test_wrong_gold_links_are_refused_in_one_line(root, content, message):
    (root / "links").write_text(content)
    assert message in refusal(root, alignments={"test": root / "links"})


def test_missing_gold_links(root):
    assert "data.alignments.test" in refusal(root, alignments={"test": root / "nowhere"})


@pytest.mark.parametrize("cache", [None, "cache"])
@pytest.mark.parametrize(("name", "why"), [("nowhere", "No such file"), ("folder", "directory")])
def test_the_fingerprint_needs_the_links(root, cache, name, why):
    (root / "folder").mkdir()
    links = {"test": root / name}
    with pytest.raises(UserError, match=rf"{name} cannot be read \(.*{why}.*data.alignments.test"):
        _ = corpus(root, alignments=links, cache_dir=cache and root / cache).fingerprint


def test_the_folder_of_test_sets_must_be_there(root):
    message = refusal(root, test_sets=["wmt13"], test_sets_folder=root / "nope")
    assert (
        message
        == f"data.test_sets_folder={root / 'nope'}: does not exist; give a folder or make it"
    )
    assert not (root / "nope").exists()


def test_a_test_set_may_have_several_references(root, tmp_path):
    (root / "test.de").rename(root / "test.de.0")
    (root / "test.de.1").write_text("second 0\n \n")
    (root / "test.de.2").write_text("third 0\nthird 1\n")
    text = corpus(root).split("test")
    assert text.target == ["test de 0", "test de 1"]
    assert text.further_references == [["second 0", "third 0"], [" ", "third 1"]]
    before = corpus(root).fingerprint
    (root / "test.de.2").write_text("third 0\nchanged\n")
    assert corpus(root).fingerprint != before
    folder = put_wmt13(tmp_path / "sets")
    together = corpus(root, test_sets=["wmt13", "test"], test_sets_folder=folder).split("test")
    assert together.further_references == [
        [], [], ["second 0", "third 0"], [" ", "changed"],
    ]  # fmt: skip
    assert together.pairs(1, 3).further_references == [[], ["second 0", "third 0"]]
    limited = corpus(root, test_max_words=3).split("test")
    assert limited.further_references == [["second 0", "third 0"], [" ", "changed"]]
    assert corpus(root).split("val").further_references is None
    (root / "test.de.2").write_text("third 0\n")
    assert "test.de.2 has 1 lines but" in refusal(root)
