"""Run folders collected into a comparison: labels, failed jobs, command and question."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import sacrebleu
from omegaconf import OmegaConf

from datamodules.contrast_pairs import ContrastPair
from lightning_modules.metrics.contrast_choices import PairChoices
from lightning_modules.metrics.curves import curve_points, format_csv
from lightning_modules.metrics.lengths import Bounds
from lightning_modules.runs.checksums import MissingFileError, verify_files
from lightning_modules.runs.files import find_runs, read_arrays, write_arrays, write_record
from lightning_modules.runs.paths import FAILURE, RESULT, STATISTICS
from lightning_modules.runs.schema import SCHEMA, Failure, HistoryPoint, Result
from sweeps.comparison.collect import collect, name_runs
from sweeps.comparison.record import command_of, origin_of
from sweeps.comparison.table_files import as_json
from sweeps.report.report import make_report
from tests.helpers.made_text import statistics_of
from tests.helpers.refusals import refused
from tests.helpers.run_folders import (
    REPORT,
    SCORING,
    TEXT,
    findings_of,
    make_failure,
    make_run,
    result,
    scoring_of,
    text,
    translations,
    unsealed,
)
from tests.sweeps.comparison.test_conditions import condition


def evaluation_of(runs, scoring=SCORING):
    return findings_of(runs, scoring).evaluation


def named(*runs):
    """Names and labels of runs given as (variant, seed, overrides), or also with their label."""
    return name_runs([_run(*each) for each in runs])


def _run(variant, seed, overrides, label=None):
    config = {} if label is None else {"label": label}
    return Result.model_validate(result(variant, seed, overrides=overrides, config=config))


SHARED = ["model=luong", "budget=1000"]
TWICE = ("none", 1, ["model=none", "seed=1"])


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        (
            [
                ("none", 1, ["model=none", "seed=1", "data=grammar"]),
                ("none", 2, ["seed=2", "data=grammar"]),
                ("luong", 1, ["model=luong", "data=grammar", "+model.score=dot"]),
            ],
            ["none", "none", "luong"],
        ),
        (
            [
                ("luong", 1, [*SHARED, "seed=1", "model.score=dot"]),
                ("luong", 2, [*SHARED, "seed=2", "model.score=dot"]),
                ("luong", 1, [*SHARED, "seed=1", "model.score=general", "lr=1"]),
                ("luong", 1, [*SHARED, "seed=1"]),
            ],
            ["luong, model.score=dot"] * 2 + ["luong, model.score=general, lr=1", "luong"],
        ),
        ([TWICE] * 3, ["none", "none #2", "none #3"]),
    ],
)
def test_a_name_is_the_variant_and_what_only_some_of_its_runs_were_given(runs, names):
    assert [each.name for each in named(*runs)] == names


@pytest.mark.parametrize(
    ("runs", "labels"),
    [
        (
            [
                ("luong", 1, ["model=luong", "model.score=dot", "seed=1"], "Luong"),
                ("luong", 1, ["model=luong", "model.score=general", "label=Luong"], "Luong"),
                ("none", 1, ["model=none"], "No attention"),
                ("none", 1, ["model=none"], "No attention"),
            ],
            [
                "Luong with model.score=dot", "Luong with model.score=general",
                "No attention", "No attention #2",
            ],
        ),
        (
            [
                ("old", 1, ["model=old"]),
                ("mine", 1, ["model=bahdanau", "variant=mine"], "Bahdanau, additive"),
            ],
            ["old", "mine"],
        ),
        (
            [
                ("luong", 1, ["+model.cell=my_cell.Mine", "scale=0.5"], "Luong global, dot"),
                ("luong", 2, ["+model.cell=my_cell.Mine", "scale=0.5"], "Luong global, dot"),
            ],
            ["Luong global, dot with +model.cell=my_cell.Mine"] * 2,
        ),
        (
            [
                ("luong", 1, ["model.attention.score=a.Dot"], "Luong global, a.Dot"),
                ("luong", 1, ["model.layers=2", "model.attention.score=dot"], "Luong global, dot"),
                ("luong", 1, [], "Luong global, dot"),
            ],
            ["Luong global, a.Dot", "Luong global, dot with model.layers=2", "Luong global, dot"],
        ),
        (
            [
                ("bahdanau", 1, ["model=bahdanau"], "Bahdanau"),
                ("copied", 1, ["model=copied"], "Bahdanau"),
            ],
            ["Bahdanau (bahdanau)", "Bahdanau (copied)"],
        ),
    ],
)  # fmt: skip
def test_people_read_labels_and_what_tells_systems_apart(runs, labels):
    assert [each.label for each in named(*runs)] == labels


def test_systems_without_attention_come_first(tmp_path):
    runs = [
        make_run(tmp_path / name, name, config={"label": label, "model": model})
        for name, label, model in [
            ("transformer", "Transformer", {"heads": 4}),
            ("seq2seq", "No attention", {"attention": None}),
            ("bahdanau", "Bahdanau", {"attention": {"score": "additive"}}),
        ]
    ]
    systems = collect(runs).systems
    assert [system.name for system in systems] == ["seq2seq", "transformer", "bahdanau"]
    assert [system.label for system in systems] == ["No attention", "Transformer", "Bahdanau"]


def test_buckets_are_averaged_over_seeds_and_run_order_is_kept(tmp_path):
    runs = [
        make_run(tmp_path / f"{place}", variant, seed)
        for place, (variant, seed) in enumerate([("transformer", 1), ("luong", 1), ("luong", 2)])
    ]
    comparison = collect(runs)
    assert [system.name for system in comparison.systems] == ["transformer", "luong"]
    evaluation = evaluation_of(runs, scoring_of(edges=[10, 20, 30, 40], resamples=100))
    inside = [n for n, line in enumerate(TEXT.sources) if 11 <= len(line.split()) <= 20]
    scores = [
        sacrebleu.corpus_bleu(
            [translations(TEXT.references, "luong", seed)[n] for n in inside],
            [[TEXT.references[n] for n in inside]],
        ).score
        for seed in (1, 2)
    ]
    middle = evaluation.estimate(evaluation.systems[1], Bounds(11, 20), "bleu")
    assert middle is not None
    assert middle.value == pytest.approx(np.mean(scores))
    assert middle.deviation == pytest.approx(np.std(scores, ddof=1))
    assert middle.seeds == pytest.approx(scores)
    assert evaluation.estimate(evaluation.systems[1], Bounds(31, 40), "bleu") is None


def test_the_open_bucket_of_one_test_set_comes_last(tmp_path):
    short = [n for n, line in enumerate(TEXT.sources) if len(line.split()) <= 10]
    part = TEXT._replace(**{side: [getattr(TEXT, side)[n] for n in short] for side in TEXT._fields})
    runs = [make_run(tmp_path / "0", "luong", text=part), make_run(tmp_path / "1", "none")]
    evaluation = evaluation_of(runs, scoring_of(edges=[10, 20], resamples=100))
    assert [bounds.label for bounds in evaluation.bounds] == ["1–10", "11–20", "21+"]
    assert evaluation.sentences(None) == [len(short), len(TEXT.sources)]
    luong, none = evaluation.systems
    assert evaluation.estimate(luong, Bounds(21, None), "bleu") is None
    assert evaluation.estimate(none, Bounds(21, None), "bleu") is not None


def test_runs_on_one_text_share_a_test_set_and_others_do_not(tmp_path):
    runs = [make_run(tmp_path / "0"), make_run(tmp_path / "1", "none")]
    runs.append(make_run(tmp_path / "2", "luong", text=text(1)))
    first, second, other = (run.test for run in collect(runs).runs)
    assert first is second
    assert other is not first
    assert [len(group.systems) for group in evaluation_of(runs).groups] == [2, 1]


def test_seeds_that_were_tested_on_other_text_are_no_seeds_of_one_line(tmp_path):
    """The corpus changed on the disk between two runs of the same command."""
    runs = [
        make_run(tmp_path / "0", "luong", 1),
        make_run(tmp_path / "1", "luong", 2),
        make_run(tmp_path / "2", "luong", 3, text=text(1), data={"fingerprint": "ffff"}),
    ]
    comparison = collect(runs)
    assert [system.name for system in comparison.systems] == ["luong", "luong, test set 2"]
    assert [len(system.outputs) for system in comparison.systems] == [2, 1]
    assert not condition(comparison, "data").holds


@pytest.mark.parametrize("kept", ["of another sacreBLEU", "none"])
def test_counts_of_another_sacrebleu_are_made_again(tmp_path, kept):
    """Statistics that only the run can count, as likelihoods, are kept."""
    of = "tok:char" if kept != "none" else None
    runs = [make_run(tmp_path / "0", "none"), make_run(tmp_path / "1", "luong", signature=of)]
    unsealed(runs[1])
    if kept == "none":
        (runs[1] / "statistics.npz").unlink()
    else:
        blank = statistics_of([""] * len(TEXT.references), TEXT.references)
        likelihood = np.full((len(TEXT.references), 2), np.log(5.0)) * [1, 1 / np.log(5.0)]
        write_arrays(runs[1] / STATISTICS, {**blank, "likelihood": likelihood})
    evaluation = evaluation_of(runs)
    bleu, perplexity = (
        evaluation.estimate(evaluation.systems[1], None, name) for name in ("bleu", "perplexity")
    )
    hypotheses = translations(TEXT.references, "luong")
    expected = sacrebleu.corpus_bleu(hypotheses, [TEXT.references]).score
    assert bleu is not None
    assert bleu.value == pytest.approx(expected)
    assert (perplexity is None) == (kept == "none")
    assert perplexity is None or perplexity.value == pytest.approx(5)


def test_failed_jobs_are_named_with_their_error(tmp_path):
    hydra = tmp_path / "2" / ".hydra"
    hydra.mkdir(parents=True)
    (hydra / "overrides.yaml").write_text("- model=transformer\n- seed=3\n")
    (tmp_path / "3").mkdir()
    (tmp_path / "3" / "result.json").write_text("{")
    (tmp_path / "4").mkdir()
    (tmp_path / "4" / "result.json").write_text(
        json.dumps({"schema": SCHEMA, "variant": "luong", "seed": 1})
    )
    without_predictions = unsealed(make_run(tmp_path / "5", "none"))
    (without_predictions / "predictions.jsonl").unlink()
    runs = [make_run(tmp_path / "0"), make_failure(tmp_path / "1"), tmp_path / "2"]
    runs += [tmp_path / "3", tmp_path / "4", without_predictions, tmp_path / "6"]
    with verify_files(False):
        comparison = collect(runs)
    assert [run.name for run in comparison.runs] == ["bahdanau"]
    failures = [(job.label, job.error) for job in comparison.failed]
    assert failures[:2] == [
        ("luong, seed 1", "the loss is not a number"),
        ("model=transformer seed=3", "left no result"),
    ]
    assert failures[2][1].startswith(f"{runs[3]}/result.json cannot be read: Expecting property")
    assert failures[3] == ("4", f"{runs[4]}/result.json cannot be read: scores: Field required")
    assert failures[4] == ("5", f"{runs[5]}/predictions.jsonl is missing or has no rows")
    assert failures[5] == ("6", "the folder is missing")


def test_a_job_that_failed_beside_an_older_result_has_failed(tmp_path):
    runs = [make_run(tmp_path / "0"), make_failure(make_run(tmp_path / "1", "luong"))]
    comparison = collect(runs)
    assert [run.name for run in comparison.runs] == ["bahdanau"]
    assert [job.error for job in comparison.failed] == ["the loss is not a number"]


def test_a_failed_job_is_named_by_what_not_all_jobs_have(tmp_path):
    shared = ["scale=0.25", "data.source=en"]
    for number, own in enumerate((["model.layers=2"], ["model.layers=3"])):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        failure = Failure(variant="luong", seed=1, overrides=[*shared, *own], error="no memory")
        write_record(folder / FAILURE, failure)
    run = make_run(tmp_path / "2", overrides=shared)
    failed = collect([tmp_path / "0", tmp_path / "1", run]).failed
    assert [job.label for job in failed] == [
        "luong, seed 1, model.layers=2", "luong, seed 1, model.layers=3",
    ]  # fmt: skip


def test_a_job_cut_off_while_hydra_wrote_its_record_has_failed(tmp_path):
    hydra = tmp_path / "1" / ".hydra"
    hydra.mkdir(parents=True)
    (hydra / "overrides.yaml").write_text("- model=transformer\n- 'seed=")
    [job] = collect([make_run(tmp_path / "0"), tmp_path / "1"]).failed
    assert job.error.startswith(f"{hydra}/overrides.yaml cannot be read: while scanning a quoted")
    assert "\n" not in job.error


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def scrambled(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes(255 - byte for byte in content[middle : middle + 40]) + b"\xff"


@pytest.mark.parametrize(
    "name", ["result.json", "predictions.jsonl", "statistics.npz", "word_counts.json"]
)
@pytest.mark.parametrize("damage", [lambda _: b"", lambda _: b"\xff\xfe", cut, scrambled])
def test_a_damaged_file_is_a_failed_job_and_not_the_end(tmp_path, name, damage):
    runs = [make_run(tmp_path / "0"), make_run(tmp_path / "1", "luong")]
    file = runs[1] / name
    file.write_bytes(damage(file.read_bytes()))
    [changed] = collect(runs).failed
    assert f"{name}: is not what the run wrote" in changed.error
    with verify_files(False):
        comparison = collect(runs)
    assert [run.name for run in comparison.runs] == ["bahdanau"]
    [job] = comparison.failed
    assert job.error.startswith(f"{file} ")
    assert "\n" not in changed.error + job.error


def test_runs_are_found_by_job_number_and_comparisons_are_none(tmp_path):
    for name in ("10", "9", "named"):
        make_run(tmp_path / name)
    make_failure(tmp_path / "11")
    (tmp_path / "12" / ".hydra").mkdir(parents=True)
    (tmp_path / "13" / ".hydra").mkdir(parents=True)
    (tmp_path / "13" / "comparison.json").touch()
    (tmp_path / "14").mkdir()
    (tmp_path / "multirun.yaml").touch()
    names = [folder.name for folder in find_runs(tmp_path)]
    assert names == ["9", "10", "11", "12", "named"]
    assert find_runs(tmp_path / "9") == [tmp_path / "9"]
    assert find_runs(Path(tmp_path / "nowhere")) == []


def test_the_perplexity_of_a_diverged_run_is_beyond_numbers_and_left_out(tmp_path):
    """A thousand nats a token: its exponential is infinite, which JSON cannot hold."""
    run = unsealed(make_run(tmp_path / "0", "none"))
    counted = read_arrays(run / STATISTICS)
    assert counted is not None
    likelihood = np.tile([1000.0, 1.0], (len(TEXT.references), 1))
    write_arrays(run / STATISTICS, {**counted, "likelihood": likelihood})
    findings = findings_of([run])
    assert findings.evaluation.estimate(findings.evaluation.systems[0], None, "perplexity") is None
    for table in make_report(findings, REPORT).tables.values():
        json.loads(as_json(table))
    [group] = findings.evaluation.groups
    assert "inf" not in format_csv(curve_points(group.systems, group.subsets), SCORING.draws)


TASK = ["model=bahdanau,seq2seq", "sweep.storage=postgresql://me:secret@host/studies"]


@pytest.mark.parametrize(
    ("file", "given", "expected"),
    [
        ("multirun.yaml", ["hydra.mode=MULTIRUN"], "python run.py -m model=bahdanau,seq2seq "),
        ("multirun.yaml", [], "python run.py model=bahdanau,seq2seq "),
        (".hydra/hydra.yaml", [], "python run.py model=bahdanau,seq2seq "),
    ],
)
def test_the_command_is_told_without_passwords(file: str, given, expected, tmp_path: Path):
    kept = tmp_path / file
    kept.parent.mkdir(exist_ok=True)
    node = {"hydra": {"sweep": {"dir": "${folder:x}"}, "overrides": {"hydra": given, "task": TASK}}}
    OmegaConf.save(OmegaConf.create(node), kept)
    command = command_of(tmp_path)
    assert command is not None
    assert command.startswith(expected)
    assert "secret" not in command
    assert command_of(tmp_path / "without files of Hydra") is None


def test_question_and_date_are_read(tmp_path: Path):
    settings = {
        "about": {"title": "Who wins?", "question": None, "papers": ["https://example.org"]}
    }
    (tmp_path / ".hydra").mkdir()
    OmegaConf.save(OmegaConf.create(settings), tmp_path / ".hydra" / "config.yaml")
    run = tmp_path / "0"
    run.mkdir()
    (run / RESULT).touch()
    os.utime(run / RESULT, (1_700_000_000, 1_700_000_000))
    origin = origin_of(tmp_path, [run])
    assert (origin.title, origin.question) == ("Who wins?", None)
    assert origin.papers == ("https://example.org",)
    assert origin.date == "2023-11-14"


WRITTEN = (
    *("statistics.npz", "attention.npz", "word_counts.json", "bleu_by_length.csv"),
    *("predictions.jsonl", "history.csv", "head_attention.npz", "contrast.npz"),
)
"""Files of a run with several heads and contrastive pairs."""


@pytest.fixture(scope="module")
def complete(tmp_path_factory) -> Path:
    """A run with every file that a comparison may read."""
    pair = ContrastPair("a", "b", "c", "number", 1, None)
    point = HistoryPoint(target_tokens=1, seconds=1, train_loss=1, val_loss=1, val_bleu=1)
    return make_run(
        tmp_path_factory.mktemp("complete") / "0",
        heads={0: np.ones((1, 2, 2, 2))},
        history=[point],
        choices=PairChoices.of([pair], np.ones(1), np.zeros(1)),
    )


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("verify", [True, False])
def test_a_lost_file_ends_the_comparison_with_its_name(complete, tmp_path, name, verify):
    run = tmp_path / "1"
    shutil.copytree(complete, run)
    collect([complete, run])
    (run / name).unlink()
    with (
        verify_files(verify),
        refused(f"{run / name} is missing, although the run wrote it", error=MissingFileError),
    ):
        collect([complete, run])
