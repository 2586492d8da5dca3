"""The commands of the README, end to end."""

import csv
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from sacrebleu.metrics import BLEU, CHRF, TER

from lightning_modules.metrics.chosen_metrics import METRICS
from lightning_modules.metrics.word_alignment import parse_gold
from lightning_modules.metrics.words import PLAIN, tokens
from lightning_modules.runs.files import read_arrays, read_attention, read_predictions
from lightning_modules.training.module import Translator
from tests.helpers.commands import TESTED, TINY, in_process, inside, mistake, places, succeed
from tests.helpers.variants import CONF

pytestmark = pytest.mark.long

WITH_PAGE = "report.run_page=sweeps.report.run_page.write_run_page"
WITH_TER = "scoring.metrics=[bleu,exact,chrf,chrf++,ter]"
SHIPPED = OmegaConf.load(CONF / "comparison" / "quickstart.yaml")
QUICKSTART = SHIPPED.hydra.sweeper.params.model.split(",")


@pytest.fixture(scope="module")
def single(space) -> Path:
    """A tiny run of the default variant."""
    folder = space / "single"
    output = succeed(*TINY, WITH_TER, WITH_PAGE, *places(space), f"hydra.run.dir={folder}")
    assert "test BLEU" in output
    assert f"open {folder}/report.html in a browser" in output
    assert "source  " in output  # example translations at validation
    return folder


@pytest.fixture(scope="module")
def quickstart(space) -> Path:
    """The quickstart comparison with a tiny budget."""
    folder = space / "quickstart"
    output = succeed(
        "comparison=quickstart",
        "hydra.launcher.n_jobs=1",
        *TINY,
        *places(space),
        f"hydra.sweep.dir={folder}",
    )
    for name in QUICKSTART:
        assert name in output
    assert f"open {folder}/report.html in a browser" in output.replace("\n", "")
    return folder


def read_lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_run_leaves_what_the_readme_promises(single):
    assert (single / ".hydra" / "config.yaml").is_file()
    assert (single / "checkpoints" / "best.ckpt").is_file()
    assert (single / "checkpoints" / "last.ckpt").is_file()
    result = json.loads((single / "result.json").read_text())
    assert result["variant"] == "bahdanau"
    assert result["seed"] == 1
    weights = torch.load(single / "checkpoints" / "best.ckpt", weights_only=True)["state_dict"]
    assert result["parameters"] == sum(tensor.numel() for tensor in weights.values())
    assert result["training"]["target_tokens"] >= 2500
    assert result["training"]["target_tokens_per_second"] > 0
    assert result["data"]["name"] == "grammar"
    assert result["data"]["left_out"]["train"].keys() <= {"longer than 50 words"}
    assert result["environment"]["torch"]
    assert result["signature"].startswith("nrefs:1|case:mixed")
    assert result["config"]["model"]["attention"]["score"] == "additive"
    predictions = read_lines(single / "predictions.jsonl")
    assert [prediction["id"] for prediction in predictions] == list(range(24))
    assert not list(single.rglob("*.part*"))


def test_the_report_of_a_run_says_what_was_found(single):
    """As at the end of a comparison: alarms, answer, scores with their baselines, and the page."""
    output = succeed("task=report", f"runs={single}", "logger=none")
    assert re.search(r"^BLEU is \d+\.\d", output, re.MULTILINE)
    assert re.search(r"^■ Bahdanau, additive\S* +1 +\d", output, re.MULTILINE)
    assert "phrase table" in output
    assert "nearest copy" in output
    assert f"open {single}/report.html in a browser" in output


def test_every_run_leaves_its_page(single):
    page = (single / "report.html").read_text(encoding="utf-8")
    assert len(page.encode()) < 1_000_000
    for name in ("bleu", "loss", "rate", "gradient"):
        assert f'data-figure="learning_{name}_by_target_tokens"' in page
    rows = read_rows(single / "history.csv")
    assert all(0 < float(row["gradient_norm"]) < 1e6 for row in rows)
    assert all(0 <= float(row["learning_rate"]) < 1 for row in rows)
    finer = read_rows(single / "learning_curve.csv")
    rates = {row["target_tokens"]: row["learning_rate"] for row in rows}
    shared = [row for row in finer if row["target_tokens"] in rates]
    assert shared
    assert all(row["learning_rate"] == rates[row["target_tokens"]] for row in shared)


COLUMNS = ["variant", "seed", "length_low", "length_high", "sentences", "bleu"]
COLUMNS += ["bleu_low", "bleu_high", *(name for name in METRICS if name != "bleu")]
COLUMNS += ["signature", "resamples", "resampling_seed"]


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_scores_are_those_of_the_predictions(single):
    result = json.loads((single / "result.json").read_text())
    predictions = read_lines(single / "predictions.jsonl")
    sources, references, hypotheses = (
        [prediction[side] for prediction in predictions]
        for side in ("source", "reference", "hypothesis")
    )
    scores = result["scores"]
    assert scores.keys() == METRICS.keys()
    for name, metric in (("bleu", BLEU()), ("chrf", CHRF()), ("ter", TER())):
        assert scores[name] == pytest.approx(metric.corpus_score(hypotheses, [references]).score)
    for name, (low, high) in result["intervals"].items():
        assert low <= high, name
    assert {"bleu", "perplexity", "aer"} <= result["intervals"].keys()
    rows = read_rows(single / "bleu_by_length.csv")
    assert list(rows[0]) == COLUMNS
    assert sum(int(row["sentences"]) for row in rows) == 24
    for row in rows:
        inside = [
            (hypothesis, reference)
            for source, reference, hypothesis in zip(sources, references, hypotheses, strict=True)
            if int(row["length_low"]) <= len(source.split()) <= int(row["length_high"])
        ]
        assert len(inside) == int(row["sentences"])
        translated, wanted = zip(*inside, strict=True)
        bleu = BLEU().corpus_score(translated, [wanted]).score
        assert float(row["bleu"]) == pytest.approx(bleu, abs=1e-4)


def test_statistics_sum_up_to_the_scores(single):
    result = json.loads((single / "result.json").read_text())
    statistics = read_arrays(single / "statistics.npz")
    assert statistics is not None
    for name, metric in METRICS.items():
        score = float(metric.score(statistics[metric.statistics].sum(0)))
        assert score == pytest.approx(result["scores"][name])


def test_attention_belongs_to_the_predictions(single):
    predictions = read_predictions(single)
    kept = read_attention(single, predictions)
    assert kept is not None
    assert list(kept) == list(range(24))
    for line in read_lines(single / "predictions.jsonl"):
        sentence = kept[line["id"]]
        assert sentence.source_words == line["source"].split()
        assert sentence.target_words == line["hypothesis"].split()
        weights = np.array(sentence.weights)
        assert weights.shape == (len(sentence.target_words), len(sentence.source_words))
        for source, target in parse_gold(line["alignment"]).sure:
            assert weights[target, source] == pytest.approx(max(weights[target]), abs=1e-3)


def test_words_of_the_test_set_are_counted_in_training(single):
    counts = json.loads((single / "word_counts.json").read_text(encoding="utf-8"))
    predictions = read_lines(single / "predictions.jsonl")
    targets = [line[side] for line in predictions for side in ("reference", "hypothesis")]
    assert set(counts["target"]) == {word for line in tokens(targets, PLAIN) for word in line}
    assert counts["target"]["."] >= 100  # of 300 sentences
    assert all(count >= 0 for count in counts["target"].values())


def test_translate_keeps_lines_and_aligns_words(single, space, capsys):
    lines = ["The cat sleeps.", "", "A zebra saw the moon and the house."]
    (space / "in.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    arguments = ["task=translate", f"checkpoint={single}", f"alignments={space}/out.align"]
    inside(*arguments, f"input={space}/in.txt", f"output={space}/out.txt")
    assert capsys.readouterr().out == ""
    written = (space / "out.txt").read_text(encoding="utf-8").split("\n")
    aligned = (space / "out.align").read_text(encoding="utf-8").split("\n")
    assert len(written) == len(aligned) == 4
    assert written[1] == written[3] == aligned[1] == ""
    for line, words, pairs in zip(lines, written, aligned, strict=False):
        for source, target in parse_gold(pairs).sure:
            assert source < len(line.split())
            assert target < len(words.split())
    piped = succeed("task=translate", f"checkpoint={single}", stdin="\n".join(lines) + "\n")
    assert piped == (space / "out.txt").read_text(encoding="utf-8")


def test_tested_again_the_same_way_scores_the_same(single, space):
    again = space / "again"
    arguments = ["task=test", f"checkpoint={single}", *TESTED, WITH_TER, *places(space)]
    inside(*arguments, f"hydra.run.dir={again}")
    assert (again / "predictions.jsonl").read_text() == (single / "predictions.jsonl").read_text()
    before, after = (json.loads((run / "result.json").read_text()) for run in (single, again))
    assert before["scores"] == after["scores"]
    assert before["intervals"] == after["intervals"]
    assert before["training"] == after["training"]


def test_a_checkpoint_of_another_corpus_is_refused(single, space):
    given = [*TESTED, "data.seed=2", *places(space), f"hydra.run.dir={space}/refused"]
    assert "was trained on grammar" in mistake("task=test", f"checkpoint={single}", *given)
    assert not (space / "refused" / "result.json").exists()


def test_the_same_command_gives_the_same_run(single, space):
    twin = [WITH_TER, "logger=none", f"hydra.run.dir={space}/twin"]
    inside(*TINY, *places(space), *twin)
    for name in ("predictions.jsonl", "bleu_by_length.csv"):
        assert (space / "twin" / name).read_text() == (single / name).read_text()


def test_quickstart_trains_all_variants_alike(quickstart):
    results = [json.loads(path.read_text()) for path in quickstart.glob("*/result.json")]
    assert sorted(result["variant"] for result in results) == sorted(QUICKSTART)
    assert len({result["training"]["target_tokens"] for result in results}) == 1
    assert len({result["training"]["data_order"] for result in results}) == 1
    assert len({result["data"]["fingerprint"] for result in results}) == 1
    sizes = [result["parameters"] for result in results]
    assert max(sizes) / min(sizes) <= 1.10


def test_quickstart_leaves_a_comparison(quickstart):
    with (quickstart / "bleu_by_length.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == COLUMNS
    assert len(rows) == 5 * 6
    for ending in ("svg", "png", "pdf"):
        assert (quickstart / "figures" / f"bleu_by_length.{ending}").stat().st_size > 1000
    for ending in ("json", "csv", "tex", "md"):
        for name in ("scores", "bleu_by_length", "words_by_frequency"):
            assert (quickstart / "tables" / f"{name}.{ending}").stat().st_size > 100
    scores = {row["system"]: row for row in read_rows(quickstart / "tables" / "scores.csv")}
    for folder in quickstart.glob("*/result.json"):
        result = json.loads(folder.read_text())
        assert "ter" not in result["scores"]
        for name in METRICS:
            shown = scores[result["variant"]].get(name, "")
            assert shown == "" if name not in result["scores"] else True
            assert not shown or float(shown) == pytest.approx(result["scores"][name])
    assert (quickstart / "report.html").stat().st_size > 100_000
    comparison = json.loads((quickstart / "comparison.json").read_text())
    assert all(condition["holds"] for condition in comparison["conditions"])


def test_every_job_is_a_tracked_run_of_its_own(single, quickstart, space):
    runs = list((space / "outputs" / "wandb").glob("offline-run-*"))
    assert len(runs) >= 6
    assert all(list(run.glob("*.wandb")) for run in runs)


def test_the_tracked_run_holds_configuration_and_curve(single, space):
    """Read back by W&B's own reader."""
    folder = min((space / "outputs" / "wandb").glob("offline-run-*"))  # the first, by its date
    command = [Path(sys.executable).parent / "wandb", "leet", "inspect", "--json", folder]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    records = [json.loads(line) for line in output.splitlines()]
    config = [r["config"]["update"] for r in records if r["type"] == "config"]
    assert any(c.get("model", {}).get("attention", {}).get("score") == "additive" for c in config)
    items = [r["history"]["item"] for r in records if r["type"] == "history"]
    curve = {
        item["bleu_by_length/length"]: item["bleu_by_length/bleu"]
        for item in items
        if "bleu_by_length/length" in item
    }
    with (single / "bleu_by_length.csv").open() as file:
        rows = {int(row["length_high"]): float(row["bleu"]) for row in csv.DictReader(file)}
    assert curve == rows
    logged = {key for item in items for key in item}
    assert {"train/loss", "val/loss", "val/bleu", "train/learning_rate"} <= logged
    assert any(key.startswith("predictions") for key in logged)
    assert any(key.startswith("attention") for key in logged)


def test_a_test_that_is_told_to_end_does(single, space, monkeypatch):
    translate, done = Translator.predict_step, []

    def translate_and_end(*arguments):
        done.append(translate(*arguments))
        signal.raise_signal(signal.SIGTERM)
        return done[-1]

    monkeypatch.setattr(Translator, "predict_step", translate_and_end)
    folder = space / "ended"
    given = [*TESTED, *places(space), "batching.decode_max_tokens=90", f"hydra.run.dir={folder}"]
    assert in_process("task=test", f"checkpoint={single}", *given) == 143
    assert len(done) == 1
    assert not (folder / "result.json").exists()


def test_one_failed_job_does_not_lose_the_others(space, capfd):
    folder = space / "lists"
    status = in_process(
        "-m", *TINY, "batching.max_tokens=600,5", *places(space),
        "logger=none", f"hydra.sweep.dir={folder}",
    )  # fmt: skip
    output = "".join(capfd.readouterr())
    assert status == 1
    assert "Traceback" not in output
    assert "✗ failed job" in output
    assert "batching.max_tokens=5" in output
    assert len(list(folder.glob("*/result.json"))) == 1
    assert len(list(folder.glob("*/failure.json"))) == 1
    report = (folder / "report.html").read_text(encoding="utf-8")
    assert "batching.max_tokens=5" in report


def test_help_lists_the_choices_quickly():
    output = succeed("--help")
    for word in ("comparison=quickstart", "luong_local", "multi30k", "task=translate"):
        assert word in output
