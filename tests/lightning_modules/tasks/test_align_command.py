"""``task=align`` and the alignments of ``task=translate``, end to end."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from datamodules.tokenization import UNK
from lightning_modules.metrics.word_alignment import hard_alignment, parse_gold
from lightning_modules.runs.files import read_attention, read_predictions
from lightning_modules.training.checkpoints import load_trained
from tests.helpers.commands import TINY, inside, mistake, places, succeed
from tests.helpers.data_settings import grammar_corpus

pytestmark = pytest.mark.long

LAYERS, HEADS = 2, 4


def run_of(space: Path, model: str) -> Path:
    folder = space / model
    given = [f"model={model}", "scale=0.5", "logger=none", f"hydra.run.dir={folder}"]
    inside(*TINY, *places(space), *given)
    return folder


@pytest.fixture(scope="module")
def trained(space) -> Path:
    """A tiny Transformer: several layers, several heads."""
    return run_of(space, "transformer")


@pytest.fixture(scope="module")
def gold(space) -> Path:
    """Gold alignments of the test set of ``TINY``."""
    text = grammar_corpus(300, 12, 24).split("test")
    assert text.alignments is not None
    path = space / "gold.txt"
    path.write_text("".join(f"{line}\n" for line in text.alignments))
    return path


@pytest.fixture(scope="module")
def aligned(space, trained, gold) -> Path:
    folder = space / "aligned"
    given = [f"checkpoint={trained}", f"gold={gold}", f"hydra.run.dir={folder}"]
    output = succeed("task=align", *given, "threads=1")
    assert "24 of 24 pairs aligned by layer 1 of 0-1, the mean of 4 heads" in output
    assert "alignment error rate by layer and head" in output
    assert f"results: {folder}" in output
    return folder


def align(folder: Path, *given: str) -> dict:
    inside("task=align", *given, f"hydra.run.dir={folder}", "threads=1")
    return json.loads((folder / "alignment.json").read_text())


def predictions(run: Path) -> list[dict]:
    return [json.loads(line) for line in (run / "predictions.jsonl").read_text().splitlines()]


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def soft(line: str, source: str, target: str) -> np.ndarray:
    weights = np.zeros((len(target.split()), len(source.split())))
    for piece in line.split():
        pair, weight = piece.split(":")
        [(i, j)] = parse_gold(pair).sure
        weights[j, i] = float(weight)
    return weights


def test_the_error_rate_is_that_of_the_alignments_written(aligned, gold):
    """Counted here once more, with sets."""
    predicted = [parse_gold(line).sure for line in lines(aligned / "alignments.txt")]
    drawn = [parse_gold(line) for line in lines(gold)]
    sure = sum(len(a & links.sure) for a, links in zip(predicted, drawn, strict=True))
    possible = sum(len(a & links.possible) for a, links in zip(predicted, drawn, strict=True))
    sizes = sum(map(len, predicted)), sum(len(links.sure) for links in drawn)
    content = json.loads((aligned / "alignment.json").read_text())
    assert possible > sure
    assert content["aer"] == pytest.approx(1 - (sure + possible) / sum(sizes))
    assert content["precision"] == pytest.approx(possible / sizes[0])
    assert content["recall"] == pytest.approx(sure / sizes[1])
    assert (
        content["aer"]
        == content["aer_by_step"]["predicted"]
        == content["aer_by_layer"]["1"]["mean"]
    )
    assert content["aer_by_layer"].keys() == {"0", "1", "mean"}
    assert content["aer_by_layer"]["0"].keys() == {"0", "1", "2", "3", "mean"}
    assert (content["variant"], content["layers"], content["heads"]) == (
        "transformer",
        LAYERS,
        HEADS,
    )
    assert 0 < content["entropy"] < math.log(60)
    assert 0 < content["distance"] < 1
    assert 0 < content["coverage"] <= 1


def test_a_run_knows_the_gold_alignments_of_its_references(space, trained, aligned):
    content = align(space / "own_gold", f"checkpoint={trained}", "sentences=[]")
    assert content["aer"] == json.loads((aligned / "alignment.json").read_text())["aer"]
    scored = json.loads((trained / "result.json").read_text())["scores"]
    assert scored["aer"] == pytest.approx(100 * content["aer"])


FILES = ("svg", "png", "pdf", "tex", "txt")


def test_the_first_sentences_are_drawn(aligned, trained):
    drawn = {path.name for path in aligned.glob("heat_map_*")}
    assert drawn == {f"heat_map_{n}.{end}" for n in range(3) for end in FILES}
    picture = (aligned / "heat_map_1.svg").read_text(encoding="utf-8")
    for title in ("Transformer (Vaswani et al.)", "sentence 1, layer 1, head mean"):
        assert f">{title}<" in picture
    for side in ("source", "reference"):
        for word in predictions(trained)[1][side].split():
            assert f">{word}<" in picture


@pytest.mark.parametrize(
    ("layer", "head", "step"), [(0, 2, "predicted"), ("mean", -1, "read"), (-2, "mean", "read")]
)
def test_layer_head_and_step_are_chosen(layer, head, step, aligned, space, trained, gold):
    """The table of all layers and heads agrees with the result for a chosen layer and head."""
    folder = space / f"chosen-{layer}-{head}-{step}"
    given = [f"layer={layer}", f"head={head}", f"step={step}", "sentences=[23]"]
    content = align(folder, f"checkpoint={trained}", f"gold={gold}", *given)
    layer, head = (
        index if index == "mean" else index % count
        for index, count in ((layer, LAYERS), (head, HEADS))
    )
    assert (content["layer"], content["head"], content["step"]) == (layer, head, step)
    assert (
        content["aer"]
        == content["aer_by_layer"][str(layer)][str(head)]
        == content["aer_by_step"][step]
    )
    before = json.loads((aligned / "alignment.json").read_text())
    if step == "predicted":
        assert content["aer_by_layer"] == before["aer_by_layer"]
    else:
        assert content["aer_by_layer"] != before["aer_by_layer"]
    assert [path.name for path in folder.glob("*.svg")] == ["heat_map_23.svg"]


def test_a_runs_own_translations_can_be_forced(space, trained):
    # The weights of first words, which no token before them can change, are those of the search. An
    # untrained model's words may read back as other tokens; test_forced_decoding compares all.
    folder = space / "hypotheses"
    content = align(folder, f"checkpoint={trained}", "targets=hypothesis", "sentences=[]")
    assert "aer" not in content
    assert not list(folder.glob("heat_map*"))
    written = lines(folder / "soft_alignments.txt")
    target = load_trained(trained).tokenizers.target
    compared = 0
    translated = read_predictions(trained)
    attention = read_attention(trained, translated)
    assert attention is not None
    for line in translated:
        kept = attention[line.id]
        forced = soft(written[line.id], line.source, line.hypothesis)
        assert forced.shape == np.shape(kept.weights)
        [first] = target.encode(kept.target_words[:1] or [""])
        if len(first) == 1 and first != [UNK]:
            weights = np.array(kept.weights[0])
            np.testing.assert_allclose(forced[0], np.where(weights < 0.01, 0, weights), atol=2e-4)
            compared += 1
    assert compared


def test_lines_without_words_stay_empty(space, trained):
    sources = ["The cat sleeps.", "", "A zebra saw the moon.", "\u2028", 'He said " no " .']
    targets = ["Le chat dort.", "Rien.", "", "", "Il dit « non » ."]
    for name, text in (("src.txt", sources), ("tgt.txt", targets)):
        (space / name).write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
    (space / "naacl.txt").write_text("1 1 1 S\n1 3 3 P\n5 3 3\n", encoding="utf-8")
    files = [f"sources={space}/src.txt", f"targets={space}/tgt.txt", f"gold={space}/naacl.txt"]
    content = align(space / "files", f"checkpoint={trained}", *files)
    assert (content["pairs"], content["aligned"]) == (5, 2)
    assert 0 <= content["aer"] <= 1
    for name in ("alignments.txt", "soft_alignments.txt"):
        assert [bool(line) for line in lines(space / "files" / name)] == [True, *[False] * 3, True]
    assert {path.name for path in (space / "files").glob("*.svg")} == {
        "heat_map_0.svg",
        "heat_map_4.svg",
    }
    line = mistake(
        "task=align", f"checkpoint={trained}", *files, "sentences=[0,1]",
        f"hydra.run.dir={space}/wrong",
    )  # fmt: skip
    assert "sentences=[0, 1]: sentence 1 cannot be drawn: a side of it is empty" in line


def test_translations_come_with_hard_and_soft_alignments(space, trained):
    text = ["The cat sleeps.", "", "A zebra saw the moon and the house."]
    (space / "in.txt").write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
    files = {
        name: space / f"translated.{name}" for name in ("output", "alignments", "soft_alignments")
    }
    given = [f"{name}={path}" for name, path in files.items()]
    inside("task=translate", f"checkpoint={trained}", f"input={space}/in.txt", *given, "threads=1")
    written = zip(text, *map(lines, files.values()), strict=True)
    for source, target, pairs, line in written:
        weights = soft(line, source, target)
        assert weights[weights > 0].min(initial=1) >= 0.01
        assert hard_alignment(weights) == sorted(parse_gold(pairs).sure, key=lambda pair: pair[1])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["layer=2"], "layer=2: transformer has 2, counted from 0 (the last is 1 or -1)"),
        (["head=all"], "give one of them or head=mean"),
        (["step=written"], "step=written: give one of predicted, read, footnote14"),
        (["sentences=[0,24]"], "sentence 24 cannot be drawn: there are 24, counted from 0"),
        (["sentences=[-1]"], "sentence -1 cannot be drawn"),
        (["sentences=3"], "sentences=3: give a list of whole numbers"),
        (["gold=/nowhere"], "gold=/nowhere: does not exist"),
        (["gold=SPACE/short.txt"], "short.txt, 2 lines for 24 sentence pairs"),
        (["gold=SPACE/past.txt"], "past.txt, line 2: 99-0 points past its sentence pair"),
        (["targets=SPACE/two.txt"], "give sources=FILE too, or one of reference, hypothesis"),
        (["sources=SPACE/two.txt"], "with sources=FILE give a file of translations"),
        (["sources=SPACE/two.txt", "targets=SPACE/three.txt"], "has 2 lines but targets="),
        (["sources=SPACE/two.txt", "targets=SPACE/latin.txt"], "latin.txt, line 2: not UTF-8"),
        (["sources=SPACE/two.txt", "targets=SPACE/blank.txt"], "no line has words on both sides"),
        (["batching.decode_max_tokens=9"], "batching.decode_max_tokens=9 is smaller than"),
    ],
)
def test_mistakes_are_told_in_a_line(arguments, expected, tmp_path, space, trained):
    contents = {
        "short": b"0-0\n\n",
        "past": b"\n99-0\n" + b"\n" * 22,
        "two": b"a\nb\n",
        "three": b"a\nb\nc\n",
        "latin": b"a\n\xe9\n",
        "blank": b"\n \n",
    }
    for name, content in contents.items():
        (space / f"{name}.txt").write_bytes(content)
    given = [argument.replace("SPACE", str(space)) for argument in arguments]
    where = [f"checkpoint={trained}", f"hydra.run.dir={tmp_path}", "threads=1"]
    assert expected in mistake("task=align", *where, *given)
    assert not (tmp_path / "alignment.json").exists()
    assert not list(tmp_path.glob("*.txt"))


@pytest.mark.exhaustive
def test_a_model_without_attention_aligns_nothing(tmp_path, space):
    given = [f"checkpoint={run_of(space, 'seq2seq')}", "threads=1"]
    line = mistake("task=align", *given, f"hydra.run.dir={tmp_path}/aligned")
    assert not (tmp_path / "aligned").exists()
    assert "seq2seq has no attention to align by" in line
    (tmp_path / "in").write_text("The cat sleeps.\n")
    files = [f"input={tmp_path}/in", f"output={tmp_path}/out", f"soft_alignments={tmp_path}/soft"]
    line = mistake("task=translate", *given, *files)
    assert "soft_alignments=: seq2seq has no attention" in line
    assert not (tmp_path / "out").exists()


def test_a_run_without_predictions_needs_files(tmp_path, trained):
    broken = tmp_path / "run"
    broken.mkdir()
    for part in ("checkpoints", "tokenizers"):
        (broken / part).symlink_to(trained / part)
    given = ["task=align", f"checkpoint={broken}", f"hydra.run.dir={tmp_path}/out", "threads=1"]
    assert "predictions.jsonl is missing or has no rows: give sources=FILE" in mistake(*given)
    (broken / "predictions.jsonl").write_text('{"id": 0, "source": "a"}\n')
    assert (
        "predictions.jsonl cannot be read: reference: Field required; give sources=FILE"
        in mistake(*given)
    )
