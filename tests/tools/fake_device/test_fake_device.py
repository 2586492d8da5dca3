"""Each variant stays on its device, and a training step never waits for the device."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.helpers.variants import NAMES, OPTIONS
from tests.tools.fake_device.sweep import CHECKS

HEADLINE = ["seq2seq", "bahdanau", "luong_global", "luong_local", "transformer"]


def swept(names: list[str]) -> dict[str, Any]:
    """Run the checks in a process of their own; the fake device stays in a process for good."""
    command = [sys.executable, "-m", "tests.tools.fake_device.sweep", *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check(found: dict[str, Any]) -> None:
    """Assert that each check went through, and all but those of checkpoints without a wait."""
    for name, results in found.items():
        for devices, checks in results.items():
            for check, result in checks.items():
                where = f"{name}, {devices}, {check}"
                assert "error" not in result, f"{where}: {result}"
                assert check in ("load", "resume") or result["copies"] == 0, f"{where}: {result}"


@pytest.mark.long
def test_the_headline_variants_stay_on_a_device_and_never_wait():
    found = swept(HEADLINE)
    check(found)
    assert list(found) == HEADLINE
    assert found["bahdanau"]["one device"].keys() == CHECKS.keys()


@pytest.mark.long
@pytest.mark.exhaustive
def test_all_variants_stay_on_a_device_and_never_wait():
    check(swept(sorted({*NAMES, *OPTIONS}.difference(HEADLINE))))
