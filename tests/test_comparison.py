"""Run folders side by side: labels, means over seeds, conditions, what failed."""

import json
from pathlib import Path

import pytest

from lightning_modules.metrics.lengths import BucketScore
from lightning_modules.run_folder import Result, find_runs
from sweeps.comparison import Spread, collect, label_runs
from tests.run_folders import bucket_scores, make_failure, make_run, result


def labels_of(*runs):
    """Labels of runs given as (variant, seed, overrides)."""
    return label_runs(
        [
            Result.model_validate(result(variant, seed, overrides=overrides))
            for variant, seed, overrides in runs
        ]
    )


def condition(comparison, name):
    [found] = [condition for condition in comparison.conditions if condition.name == name]
    return found


def test_the_label_is_the_variant_and_seeds_share_it():
    assert labels_of(
        ("none", 1, ["model=none", "seed=1", "data=grammar"]),
        ("none", 2, ["seed=2", "data=grammar"]),
        ("luong", 1, ["model=luong", "data=grammar", "+model.score=dot"]),
    ) == ["none", "none", "luong"]


def test_overrides_that_differ_within_a_variant_are_appended():
    shared = ["model=luong", "budget=1000"]
    assert labels_of(
        ("luong", 1, [*shared, "seed=1", "model.score=dot"]),
        ("luong", 2, [*shared, "seed=2", "model.score=dot"]),
        ("luong", 1, [*shared, "seed=1", "model.score=general", "lr=1"]),
        ("luong", 1, [*shared, "seed=1"]),
    ) == ["luong, model.score=dot"] * 2 + ["luong, model.score=general, lr=1", "luong"]


def test_the_same_run_twice_still_has_two_labels():
    run = ("none", 1, ["model=none", "seed=1"])
    assert labels_of(run, run, run) == ["none", "none #2", "none #3"]


def test_buckets_are_averaged_over_seeds_and_run_order_is_kept(tmp_path):
    first = [BucketScore(1, 10, 5, 40.0), BucketScore(11, 20, 0, None)]
    second = [BucketScore(1, 10, 5, 50.0), BucketScore(11, 20, 0, None)]
    comparison = collect(
        [
            make_run(tmp_path / "0", "transformer", 1),
            make_run(tmp_path / "1", "luong", 1, scores=first),
            make_run(tmp_path / "2", "luong", 2, scores=second),
        ]
    )
    assert [variant.label for variant in comparison.variants] == ["transformer", "luong"]
    luong = comparison.variants[1]
    short, middle = luong.buckets
    assert short.bleu == Spread(mean=45.0, deviation=50**0.5, low=40.0, high=50.0)
    assert middle.bleu is None
    assert luong.seeds == [1, 2]


def test_the_open_bucket_of_one_run_comes_last(tmp_path):
    comparison = collect(
        [
            make_run(tmp_path / "0", "luong", scores=bucket_scores(open_bucket=True)),
            make_run(tmp_path / "1", "none"),
        ]
    )
    assert [bucket.label for bucket in comparison.buckets][-2:] == ["51–60", "61+"]


def test_equal_runs_hold_every_condition(tmp_path):
    runs = [
        make_run(tmp_path / f"{variant}{seed}", variant, seed)
        for variant in ("none", "bahdanau")
        for seed in (1, 2)
    ]
    conditions = collect(runs).conditions
    assert [c.name for c in conditions if not c.holds] == []
    assert len(conditions) == 7


@pytest.mark.parametrize(
    ("name", "changes", "told"),
    [
        ("data", {"data": {"fingerprint": "ffff"}}, "luong: fingerprint ffff"),
        ("data", {"data": {}}, "not recorded by luong"),
        (
            "target tokens",
            {"training": {"target_tokens": 7, "data_order": "9f3a1"}},
            "1,500,000 in training, but luong: 7 in training",
        ),
        (
            "data order",
            {"training": {"target_tokens": 1_500_000, "data_order": "other"}},
            "seed 1 saw different batches",
        ),
        ("parameters", {"parameters": 1_625_000}, "100.0% apart (none smallest, luong largest"),
        ("decoding", {"decoding": {"beam_size": 1}}, "luong: beam_size 1"),
        ("BLEU signature", {"signature": "tok:char"}, "luong: tok:char"),
        ("length unit", {"length_unit": "target words"}, "luong: target words"),
    ],
)
def test_a_condition_not_held_says_who_differs(tmp_path, name, changes, told):
    runs = [
        make_run(tmp_path / "0", "none", parameters=812_500),
        make_run(tmp_path / "1", "bahdanau", parameters=812_500),
        make_run(tmp_path / "2", "luong", **({"parameters": 812_500} | changes)),
    ]
    comparison = collect(runs)
    assert [c.name for c in comparison.conditions if not c.holds] == [name]
    assert told in condition(comparison, name).text


@pytest.mark.parametrize(("other", "holds"), [(1_500_400, True), (1_600_000, False)])
def test_seeds_may_end_their_budget_in_another_batch(tmp_path, other, holds):
    runs = [
        make_run(
            tmp_path / f"{variant}{seed}",
            variant,
            seed,
            training={"target_tokens": tokens, "data_order": f"order {seed}"},
        )
        for variant in ("none", "bahdanau")
        for seed, tokens in ((1, 1_500_000), (2, other))
    ]
    found = condition(collect(runs), "target tokens")
    assert found.holds is holds
    assert found.text == f"1,500,000 to {other:,} in training, by seed"


@pytest.mark.parametrize(("parameters", "holds"), [(1_100_000, True), (1_100_001, False)])
def test_parameters_may_differ_by_ten_percent(tmp_path, parameters, holds):
    runs = [
        make_run(tmp_path / "0", "none", parameters=1_000_000),
        make_run(tmp_path / "1", "luong", parameters=parameters),
    ]
    found = condition(collect(runs), "parameters")
    assert found.holds is holds
    assert "10.0% apart" in found.text


def test_failed_jobs_are_named_with_their_error(tmp_path):
    hydra = tmp_path / "2" / ".hydra"
    hydra.mkdir(parents=True)
    (hydra / "overrides.yaml").write_text("- model=transformer\n- seed=3\n")
    (tmp_path / "3").mkdir()
    (tmp_path / "3" / "result.json").write_text("{")
    (tmp_path / "4").mkdir()
    (tmp_path / "4" / "result.json").write_text(json.dumps({"variant": "luong", "seed": 1}))
    without_scores = make_run(tmp_path / "5", "none")
    (without_scores / "bleu_by_length.csv").unlink()
    runs = [make_run(tmp_path / "0"), make_failure(tmp_path / "1"), tmp_path / "2"]
    comparison = collect([*runs, tmp_path / "3", tmp_path / "4", without_scores])
    assert [run.label for run in comparison.runs] == ["bahdanau"]
    told = [(job.label, job.error) for job in comparison.failed]
    assert told[:2] == [
        ("luong, seed 1", "the loss is not a number"),
        ("model=transformer seed=3", "left no result"),
    ]
    assert told[2][1].startswith("result.json cannot be read: Expecting property name")
    assert told[3] == ("4", "result.json cannot be read: scores: Field required")
    assert told[4] == ("5", "bleu_by_length.csv is missing or has no rows")


def test_the_smallest_result_is_enough(tmp_path):
    folder = make_run(tmp_path / "0")
    smallest = {"variant": "luong", "seed": 1, "scores": {"bleu": 12.0}}
    (folder / "result.json").write_text(json.dumps(smallest))
    comparison = collect([folder])
    assert comparison.runs[0].label == "luong"
    assert not condition(comparison, "data").holds


def test_runs_are_found_by_job_number_and_comparisons_are_none(tmp_path):
    for name in ("10", "9", "named"):
        make_run(tmp_path / name)
    make_failure(tmp_path / "11")
    (tmp_path / "12" / ".hydra").mkdir(parents=True)
    (tmp_path / "13" / ".hydra").mkdir(parents=True)
    (tmp_path / "13" / "comparison.json").touch()
    (tmp_path / "14").mkdir()
    (tmp_path / "multirun.yaml").touch()
    found = [folder.name for folder in find_runs(tmp_path)]
    assert found == ["9", "10", "11", "12", "named"]
    assert find_runs(tmp_path / "9") == [tmp_path / "9"]
    assert find_runs(Path(tmp_path / "nowhere")) == []
