"""The queue for a GPU, on the CPU: its order and time limits, each item in miniature, the page."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from itertools import product

import pytest
import torch

from tests.helpers.commands import ROOT
from tests.tools.benchmarks.gpu import queue
from tests.tools.benchmarks.gpu.__main__ import PAGE
from tests.tools.benchmarks.gpu.items import HERE, Bench, Item, all_items
from tests.tools.benchmarks.gpu.measuring import MINIATURE, System, training_overrides
from tests.tools.benchmarks.gpu.page import AIMS, page_text, peak_flops
from tests.tools.benchmarks.gpu.queue import Place, next_item, run_item, work_off
from tests.tools.benchmarks.gpu.results import (
    DONE,
    Machine,
    Result,
    file_of,
    read_lines,
    read_results,
    write_result,
)

H100 = Machine("NVIDIA H100 80GB HBM3", "580.1", "2.11.0+cu130", "3.6.0")
ITEMS = {item.name: item for item in all_items()}
BASE = "train Transformer published bf16"


def result_of(item: Item, *figures, outcome=DONE, code=None) -> Result:
    made = Result.of(item.name, H100, code or item.version, 12.0, outcome)
    return replace(made, figures=list(figures))


def figure(variant, size, kind, **more):
    system = {"variant": variant, "size": size, "precision": "bf16", "kind": kind}
    return system | {"kernels": "rows", "flops_per_token": 989e6, "peak_memory_mib": 100.0} | more


def test_items_have_names_of_their_own():
    names = [item.name for item in all_items()]
    assert len({file_of(ROOT, H100, name) for name in names}) == len(names)
    assert names[:2] == ["tests", "waits"]  # correctness first
    assert all(len(item.version) == 12 for item in all_items())


def test_what_is_missing_comes_first_then_what_failed():
    first, second, third = all_items()[2:5]
    items = [first, second, third]
    assert next_item(items, {}, [], 1000) is first
    known = {first.name: result_of(first)}
    assert next_item(items, known, [], 1000) is second
    known[second.name] = result_of(second, outcome="failed: x")
    assert next_item(items, known, [], 1000) is third
    known[third.name] = result_of(third)
    assert next_item(items, known, [], 1000) is second
    assert next_item(items, known, [second.name], 1000) is None
    known[first.name] = result_of(first, code="other")
    assert next_item(items, known, [], 1000) is first


def test_an_item_that_does_not_fit_lets_another_pass():
    long, short = Item("long", 500, (HERE,), print), Item("short", 20, (HERE,), print)
    assert next_item([long, short], {}, [], 100) is short
    assert next_item([long, short], {}, [], 260) is long
    assert next_item([long], {}, [], 100) is None


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A place whose items are a program of the test, which gets the name of the item."""
    program = tmp_path / "items.py"
    program.write_text(
        "import sys, time, json\n"
        "lines = sys.argv[2].partition('=')[2]\n"
        "with open(lines, 'a') as out: out.write(json.dumps({'found': 1}) + chr(10))\n"
        "if sys.argv[1] == 'hangs': time.sleep(100)\n"
        "if sys.argv[1] == 'breaks': raise SystemExit('no such kernel')\n"
    )
    monkeypatch.setattr(queue, "__package__", "here")
    monkeypatch.setattr(queue, "ROOT", tmp_path)
    monkeypatch.setattr(queue, "GRACE", 1.0)
    (tmp_path / "here").mkdir()
    program.rename(tmp_path / "here" / "items.py")
    return Place(H100, tmp_path / "results", tmp_path / "logs")


@pytest.mark.long
def test_an_item_that_hangs_or_breaks_keeps_its_figures(place):
    outcomes = {
        name: run_item(Item(name, 2, (HERE,), print), 2.0, place)
        for name in ("ends", "hangs", "breaks")
    }
    assert [each.figures for each in outcomes.values()] == [[{"found": 1}]] * 3
    assert outcomes["ends"].is_done
    assert outcomes["hangs"].outcome == "out of time after 2 s"
    assert outcomes["breaks"].outcome == "failed: no such kernel"


@pytest.mark.long
def test_a_start_continues_where_another_stopped(place):
    items = [Item(name, 2, (HERE,), print) for name in ("breaks", "ends")]
    pages = []
    known: dict[str, Result] = {}
    work_off(items, known, 60, place, lambda: pages.append(len(known)))
    assert pages == [1, 2]
    assert {each.item: each.is_done for each in read_results(place.results)} == {
        "breaks": False,
        "ends": True,
    }
    again = {each.item: each for each in read_results(place.results)}
    assert next_item(items, again, [], 60) is items[0]


def test_half_a_line_does_not_count(tmp_path):
    file = tmp_path / "figures.jsonl"
    assert read_lines(file) == []
    file.write_text(json.dumps({"a": 1}) + "\n" + '{"b"')
    assert read_lines(file) == [{"a": 1}]


def made_up(beam=6100.0):
    """Results of the aims, made up."""
    base = [
        figure("Transformer", "published", "auto", tokens_per_second=3e5),
        figure("Transformer", "published", "plain", tokens_per_second=1e5),
    ]
    additive = [
        figure("one layer, additive", "published", "auto", tokens_per_second=6e5),
        figure("one layer, additive", "published", "loop", tokens_per_second=2e5),
        {**figure("one layer, additive", "published", "plain"), "error": "out of memory"},
    ]
    search = [figure("Transformer", "published", "search", greedy=9000.0, beam=beam)]
    laptop = [
        figure("RNNsearch", "laptop", "auto", tokens_per_second=9e4),
        figure("RNNsearch", "laptop", "plain", tokens_per_second=2e4),
    ]
    failed = {"failed": "tests/gpu/test_waits.py::test_x[cuda-bahdanau]", "why": "it waits"}
    return [
        result_of(ITEMS["tests"], {"passed": 40, "skipped": 2}),
        result_of(ITEMS["waits"], failed, {"passed": 26, "failed": 1}),
        result_of(ITEMS[BASE], *base),
        result_of(
            ITEMS["train one layer, additive published bf16"], *additive, outcome="failed: x"
        ),
        result_of(ITEMS["search Transformer published bf16"], *search),
        result_of(ITEMS["train RNNsearch laptop bf16"], *laptop, code="other"),
    ]


def missing_in(text):
    """Return the names that a page lists as missing; "…" of a line is each of its systems."""
    names = set()
    for line in re.findall(r"^- (.+)$", text.partition("\n## Missing")[2], re.M):
        forms, _, systems = line.rpartition(": ")
        for form, system in product(forms.split("; "), systems.split("; ")):
            names.add(form.replace("…", system) if form else system)
    return names


def test_the_page_holds_aims_and_figures(tmp_path):
    for each in made_up():
        write_result(tmp_path, each)
    text = page_text(all_items(), list(read_results(tmp_path)))
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")]
    aims = {row[0].strip("| "): row[-1].strip("| ") for row in rows}
    found = [aims[aim.name] for aim in AIMS]
    # 3e5 tokens of 989e6 FLOPs, of a peak of 989e12: 30%.
    assert found[:4] == ["30%, reached", "–", "3.00, reached", "–"]
    assert found[4:] == ["4.5, **missed**", "6,100, reached", "9,000, reached", "1, **missed**"]
    assert "| Transformer | published | bf16 | rows | 300,000 | 30% | 100 | 100,000 | 10% |" in text
    assert "- test_x[cuda-bahdanau]: it waits" in text
    assert "40 passed, 2 skipped" in text
    assert "train RNNsearch laptop bf16: measured on other code (other" in text
    assert f"{len(all_items()) - 5} of {len(all_items())} items:" in text
    assert missing_in(text) == ITEMS.keys() - {each.item for each in made_up() if each.is_done}
    assert len({line.count("|") for line in text.splitlines() if "Transformer | pub" in line}) == 1


def test_the_page_without_any_result_says_so():
    text = page_text(all_items(), [])
    assert f"All {len(all_items())} items" in text
    assert "| 0.11" not in text
    assert "| 11% | ≥ 28% |" in text


def test_the_page_was_written_with_all_results():
    """If not, ``python -m tests.tools.benchmarks.gpu --page`` writes it."""
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"| {aim.name} |" in text for aim in AIMS)
    for result in read_results(ROOT / "docs" / "findings" / "gpu"):
        assert f"## {result.machine.gpu}\n" in text
        assert result.is_done == (result.item not in missing_in(text))


def test_a_part_of_a_gpu_has_no_peak():
    assert peak_flops("NVIDIA H200", "bf16") == 989e12
    assert peak_flops("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "bf16") is None


def test_a_training_is_measured_with_the_batches_of_its_load():
    given = training_overrides(System("one layer, general", "laptop", "bf16"), MINIATURE, "cpu")
    assert "batching.max_tokens=150" in given
    assert "trainer.precision=bf16-mixed" in given


@pytest.mark.long
def test_without_a_gpu_there_is_one_line_and_no_page():
    before = PAGE.read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "tests.tools.benchmarks.gpu", "--minutes", "1"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert line.startswith("error: torch finds no GPU")
    assert PAGE.read_bytes() == before


KINDS_OF_ITEMS = [
    pytest.param("waits"),
    pytest.param("probe", marks=pytest.mark.exhaustive),
    pytest.param(BASE, marks=pytest.mark.exhaustive),
    pytest.param(
        "train one layer, additive published bf16",
        marks=pytest.mark.skipif(
            not torch.ops.mkldnn._is_mkldnn_bf16_supported(),
            reason="torch has no LSTM in bfloat16 for this processor",
        ),
    ),
    pytest.param("search Transformer published bf16", marks=pytest.mark.exhaustive),
    pytest.param("claims at bench scale", marks=pytest.mark.exhaustive),
    pytest.param("training transformer_base", marks=pytest.mark.exhaustive),
]
"""Each kind of item; the others are the same on other systems."""


@pytest.mark.parametrize("name", KINDS_OF_ITEMS)
@pytest.mark.long
def test_an_item_runs_in_miniature(name, tmp_path):
    said: list[dict] = []
    ITEMS[name].run(Bench("cpu", True, tmp_path, 600, said.append))
    assert said
    assert not [each for each in said if "error" in each]
