"""Runs in Python: what the commands write is what the functions return."""

import subprocess
import sys

import numpy as np
import pytest

import attention_bench as ab
from lightning_modules.metrics.word_alignment import format_pharaoh, format_soft_pharaoh
from lightning_modules.runs.files import read_predictions
from tests.helpers.commands import ROOT, TINY, inside, places, write
from tests.helpers.refusals import refused
from tests.helpers.run_folders import make_failure, make_run

LINES = ["The cat sleeps.", "", "Paul sees a dog."]


@pytest.fixture(scope="module")
def run(space):
    folder = space / "run"
    inside(*TINY, *places(space), "logger=none", "decoding=greedy", f"hydra.run.dir={folder}")
    return ab.load(folder)


def test_the_import_needs_no_torch():
    code = (
        "import sys, attention_bench; "
        "print([each for each in ('torch', 'pandas', 'altair') if each in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == "[]"


def test_sentences_are_translated_as_by_the_command(run, tmp_path):
    source = write(tmp_path / "in", LINES)
    files = [f"{name}={tmp_path}/{name}" for name in ("output", "alignments")]
    inside("task=translate", f"checkpoint={run.folder}", f"input={source}", *files)
    translated = run.translate(LINES)
    written = (tmp_path / "output").read_text(encoding="utf-8").split("\n")[:-1]
    assert [each.text for each in translated] == written
    links = ["" if e.attention is None else format_pharaoh(e.attention.links) for e in translated]
    assert links == (tmp_path / "alignments").read_text(encoding="utf-8").split("\n")[:-1]
    assert (translated[1].score, translated[1].attention, translated[1].others) == (None, None, [])
    first = translated[0].attention
    assert first is not None
    assert first.weights.shape == (len(written[0].split()), 3)
    assert first.source_words == ["The", "cat", "sleeps."]


def test_overrides_change_the_search(run):
    [best, _, _] = run.translate(
        LINES, "decoding=beam", "decoding.n_best=3", "decoding.max_extra=2"
    )
    scores = [best.score, *(score for _, score in best.others)]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)


def test_pairs_are_aligned_as_by_the_command(run, tmp_path):
    known = run.predictions.head(4)
    sides = [f"{n}={write(tmp_path / n, known[c])}"
             for n, c in (("sources", "source"), ("targets", "reference"))]  # fmt: skip
    given = ["step=read", "sentences=[]", f"hydra.run.dir={tmp_path}/out"]
    inside("task=align", f"checkpoint={run.folder}", *sides, *given)
    maps = run.align(known.source, known.reference, "step=read")
    written = (tmp_path / "out" / "soft_alignments.txt").read_text(encoding="utf-8").splitlines()
    assert [format_soft_pharaoh(each.weights) for each in maps] == written


def test_known_links_are_kept_and_outlined(run):
    sides = ["The cat sleeps."], ["Le chat dort."]
    [plain] = run.align(*sides)
    [known] = run.align(*sides, gold=["0-0 1-1 2?2"])
    assert list(plain.gold) == []
    assert list(known.gold) == [(0, 0), (1, 1), (2, 2)]
    np.testing.assert_array_equal(known.weights, plain.weights)
    assert known._repr_html_() != plain._repr_html_()


def test_a_notebook_shows_a_translation_with_its_map(run):
    [translated] = run.translate(["The <b>cat</b> sleeps."])
    shown = translated._repr_html_()
    assert "The &lt;b&gt;cat&lt;/b&gt; sleeps." in shown
    assert shown.count('src="data:image/svg+xml;base64,') == 1
    assert "http" not in shown
    assert translated.attention.chart.to_dict()["title"]["text"] == run.label


@pytest.fixture
def made(tmp_path):
    """A run without training."""
    return ab.load(make_run(tmp_path / "run"))


def test_frames_have_what_the_files_have(made):
    predictions = read_predictions(made.folder)
    frame = made.predictions
    assert list(frame.source) == [each.source for each in predictions]
    assert list(frame.hypothesis) == [each.hypothesis for each in predictions]
    assert made.scores.score.to_dict() == made.result.scores
    rows = (made.folder / "bleu_by_length.csv").read_text(encoding="utf-8").splitlines()
    assert list(made.curve.columns) == rows[0].split(",")
    assert len(made.curve) == len(rows) - 1
    np.testing.assert_allclose(made.curve.bleu, [float(row.split(",")[5]) for row in rows[1:]])
    assert made.history.empty
    assert made.label in made._repr_html_()


def test_what_is_no_finished_run_is_refused(tmp_path):
    for folder in (tmp_path / "nothing", make_failure(tmp_path / "failed")):
        with refused(str(folder), "give the folder of a finished run"):
            ab.load(folder)


def test_wrong_input_is_refused_in_one_line(run):
    with refused("sentences: give a list of sentences, such as ['The cat sleeps.']"):
        run.translate("The cat sleeps.")
    with refused("sources has 1 lines but targets has 2"):
        run.align(["a"], ["b", "c"])
    with refused("sentence 1: a side of it is empty"):
        run.align(["The cat sleeps.", ""], ["Le chat dort.", "Rien."])
    with refused("gold: ", "points past its sentence pair"):
        run.align(["The cat sleeps."], ["Le chat dort."], gold=["0-7"])
    with refused("gold: 2 lines for 1 sentence pairs"):
        run.align(["The cat sleeps."], ["Le chat dort."], gold=["0-0", ""])
    with refused("model=transformer", "task=translate does not read model"):
        run.translate(LINES, "model=transformer")
    with refused("decoding.beam"):
        run.translate(LINES, "decoding.beam=3")
    with refused("input=sentences, line 1: has 4 tokens, more than max_line_tokens=3"):
        run.translate(["cat cat cat"], "max_line_tokens=3")
