"""``task=evaluate``: files of any system, runs beside them, and every way to get them wrong."""

import csv
import json
from collections.abc import Sequence
from typing import Any

import pytest
import sacrebleu
from sacrebleu.significance import PairedTest, Result

from sweeps.comparison.table_files import FORMATS
from tests.helpers.commands import FILES, TWO, evaluate, write
from tests.helpers.run_folders import (
    TEXT,
    Text,
    make_failure,
    make_run,
    text,
    translations,
    write_systems,
)


def rows(folder, name="scores"):
    return json.loads((folder / "tables" / f"{name}.json").read_text(encoding="utf-8"))["rows"]


def values(folder):
    return {row["system"]: {k: v["value"] for k, v in row.items() if isinstance(v, dict)}
            for row in rows(folder)}  # fmt: skip


def by_sacrebleu(hypotheses, references=TEXT.references):
    metrics = {
        "bleu": sacrebleu.BLEU(), "chrf": sacrebleu.CHRF(), "chrf++": sacrebleu.CHRF(word_order=2),
        "ter": sacrebleu.TER(),
    }  # fmt: skip
    scores = {
        name: metric.corpus_score(hypotheses, [references]).score
        for name, metric in metrics.items()
    }
    tokens = sacrebleu.BLEU().corpus_score(hypotheses, [references])
    equal = [
        one.split() == other.split() for one, other in zip(hypotheses, references, strict=True)
    ]
    exact = 100 * sum(equal) / len(equal)
    return scores | {"exact": exact, "length_ratio": tokens.sys_len / tokens.ref_len}


@pytest.mark.long
def test_two_systems_are_scored_as_by_sacrebleu_and_told_in_every_format(here, capfd):
    assert evaluate(*TWO) == 0
    out = here / "out"
    for name, scores in values(out).items():
        expected = by_sacrebleu(translations(TEXT.references, name))
        assert scores == pytest.approx(expected)
    made = json.loads((out / "comparison.json").read_text())
    tables = {f"{name}.{ending}" for name in made["tables"] for ending in FORMATS}
    assert {path.name for path in (out / "tables").iterdir()} == tables
    assert "luong" in (out / "report.html").read_text(encoding="utf-8")
    output = capfd.readouterr().out
    assert "“luong” has the highest BLEU" in output
    assert "out/report.html" in output
    for made in ("luong", "none", f"{values(out)['none']['bleu']:.1f}"):
        assert made in output


@pytest.mark.long
@pytest.mark.parametrize("unit", ["source_words", "reference_words"])
def test_bleu_by_length_is_that_of_the_sentences_alone(here, quick_reports, unit):
    """Lengths of references need no sources."""
    given = [each for each in TWO if unit == "source_words" or not each.startswith("sources")]
    assert evaluate(*given, f"scoring.unit={unit}") == 0
    [luong, _] = rows(here / "out", "bleu_by_length")
    counted = TEXT.sources if unit == "source_words" else TEXT.references
    for label, low, high in (("1–10", 1, 10), ("11–20", 11, 20), ("21–30", 21, 30)):
        inside = [n for n, line in enumerate(counted) if low <= len(line.split()) <= high]
        hypotheses = [translations(TEXT.references, "luong")[n] for n in inside]
        score = sacrebleu.corpus_bleu(hypotheses, [[TEXT.references[n] for n in inside]]).score
        assert luong[label]["value"] == pytest.approx(score)
        with (here / "out" / "bleu_by_length.csv").open() as file:
            [row] = [
                row for row in csv.DictReader(file)
                if row["variant"] == "luong" and row["length_low"] == str(low)
            ]  # fmt: skip
        assert float(row["bleu"]) == pytest.approx(score, abs=1e-4)
        assert int(row["sentences"]) == len(inside)


@pytest.mark.long
def test_a_list_is_the_seeds_of_one_system(here, quick_reports):
    assert evaluate(*FILES, "systems.luong=[luong1,luong2]", "systems.none=none1") == 0
    [luong, none] = rows(here / "out")
    scores = [
        sacrebleu.corpus_bleu(translations(TEXT.references, "luong", seed), [TEXT.references]).score
        for seed in (1, 2)
    ]
    assert luong["seeds"] == "1, 2"
    assert luong["bleu"]["seeds"] == pytest.approx(scores)
    assert luong["bleu"]["value"] == pytest.approx(sum(scores) / 2)
    assert none["bleu"]["deviation"] is None
    assert {row["p_sacrebleu_bs"] for row in rows(here / "out", "bleu_significance")} == {None}


def test_the_bootstrap_of_sacrebleu_gives_the_same_p_value(here, quick_reports):
    assert evaluate(*TWO[:3], "systems.other=luong2") == 0
    whole = next(row for row in rows(here / "out", "bleu_significance") if row["lengths"] == "all")
    named: list[tuple[str, Sequence[str]]] = [
        ("first", translations(TEXT.references, "luong", 1)),
        ("second", translations(TEXT.references, "luong", 2)),
    ]
    test = PairedTest(named, {"BLEU": sacrebleu.BLEU()}, [TEXT.references], "bs", n_samples=200)
    first, second = test()[1]["BLEU"]
    assert isinstance(first, Result)
    assert isinstance(second, Result)
    assert whole["p_sacrebleu_bs"] == pytest.approx(second.p_value)
    assert whole["difference"]["value"] == pytest.approx(first.score - second.score)


def scoring_tables(out):
    """The tables that files and runs have in common, without what only a run knows."""
    made = json.loads((out / "comparison.json").read_text())["tables"]
    known = [name for name in made if name.startswith(("bleu_", "chrf", "ter_"))]
    assert len(known) == 9
    return {name: (out / "tables" / f"{name}.csv").read_text() for name in known}


@pytest.mark.long
def test_files_and_run_folders_give_the_same_tables(here, quick_reports):
    make_run(here / "run1", "luong", 1)
    make_run(here / "run2", "luong", 2, statistics=False)
    make_run(here / "run3", "none", 1)
    assert evaluate(*FILES, "systems.a=[luong1,luong2]", "systems.b=none1", out="files") == 0
    assert evaluate("systems.a=[run1,run2]", "systems.b=run3", out="runs") == 0
    assert evaluate(*FILES, "systems.a=[run1,run2]", "systems.b=none1", out="both") == 0
    tables = [scoring_tables(here / out) for out in ("files", "runs", "both")]
    assert tables[0] == tables[1] == tables[2]


@pytest.mark.long
@pytest.mark.exhaustive
def test_words_are_grouped_by_the_training_text_that_is_given(here, quick_reports):
    """The given text counts also where a run beside the file has counts of its own."""
    write(here / "train", ["le vieux le"] * 3 + ["marin"])
    make_run(here / "run", "none")
    given = [*FILES, "train_references=train", "systems.luong=luong1"]
    assert evaluate(*given, out="alone") == 0
    assert evaluate(*given, "systems.none=run", out="beside") == 0
    words = [word for line in TEXT.references for word in line.split()]
    expected = {
        "1": words.count("marin"), "3": words.count("vieux"), "5–9": words.count("le"),
    }  # fmt: skip
    expected["0"] = len(words) - sum(expected.values())
    for out in ("alone", "beside"):
        counts = {
            row["group"]: row["words"]
            for row in rows(here / out, "words_by_frequency")
            if row["system"] == "luong"
        }
        assert counts == expected


@pytest.mark.long
def test_empty_hypotheses_count_and_are_warned_of_in_a_line(here, quick_reports, capfd):
    lines = translations(TEXT.references, "luong")
    lines[4] = lines[7] = ""
    write(here / "luong1", lines)
    assert evaluate(*TWO) == 0
    captured = capfd.readouterr()
    [warning] = [
        line for line in (captured.out + captured.err).splitlines() if "hypotheses are" in line
    ]
    assert "systems.luong=luong1: 2 of 65 hypotheses are empty (the first in line 5)" in warning
    assert values(here / "out")["luong"] == pytest.approx(by_sacrebleu(lines))


@pytest.mark.long
def test_one_sentence_in_a_bucket_has_no_interval_and_is_not_tested(here, quick_reports):
    lines = {name: (here / name).read_text().splitlines() for name in ("ref", "luong1", "none1")}
    for name, kept in lines.items():
        write(here / name, [*kept, "le " * 24 + "chien"])
    write(here / "src", [*TEXT.sources, "the " * 34 + "dog"])
    assert evaluate(*TWO, "scoring.edges=[10,20,30,40]") == 0
    for row in rows(here / "out", "bleu_by_length"):
        assert row["31–40"]["value"] == pytest.approx(100)
        assert row["31–40"]["low"] is row["31–40"]["high"] is None
        assert row["21–30"]["low"] is not None
    tested = [row["lengths"] for row in rows(here / "out", "bleu_significance")]
    assert tested == ["all", "1–10", "11–20"]


@pytest.mark.long
@pytest.mark.exhaustive
def test_a_test_set_of_one_sentence_is_scored_without_intervals(here, capfd):
    for name, line in (("ref", "le chien dort"), ("src", "the dog sleeps")):
        write(here / name, [line])
    write(here / "luong1", ["le chien dort"])
    write(here / "none1", ["dort"])
    assert evaluate(*TWO, "scoring.equal_buckets=3") == 0
    [luong, _] = rows(here / "out")
    assert (luong["chrf"]["value"], luong["chrf"]["low"]) == (pytest.approx(100), None)
    assert not (here / "out" / "tables" / "bleu_significance.json").exists()
    assert {row["slope"] for row in rows(here / "out", "bleu_trend")} == {None}


def column(folder, name, key):
    return {(row["system"], row["group"]): row[key] for row in rows(folder, name)}


@pytest.mark.long
def test_sentences_of_each_label_are_scored_apart(here, quick_reports):
    labels = ["news" if number % 3 else "talk" for number in range(len(TEXT.references))]
    write(here / "domains", labels)
    assert evaluate(*TWO, "sentence_labels=domains") == 0
    scores = column(here / "out", "sentences_by_label", "bleu")
    for (system, label), estimate in scores.items():
        inside = [n for n, other in enumerate(labels) if other == label]
        lines = translations(TEXT.references, system)
        expected = by_sacrebleu([lines[n] for n in inside], [TEXT.references[n] for n in inside])
        assert estimate["value"] == pytest.approx(expected["bleu"])
        assert estimate["low"] < estimate["value"] < estimate["high"]
    assert {label for _, label in scores} == {"news", "talk"}


@pytest.mark.long
@pytest.mark.exhaustive
def test_a_page_of_files_names_them_and_has_buckets_of_enough_sentences(here):
    assert evaluate(*TWO, buckets=()) == 0
    [luong, _] = rows(here / "out", "bleu_by_length")
    assert "1–30" in luong  # the text has 65 sentences
    page = (here / "out" / "report.html").read_text(encoding="utf-8")
    for named in TWO:
        option, _, file = named.partition("=")
        assert f"{option}: {file}" in page
    assert f"references: {FILES[0].partition('=')[2]}" in page


@pytest.mark.long
def test_several_references_and_case_are_those_of_sacrebleu(here):
    others = translations(TEXT.references, "luong", 2)
    write(here / "second", [*others[:-1], ""])
    given = ["references=[ref,second]", "systems.a=luong1", "scoring.unit=reference_words"]
    assert evaluate(*given, "scoring.lowercase=true") == 0
    bleu = sacrebleu.BLEU(lowercase=True)
    streams: Any = [TEXT.references, [*others[:-1], ""]]
    expected = bleu.corpus_score(translations(TEXT.references, "luong"), streams).score
    assert values(here / "out")["a"]["bleu"] == pytest.approx(expected)
    signatures = json.loads((here / "out" / "comparison.json").read_text())["signatures"]
    assert signatures["bleu"] == str(bleu.get_signature())
    assert "nrefs:2|case:lc" in signatures["bleu"]
    page = (here / "out" / "report.html").read_text(encoding="utf-8")
    assert "references: ref, second" in page


def test_a_name_that_is_given_twice_is_refused(here):
    write(here / "names.yaml", ["A: none1", "A: luong1"])
    assert evaluate(*FILES, "systems=names.yaml") == 2
    assert not (here / "out").exists()


NAMES = [
    "50 % of_R&D #1", 'the "best" {\\one}', "$x^2$ ~ C:\\tmp", "Müller’s Übersetzer", "机器翻译",
    "الترجمة", "😀 🇫🇷", "=1+1", "<b>bold</b>", "no", "1",
]  # fmt: skip
"""Names of systems with what shells, YAML, LaTeX, HTML and spreadsheets read as their own."""


@pytest.mark.long
def test_systems_have_names_in_any_letters(here):
    write(here / "names.yaml", [f"{json.dumps(name, ensure_ascii=False)}: none1" for name in NAMES])
    assert evaluate(*FILES, "systems=names.yaml", "scoring.metrics=[bleu]") == 0
    assert [row["system"] for row in rows(here / "out")] == NAMES
    page = (here / "out" / "report.html").read_text(encoding="utf-8")
    assert "<b>bold</b>" not in page.partition("<script")[0]
    with (here / "out" / "tables" / "scores.csv").open(encoding="utf-8", newline="") as file:
        assert [row["system"] for row in csv.DictReader(file)] == [
            f"'{name}" if name.startswith("=") else name for name in NAMES
        ]
    latex = (here / "out" / "tables" / "scores.tex").read_text(encoding="utf-8")
    assert latex.isascii() or "Müller" not in latex
    assert r"50 \% of\_\allowbreak{}R\&D \#1" in latex
    for figure in (here / "out" / "figures").glob("bleu_by_length.*"):
        assert figure.stat().st_size


MISTAKES = {
    "sentence_labels=short has 64 lines, the references have 65": [*TWO, "sentence_labels=short"],
    "sentence_labels=blank, line 10: empty": [*TWO, "sentence_labels=blank"],
    "nothing to evaluate: name systems, like systems.NAME=FILE": FILES,
    "systems.a=None: give a file": [*FILES, "systems.a=null"],
    "systems.a=[]: give a file": [*FILES, "systems.a=[]"],
    "systems.a={'b': 'none1'}: give a file": [*FILES, "systems.a.b=none1"],
    "systems=none1: give a YAML file with a line NAME: FILE for each system": [
        *FILES, "systems=none1",
    ],
    "systems=nowhere: does not exist in /": [*FILES, "systems=nowhere"],
    "systems.a%=none1: Hydra cannot read this; a name on the command line has letters a to z": [
        *FILES, "systems.a%=none1",
    ],
    "systems.a=none1: needs references=FILE": ["systems.a=none1"],
    "references: ref is listed twice; give each once": ["references=[ref,ref]", "systems.a=none1"],
    "references=short has 64 lines, references=ref has 65": [
        "references=[ref,short]", "systems.a=none1",
    ],
    "sources=['ref', 'ref']: give a path": [*FILES[:1], "sources=[ref,ref]", "systems.a=none1"],
    "references=[]: give a file": ["references=[]", "systems.a=none1"],
    "systems.a=run: its further references differ": [
        "references=[ref,none1]", "sources=src", "systems.a=run",
    ],
    "references=chinese is written without spaces": [
        "references=chinese", "systems.a=chinese",
    ],
    "scoring.tokenize.target=zhh: give one of": [*FILES, "scoring.tokenize.target=zhh"],
    "sources=src: needs references=FILE": ["sources=src", "systems.a=run"],
    "scoring.unit=source_words: there are no source sentences to count source words of; give "
    "sources=FILE, or scoring.unit=reference_words": ["references=ref", "systems.a=none1"],
    "systems.a=nowhere: does not exist in /": [*FILES, "systems.a=nowhere"],
    "set references=...": ["references=run", "systems.a=none1"],
    "systems.a=short has 64 lines, the references": [*FILES, "systems.a=short"],
    "systems.a=trailing has empty lines after line 65, where the references end: remove": [
        *FILES, "systems.a=trailing",
    ],
    "sources=short has 64 lines, references=ref has 65": [
        "references=ref", "sources=short", "systems.a=none1",
    ],
    "references=gap, line 5: empty": ["references=gap", "sources=src", "systems.a=none1"],
    "sources=gap, line 5: empty": ["references=ref", "sources=gap", "systems.a=none1"],
    "systems.a=failed: is not the folder of a finished run": ["systems.a=failed"],
    "systems.a=many: holds several runs; name one, such as systems.a=many/2, or a list of the": [
        "systems.a=many",
    ],
    "broken/predictions.jsonl is missing": ["systems.a=broken"],
    "systems.a: has both run folders and files": [*FILES, "systems.a=[run,none1]"],
    "systems.a=other: its reference 1 differs": [*FILES, "systems.a=other"],
    "systems.a=few: its test set has 5 sentences, not 65": [*FILES, "systems.a=few"],
    "systems.a=run: its source sentences differ": ["references=ref", "systems.a=run"],
    "systems.a: run is listed twice": ["systems.a=[run,run]"],
    "systems.a=again: seed 1 is there already": ["systems.a=[run,again]"],
}  # fmt: skip


@pytest.fixture(scope="module")
def mistaken(space):
    """A folder with right and wrong files and runs."""
    write_systems(space)
    lines = translations(TEXT.references)
    write(space / "short", lines[:-1])
    for job in ("2", "10"):
        (space / "many" / job / ".hydra").mkdir(parents=True)
    write(space / "chinese", ["今天女人看狗。"] * 3)
    write(space / "trailing", [*lines, "", " "])
    write(space / "blank", [*lines[:9], "", *lines[10:]])
    write(space / "gap", [*TEXT.references[:4], " ", *TEXT.references[5:]])
    make_failure(space / "failed")
    make_run(space / "run", "none")
    make_run(space / "again", "luong")
    make_run(space / "other", text=text(1))
    make_run(space / "few", text=Text(TEXT.sources[:5], TEXT.references[:5], None))
    (make_run(space / "broken") / "predictions.jsonl").unlink()
    return space


@pytest.mark.parametrize(("expected", "arguments"), MISTAKES.items())
def test_mistakes_are_told_in_a_line(mistaken, tmp_path, monkeypatch, capfd, arguments, expected):
    monkeypatch.chdir(mistaken)
    assert evaluate(*arguments, out=f"{tmp_path}/out") == 2
    [line] = capfd.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert expected in line
    assert not (tmp_path / "out" / "comparison.json").exists()
