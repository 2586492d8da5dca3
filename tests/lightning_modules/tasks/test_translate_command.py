"""``task=translate``: lines in chunks, limits with line numbers, what is said at the end."""

import io
import logging
import os
from threading import Thread
from types import SimpleNamespace

import pytest

from datamodules.errors import UserError
from lightning_modules.runs.job import search_in_words
from lightning_modules.tasks import progress, translate
from lightning_modules.tasks.progress import sentence_count
from lightning_modules.tasks.translate import read_chunks
from tests.helpers.commands import TINY, inside, mistake, places, write

LINES = ["The cat sleeps.", "", "Paul sees a dog."]


@pytest.fixture(scope="module")
def trained(space):
    folder = space / "run"
    inside(*TINY, *places(space), "logger=none", "decoding=greedy", f"hydra.run.dir={folder}")
    return folder


def translated(trained, tmp_path, lines, *given):
    source = write(tmp_path / "in", lines)
    inside("task=translate", f"checkpoint={trained}", f"input={source}",
           f"output={tmp_path}/out", *given)  # fmt: skip
    return (tmp_path / "out").read_text(encoding="utf-8").split("\n")[:-1]


def test_a_chunk_is_what_waits(monkeypatch):
    """Each line is there before the next is sent, and half a line waits for its other half."""
    out, into = os.pipe()
    with os.fdopen(out, "rb") as stream, os.fdopen(into, "wb", buffering=0) as sender:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=stream))
        chunks = read_chunks("-")
        sender.write(b"\n")
        assert next(chunks) == [""]
        sender.write("a\nb é".encode())
        assert next(chunks) == ["a"]
        sender.write(b"c\n")
        assert next(chunks) == ["b éc"]
        sender.write(b"no end")
        sender.close()
        assert list(chunks) == [["no end"]]


def test_chunks_have_all_lines_in_order(monkeypatch):
    lines = [f"line {number}" for number in range(50)]
    monkeypatch.setattr(translate, "CHUNK", 7)
    monkeypatch.setattr(translate, "READ", 30)
    content = io.BytesIO("\n".join(lines).encode())
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=content))
    chunks = list(read_chunks("-"))
    assert [line for chunk in chunks for line in chunk] == lines
    assert 7 <= max(map(len, chunks)) <= 12


def test_an_empty_input_is_refused(monkeypatch):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO()))
    with pytest.raises(UserError, match="standard input is empty"):
        next(read_chunks("-"))


def test_chunks_of_any_size_translate_alike(trained, tmp_path, monkeypatch, capsys):
    lines = [*LINES, "A zebra saw the moon and the house.", "", "She sings."]
    whole = translated(trained, tmp_path, lines)
    said = capsys.readouterr().err
    assert "6 lines translated in" in said
    assert "by GreedySearch (max_ratio 0.5, max_extra 5)" in said
    monkeypatch.setattr(translate, "CHUNK", 2)
    assert translated(trained, tmp_path, lines) == whole
    assert [line == "" for line in whole] == [line == "" for line in lines]


def test_a_pipe_is_read_once(trained, tmp_path):
    """As ``input=<(zcat in.gz)`` and ``input=/dev/stdin`` give one."""
    os.mkfifo(tmp_path / "pipe")
    content = "".join(f"{line}\n" for line in LINES)
    sender = Thread(target=(tmp_path / "pipe").write_text, args=(content,), daemon=True)
    sender.start()
    inside("task=translate", f"checkpoint={trained}", f"input={tmp_path}/pipe",
           f"output={tmp_path}/piped")  # fmt: skip
    translated(trained, tmp_path, LINES)
    assert (tmp_path / "piped").read_bytes() == (tmp_path / "out").read_bytes()


def test_several_translations_have_numbers_also_of_blank_lines(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(translate, "CHUNK", 2)
    several = ["decoding=beam", "decoding.n_best=2", "decoding.max_extra=2"]
    found = translated(trained, tmp_path, LINES, *several)
    assert [line.split(" ||| ")[0] for line in found] == ["0", "0", "2", "2"]
    assert translated(trained, tmp_path, ["", ""], *several) == []
    assert translated(trained, tmp_path, [""]) == [""]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "line 3: has 2,101 tokens, more than max_line_tokens=2000: split the line, or give "
             "max_line_tokens=2101"),
        (["max_line_tokens=9"], "line 2: has 12 tokens, more than max_line_tokens=9"),
        (["batching.decode_max_tokens=11"], "line 2: has 12 tokens, more than "
                                            "batching.decode_max_tokens=11"),
    ],
)  # fmt: skip
def test_a_long_line_is_refused_before_any_is_translated(trained, tmp_path, given, words):
    source = write(tmp_path / "in", ["a", "cat " * 11, "cat " * 2100])
    files = [f"input={source}", f"output={tmp_path}/out"]
    assert words in mistake("task=translate", f"checkpoint={trained}", *files, *given)
    assert not (tmp_path / "out").exists()


def test_text_of_which_each_line_has_unknown_words_is_reported(trained, tmp_path, capsys):
    warning = "each of the 2 lines has a word that the source vocabulary lacks, such as “Zq”"
    translated(trained, tmp_path, ["Zq sleeps.", "", "The qqq."])
    assert warning in capsys.readouterr().err
    translated(trained, tmp_path, ["Zq sleeps.", "The man and the woman."])
    assert "lacks" not in capsys.readouterr().err


def test_sentences_are_counted_in_lines_without_a_terminal(monkeypatch, caplog):
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(progress, "EVERY_SECONDS", 0.0)
    with sentence_count("translating", 1_200) as advance:
        advance(1_000)
    with sentence_count("translating", None) as advance:
        advance(3)
        advance(4)
    with sentence_count("translating", 9, "lines") as advance:
        advance(8)
    assert caplog.messages == [
        "translating: 1,000 of 1,200 sentences",
        "translating: 3 sentences",
        "translating: 7 sentences",
        "translating: 8 of 9 lines",
    ]


def test_a_search_in_words():
    beam = {"_target_": "my.Beam", "beam_size": 4, "length_penalty": 0, "int8": False, "x": None}
    assert search_in_words(beam) == "Beam (beam_size 4, length_penalty 0)"
    assert search_in_words({"search": "GreedySearch", "seconds": 1.0}) == "GreedySearch"


def test_each_translation_begins_with_its_prefix(trained, tmp_path):
    lines = [*LINES, "She sings."]
    plain = translated(trained, tmp_path, lines, "decoding=greedy")
    prefixes = ["le", "ignored", "", "le le"]
    prefix = write(tmp_path / "prefix", prefixes)
    for search in ("greedy", "beam", "sampling", "diverse"):
        found = translated(trained, tmp_path, lines, f"prefix={prefix}", f"decoding={search}")
        assert found[1] == ""
        for line, begun in zip(found, prefixes, strict=True):
            assert not line or line.startswith(begun)
        if search == "greedy":
            assert found[2] == plain[2]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["le"], "ends after line 1, before the input does"),
        (["le"] * 4, "has more lines than the input, which has 3"),
    ],
)
def test_a_prefix_stands_on_each_line(trained, tmp_path, lines, words):
    files = [f"input={write(tmp_path / 'in', LINES)}", f"output={tmp_path}/out"]
    prefix = write(tmp_path / "prefix", lines)
    line = mistake("task=translate", f"checkpoint={trained}", *files, f"prefix={prefix}")
    assert f"prefix={prefix}: {words}" in line
    assert not (tmp_path / "out").exists()


def test_a_prefix_has_no_unknown_words(trained, tmp_path, monkeypatch):
    """Not even in a line that the second chunk reads."""
    monkeypatch.setattr(translate, "CHUNK", 2)
    files = [f"input={write(tmp_path / 'in', LINES)}", f"output={tmp_path}/out"]
    prefix = write(tmp_path / "prefix", ["le", "", "le Zq le"])
    line = mistake("task=translate", f"checkpoint={trained}", *files, f"prefix={prefix}")
    assert f"prefix={prefix}, line 3: the target vocabulary lacks “Zq”; begin" in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["decoding.length=reference"], "task=translate has no references"),
        (["decoding=mbr", "decoding.candidates.length=reference"], "set decoding.candidates.l"),
        (["decoding.min_length=0"], "decoding.min_length=0: give a whole number, at least 1"),
        (["decoding.max_ratio=1e30"], "give a number, at least 0 and at most 1,000"),
        (["decoding.no_repeat_ngram=-1"], "give a whole number, at least 1, or null"),
        (["decoding=beam", "decoding.coverage_penalty=-0.2"], "give a number, above 0 and at most"),
        (["decoding=beam", "decoding.length_penalty=1000"], "at least 0 and at most 10"),
        (["decoding=beam", "decoding.n_best=9"], "must be at most beam_size=4"),
        (["decoding=sampling", "decoding.beam_size=4"], "decoding.beam_size: no such setting"),
        (["decoding=sampling", "+decoding.beam_size=4"], "sampling keeps no beam"),
        (["decoding=sampling", "decoding.top_p=1.5"], "give a number, above 0 and at most 1"),
        (["decoding=sampling", "decoding.temperature=0"], "give a number, above 0"),
        (["decoding=diverse", "decoding.groups=3"], "must divide decoding.beam_size=4"),
        (["decoding=mbr", "decoding.n_best=99"], "at most decoding.candidates.n_best=16"),
        (["decoding=mbr", "decoding.utility=ter"], "give one of chrf, bleu"),
        (["decoding=mbr", "decoding.candidates.temperature=-1"], "give a number, above 0"),
        (
            ["decoding=mbr_n_best", "decoding.candidates.n_best=99"],
            "decoding.candidates.n_best=99: must be at most beam_size=16",
        ),
    ],
)
def test_wrong_searches_end_with_one_line(trained, tmp_path, given, words):
    files = [f"input={write(tmp_path / 'in', LINES)}", f"output={tmp_path}/out"]
    assert words in mistake("task=translate", f"checkpoint={trained}", *files, *given)


def test_minimum_bayes_risk_translates(trained, tmp_path, capsys):
    for search in ("mbr", "mbr_n_best"):
        few = [f"decoding={search}", "decoding.candidates.n_best=4", "decoding.utility=bleu"]
        found = translated(trained, tmp_path, LINES, *few)
        assert found == translated(trained, tmp_path, LINES, *few)
        assert [line == "" for line in found] == [False, True, False]
        assert "by MinimumBayesRisk (" in capsys.readouterr().err
