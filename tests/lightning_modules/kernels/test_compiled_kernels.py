"""Triton's kernels are compiled for an H100, also where there is none."""

import json
import os
import subprocess
import sys

import pytest

from tests.helpers.commands import ROOT

REGISTERS = 65_536  # of a multiprocessor


@pytest.mark.long
def test_every_kernel_compiles_for_an_h100_without_spilling(tmp_path):
    pytest.importorskip("triton", reason="Triton is missing; install the extra gpu")
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    told = subprocess.run(
        [sys.executable, "-m", "tests.tools.kernels_for_h100"],
        env=environment | {"TRITON_CACHE_DIR": str(tmp_path)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    found = [json.loads(line) for line in told.stdout.splitlines()]
    assert len(found) > 8
    for kernel in found:
        assert kernel["spilled"] == 0, kernel
        assert kernel["registers"] * kernel["threads"] <= REGISTERS, kernel
