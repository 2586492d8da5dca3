"""The benchmark of GPUs, on the CPU: two small measurements, and the page of made-up figures."""

import json
import os
import subprocess
import sys

import pytest
import torch

from tests.helpers.commands import ROOT
from tests.tools.benchmarks.gpu import __main__ as program
from tests.tools.benchmarks.gpu.__main__ import (
    PAGE,
    append_figures,
    measure_case,
    page_text,
    read_figures,
)
from tests.tools.benchmarks.gpu.measuring import Case, Load, all_cases, measure

MACHINE = ["NVIDIA H100 80GB HBM3", "driver 580.1", "torch 2.13.0", "training code abc"]
TINY = Load(vocabulary=40, tokens=150, decode_tokens=300, pairs=60, sentences=8, windows=1)
TRAIN = Case("Transformer", "laptop", "train", "float32")


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def made_up(wanted):
    """Figures of all cases, rising with the place of the case."""
    return {
        case: {
            **{"tokens_per_second": place + 1.0, "flops_per_token": 9e13},
            **{"peak_memory_mib": 100.0, "greedy": 9000.0, "beam": 4000.0},
        }
        for place, case in enumerate(wanted)
    }


def test_the_page_holds_the_figures():
    wanted = all_cases()
    figures = made_up(wanted)
    figures[wanted[-1]] = {"error": "out of memory"}
    text = page_text(MACHINE, figures)
    assert "NVIDIA H100 80GB HBM3, driver 580.1, torch 2.13.0, training code abc, commit " in text
    # Training and compiled: place 5 and 17, 9e13 FLOPs a token, of the peak of 989e12.
    assert (
        "| Transformer | published | bf16 | 5 | 46% | 100 | 17 | 155% | 100 | – | – "
        "| 9,000 | 4,000 |" in text
    )
    # The plain loop in place 1, the harness in place 2, compiled in place 15: the ratio is 15.
    [row] = [line for line in text.splitlines() if "additive | published | bf16" in line]
    assert row.endswith("| 1 | 15.00 | – | – |")
    assert f"- {wanted[-1]}: out of memory" in text
    assert "0 of 84 measurements are missing" in text
    for line in text.splitlines():
        assert line.startswith("|") or len(line) <= 140
    assert len({line.count("|") for line in text.splitlines() if line.startswith("|")}) == 1


def test_the_optimizer_is_that_of_a_training(monkeypatch):
    """And products are in float32: on a GPU, cuDNN's RNNs would compute in TF32 by default."""
    made = []
    begin = torch.optim.Adam.__init__

    def watched(self, *arguments, **named):
        begin(self, *arguments, **named)
        made.append(self.defaults["fused"])

    monkeypatch.setattr(torch.optim.Adam, "__init__", watched)
    torch.backends.cudnn.allow_tf32 = True
    assert measure(TRAIN, TINY, "cpu")["tokens_per_second"] > 0
    assert made == [True]
    assert not torch.backends.cudnn.allow_tf32


def test_a_start_continues_where_another_stopped(tmp_path):
    file, wanted = tmp_path / "gpu.jsonl", all_cases()[:3]
    assert read_figures(file, MACHINE) == {}
    append_figures(file, MACHINE, wanted[0], {"tokens_per_second": 2.5})
    with file.open("a") as out:
        out.write(json.dumps({"machine": MACHINE})[:-4])  # killed while it wrote
    append_figures(file, MACHINE, wanted[2], {"error": "out of memory"})
    figures = {wanted[0]: {"tokens_per_second": 2.5}, wanted[2]: {"error": "out of memory"}}
    assert read_figures(file, MACHINE) == figures
    assert read_figures(file, ["A100", *MACHINE[1:]]) == {}


@pytest.mark.long
def test_without_a_gpu_there_is_one_line_and_no_page():
    before = PAGE.read_bytes() if PAGE.exists() else None
    done = python("-m", "tests.tools.benchmarks.gpu", "--minutes", "1")
    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert line.startswith("error: torch finds no GPU")
    assert (PAGE.read_bytes() if PAGE.exists() else None) == before


@pytest.mark.exhaustive
@pytest.mark.long
def test_a_failed_case_keeps_its_error(tmp_path, monkeypatch):
    monkeypatch.setitem(program.LOADS, "laptop", TINY)
    file, wrong = tmp_path / "gpu.jsonl", TRAIN._replace(variant="none")
    plain = Case("one layer, additive", "laptop", "plain", "float32")
    for case in (plain, wrong, TRAIN):
        measure_case(file, MACHINE, case, "cpu")
    figures = read_figures(file, MACHINE)
    assert figures[plain]["tokens_per_second"] > 0
    assert figures[TRAIN]["flops_per_token"] > 0
    assert figures[wrong] == {"error": "'none'"}
