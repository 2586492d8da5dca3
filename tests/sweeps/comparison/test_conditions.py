"""What must be equal for a comparison to be fair."""

from typing import Any

import pytest

from sweeps.comparison.collect import collect
from tests.helpers.run_folders import make_run


def condition(comparison, name):
    [match] = [condition for condition in comparison.conditions if condition.name == name]
    return match


def test_equal_runs_hold_every_condition(tmp_path):
    runs = [
        make_run(tmp_path / f"{variant}{seed}", variant, seed)
        for variant in ("none", "bahdanau")
        for seed in (1, 2)
    ]
    conditions = collect(runs).conditions
    assert [c.name for c in conditions if not c.holds] == []
    names = ["data", "budget", "data order", "parameters", "precision", "decoding"]
    names += ["attention step", "words of scores", "optimizer", "learning rate", "schedule"]
    names += [
        "label smoothing",
        "dropout",
        "teacher forcing",
        "averaging",
        "products",
        "matmul precision",
        "kernels",
    ]
    names.append("code")
    assert [c.name for c in conditions] == names


@pytest.mark.parametrize(
    ("name", "changes", "text"),
    [
        ("data", {"data": {"fingerprint": "ffff"}}, "luong: fingerprint ffff"),
        ("data", {"data": {}}, "not recorded by luong"),
        (
            "budget",
            {"training": {"target_tokens": 7, "data_order": "9f3a1"}},
            "1,500,000 target tokens, but luong: 7",
        ),
        (
            "data order",
            {"training": {"target_tokens": 1_500_000, "data_order": "other"}},
            "seed 1 saw different batches",
        ),
        ("code", {"code": "1+2"}, "version ba9876543210, but luong: version 1"),
        ("parameters", {"parameters": 1_625_000}, "100.0% apart (none smallest, luong largest"),
        ("precision", {"config": {"trainer": {"precision": "bf16-mixed"}}}, "luong: bf16-mixed"),
        ("decoding", {"decoding": {"beam_size": 1}}, "luong: beam_size 1"),
        (
            "products",
            {"environment": {"products": "oneDNN from 1,048,576 multiplications"}},
            "multiplied by torch, but luong: multiplied by oneDNN from 1,048,576 multiplications",
        ),
        (
            "matmul precision",
            {"environment": {"matmul_precision": "high"}},
            "highest, but luong: high",
        ),
        ("kernels", {"environment": {"kernels": "rows"}}, "plain, but luong: rows"),
        (
            "words of scores",
            {"config": {"scoring": {"tokenize": {"source": None, "target": "zh"}}}},
            "luong: source 13a, target zh",
        ),
        ("attention step", {"config": {"scoring": {"attention_step": "read"}}}, "luong: read"),
        ("label smoothing", {"config": {"label_smoothing": 0.2}}, "0.1, but luong: 0.2"),
        ("schedule", {"config": {"scheduler": None}}, "linear, but luong: none"),
        (
            "optimizer",
            {"config": {"trainer": {"precision": "32-true", "gradient_clip_val": 5}}},
            "Adam, betas [0.9, 0.98], gradient_clip_val 5",
        ),
    ],
)
def test_a_condition_not_held_says_who_differs(tmp_path, name, changes, text):
    runs = [
        make_run(tmp_path / "0", "none", parameters=812_500),
        make_run(tmp_path / "1", "bahdanau", parameters=812_500),
        make_run(tmp_path / "2", "luong", **({"parameters": 812_500} | changes)),
    ]
    comparison = collect(runs)
    assert [c.name for c in comparison.conditions if not c.holds] == [name]
    assert text in condition(comparison, name).text


def test_runs_that_leave_their_budget_unspent_do_not_hold_it(tmp_path):
    cut = {"target_tokens": 900, "data_order": "9f3a1", "ended_by": "trainer.max_steps=3"}
    runs = [make_run(tmp_path / name, name, training=cut) for name in ("none", "luong")]
    checked = condition(collect(runs), "budget")
    assert checked.state == "NOT HELD"
    by = "trainer.max_steps=3"
    assert checked.text == f"900 target tokens; ended early: none by {by}; luong by {by}"


@pytest.mark.parametrize(
    ("given", "beam_size", "state"),
    [(True, 4, "differs by design"), (False, 4, "NOT HELD"), (True, 1, "NOT HELD")],
)
def test_an_oracle_differs_by_design_and_no_other_search_does(tmp_path, given, beam_size, state):
    runs = []
    for length, size in ((None, 4), ("reference", beam_size)):
        override = f"decoding.length={length or 'null'}"
        runs.append(
            make_run(
                tmp_path / str(length),
                overrides=["model=bahdanau", *([override] if given else [])],
                decoding={"search": "BeamSearch", "beam_size": size, "length": length},
            )
        )
    assert condition(collect(runs), "decoding").state == state


def rate(value):
    return {"config": {"optimizer": {"lr": value}}}


def test_what_files_of_models_set_differs_by_design(tmp_path):
    runs = [
        make_run(tmp_path / "0", "none", **rate(5e-3)),
        make_run(tmp_path / "1", "luong", **rate(4e-3)),
    ]
    checked = condition(collect(runs), "learning rate")
    assert (checked.state, checked.holds) == ("differs by design", True)
    assert checked.text == "0.005, but luong: 0.004"


@pytest.mark.parametrize(
    ("commands", "state"),
    [
        (["optimizer.lr=0.005", "optimizer.lr=0.004"], "differs by design"),
        (["optimizer=adam", "optimizer=sgd"], "differs by design"),
        (["optimizer.lr=0.005", "label_smoothing=0.1"], "NOT HELD"),
    ],
)
def test_lists_of_a_command_differ_by_design_and_one_stray_value_does_not(
    tmp_path, commands, state
):
    runs = [
        make_run(tmp_path / f"{n}", variant, overrides=[f"model={variant}", command], **rate(lr))
        for n, (variant, command, lr) in enumerate(
            zip(("none", "luong"), commands, (5e-3, 4e-3), strict=True)
        )
    ]
    assert condition(collect(runs), "learning rate").state == state


def test_what_studies_chose_differs_by_design(tmp_path):
    chosen: dict[str, Any] = {"config": {"label_smoothing": 0.2}}
    runs = [make_run(tmp_path / "0", "none"), make_run(tmp_path / "1", "luong", **chosen)]
    assert condition(collect(runs), "label smoothing").state == "NOT HELD"
    tuned = collect(runs, tuned=["label_smoothing"])
    assert condition(tuned, "label smoothing").state == "differs by design"


def test_a_setting_without_a_value_is_as_in_a_run_that_did_not_have_it(tmp_path):
    newer = {"beam_size": 4, "length_penalty": 0.6, "replace_unknown": None}
    runs = [make_run(tmp_path / "0", "none"), make_run(tmp_path / "1", "luong", decoding=newer)]
    assert condition(collect(runs), "decoding").text == "beam_size 4, length_penalty 0.6"
    copied = make_run(tmp_path / "2", "bahdanau", decoding=newer | {"replace_unknown": "copy"})
    assert not condition(collect([*runs, copied]), "decoding").holds


def test_the_search_for_candidates_counts_by_its_settings_but_not_by_its_seed(tmp_path):
    runs = []
    for name, many, seed in (("none", 16, 1), ("luong", 16, 2), ("bahdanau", 9, 3)):
        candidates = {"_target_": "a.SamplingSearch", "n_best": many, "top_k": None, "seed": seed}
        search = {"search": "MinimumBayesRisk", "n_best": 1, "candidates": candidates}
        runs.append(make_run(tmp_path / name, name, decoding=search))
    assert condition(collect(runs[:2]), "decoding").text == (
        "candidates.SamplingSearch, candidates.n_best 16, n_best 1, search MinimumBayesRisk"
    )
    assert not condition(collect(runs), "decoding").holds


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
    checked = condition(collect(runs), "budget")
    assert checked.holds is holds
    assert checked.text == f"1,500,000 to {other:,} target tokens, by seed"


@pytest.mark.parametrize(("parameters", "holds"), [(1_100_000, True), (1_100_001, False)])
def test_parameters_may_differ_by_ten_percent(tmp_path, parameters, holds):
    runs = [
        make_run(tmp_path / "0", "none", parameters=1_000_000),
        make_run(tmp_path / "1", "luong", parameters=parameters),
    ]
    checked = condition(collect(runs), "parameters")
    assert checked.holds is holds
    assert "10.0% apart" in checked.text


def of_budget(**spent):
    """A run with a budget of the first kind named in ``spent``, and the amounts it spent."""
    kind = next(iter(spent))
    training = {"target_tokens": 1000, "updates": 10, "data_order": "9f3a", **spent}
    return {"config": {"budget": {kind: 1}}, "training": training}


@pytest.mark.parametrize(
    ("first", "second", "holds", "text"),
    [
        (of_budget(updates=500), of_budget(updates=500), True, "500 updates; trained on 1,000"),
        (of_budget(updates=500), of_budget(updates=501), False, "500 to 501 updates"),
        (of_budget(flops=1e12), of_budget(flops=1.009e12), True, "FLOPs, 0.90% apart"),
        (of_budget(flops=1e12), of_budget(flops=1.011e12), False, "FLOPs, 1.10% apart"),
        (
            of_budget(seconds=60.1, target_tokens=4000),
            of_budget(seconds=60.2, target_tokens=9000),
            True,
            "60.1 to 60.2 seconds, 0.17% apart because the last update exceeds the budget; trained "
            "on 4,000 to 9,000 target tokens",
        ),
        (of_budget(seconds=60.0), of_budget(updates=500), False, "in seconds, but luong: in upd"),
    ],
)
def test_budgets_are_compared_by_kind_and_by_what_was_spent(tmp_path, first, second, holds, text):
    runs = [make_run(tmp_path / "0", "none", **first), make_run(tmp_path / "1", "luong", **second)]
    checked = condition(collect(runs), "budget")
    assert checked.holds is holds
    assert text in checked.text


@pytest.mark.parametrize(("order", "holds"), [("same", True), ("other", False)])
def test_runs_that_end_apart_are_compared_where_both_were(tmp_path, order, holds):
    """In equal time, a fast variant makes more updates."""
    spent = {"seconds": 60.0}
    slow = of_budget(**spent, data_order="at 6", data_order_at={1: "a", 2: "b", 4: "same"})
    at = {1: "a", 2: "b", 4: order, 8: "d"}
    fast = of_budget(**spent, data_order="at 9", data_order_at=at)
    runs = [make_run(tmp_path / "0", "none", **slow), make_run(tmp_path / "1", "luong", **fast)]
    checked = condition(collect(runs), "data order")
    assert checked.holds is holds
    assert ("compared up to update 4: the budget ends runs unequally long" in checked.text) is holds


def matched(by="parameters", variant="bahdanau", size=101, other=100):
    """The configuration of a run that was sized to match another variant."""
    return {"match": {"by": by, "variant": variant, "found": {"own": size, "other": other}}}


@pytest.mark.parametrize(
    ("first", "second", "name", "text"),
    [
        (matched(), matched(size=100), "parameters", None),
        (matched(), matched(size=103), "parameters", "luong 103 (+3.0%, too far)"),
        (matched(), matched(other=120, size=120), "parameters", "100 of bahdanau and to 120 of"),
        (matched("flops"), matched("flops", size=99), "flops", None),
        (matched("flops"), {}, "flops", "luong 500 (+400.0%, too far)"),
        (matched("flops"), matched(), "size", "matched by flops and by parameters"),
    ],
)
def test_sizes_that_were_to_match_are_listed_run_by_run(tmp_path, first, second, name, text):
    training = {"target_tokens": 2, "flops": 1000.0, "data_order": "9f3a"}
    runs = [
        make_run(
            tmp_path / variant,
            variant,
            config=config,
            training=training,
            parameters=config.get("match", {}).get("found", {}).get("own", 100),
        )
        for variant, config in (("none", first), ("luong", second))
    ]
    checked = condition(collect(runs), name)
    assert checked.holds is (text is None)
    assert text is None or text in checked.text
    if checked.holds:
        assert "within 2% of the 100 of bahdanau: none 101 (+1.0%), luong" in checked.text


def plateau_run(folder, variant: str, tokens: int, ended_by: str | None, share: float = 0.02):
    training: dict[str, Any] = {"target_tokens": tokens, "ended_by": ended_by}
    training |= {"data_order": f"{tokens}", "data_order_at": {1: "first", 2: "second"}}
    config = {"budget": {"target_tokens": 9000, "plateau": share}}
    return make_run(folder, variant, training=training, config=config)


def test_runs_that_end_at_their_plateau_have_spent_their_budget(tmp_path):
    runs = [
        plateau_run(tmp_path / "0", "none", 4000, "budget.plateau=0.02"),
        plateau_run(tmp_path / "1", "luong", 9000, None),
    ]
    comparison = collect(runs)
    found = condition(comparison, "budget")
    assert found.state == "differs by design"
    assert found.text == (
        "until a doubling takes less than 0.02 of the validation loss off: 4,000 to 9,000 target "
        "tokens; the most was spent before the plateau by luong"
    )
    assert condition(comparison, "data order").holds
    other = plateau_run(tmp_path / "2", "transformer", 4000, "budget.plateau=0.05", share=0.05)
    assert "transformer: plateau 0.05" in condition(collect([*runs, other]), "budget").text
    early = plateau_run(tmp_path / "3", "bahdanau", 4000, "trainer.max_steps=3")
    found = condition(collect([*runs, early]), "budget")
    assert not found.holds
    assert "ended early: bahdanau by trainer.max_steps=3" in found.text


def on_gpus(tmp_path, kernels, **changes):
    """The condition of kernels over runs of two systems with two seeds each."""
    runs = []
    for number, (variant, each) in enumerate(kernels):
        given = {key: values[number] for key, values in changes.items()}
        environment = {"kernels": each, "device": "a GPU"}
        place = tmp_path / str(number)
        runs.append(make_run(place, variant, number // 2, environment=environment, **given))
    return condition(collect(runs), "kernels")


PACKED, CAPTURED = "rows, packed sentences", "rows, captured updates"


def test_the_policy_may_choose_other_kernels_for_another_model(tmp_path):
    systems = [("none", CAPTURED), ("luong", PACKED)] * 2
    assert on_gpus(tmp_path, systems).state == "differs by design"


def test_seeds_of_a_system_have_the_same_kernels(tmp_path):
    systems = [("none", CAPTURED), ("luong", PACKED), ("none", PACKED), ("luong", PACKED)]
    assert on_gpus(tmp_path, systems).state == "NOT HELD"


def test_kernels_that_each_command_gives_differ_by_design(tmp_path):
    given = [{"kernels": "plain"}, {"kernels": "auto"}] * 2
    overrides = [[f"kernels={each['kernels']}"] for each in given]
    systems = [("none", "plain"), ("luong", PACKED)] * 2
    found = on_gpus(tmp_path, systems, config=given, overrides=overrides)
    assert found.state == "differs by design"
