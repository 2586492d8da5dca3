"""The items of the queue, in order of value; each runs in a process of its own.

``python -m tests.tools.benchmarks.gpu.items ITEM --lines FILE`` runs one item, and appends each
figure to FILE as soon as it is there: an item that is ended keeps what it has found.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from datamodules.errors import one_line
from lightning_modules.runs.provenance import ROOT, TRAINING_CODE, code_version

HERE = "tests/tools/benchmarks/gpu"
UPDATES = (
    "datamodules/batching",
    *(f"lightning_modules/{room}" for room in ("attention", "kernels", "training", "variants")),
)
"""The code of an update."""
DECODING = (*UPDATES, "lightning_modules/decoding")


class Bench(NamedTuple):
    """How an item runs."""

    device: str  # `cuda`, or `cpu` for a try
    miniature: bool  # as small as possible, to look for mistakes of the item itself
    data: Path  # folder of corpora: `multi30k`
    seconds: float  # time limit
    say: Callable[[dict[str, Any]], None]  # keeps a figure


class Item(NamedTuple):
    """A measurement, with a result file of its own."""

    name: str
    seconds: float  # time limit
    code: tuple[str, ...]  # files and folders whose code is measured
    run: Callable[[Bench], None]

    @property
    def version(self) -> str:
        """Twelve digits that change with the code that is measured."""
        return code_version(ROOT, self.code)


def run_tests(arguments: Sequence[str], bench: Bench) -> None:
    """Run tests by arguments of pytest; in miniature, only collect them."""
    import pytest

    from tests.tools.benchmarks.gpu.outcomes import Outcomes, workers

    found = Outcomes(bench.say)
    how = ["--collect-only", "-q"] if bench.miniature else workers()
    status = pytest.main(
        [*arguments, f"--rootdir={ROOT}", "-p", "no:cacheprovider", *how], plugins=[found]
    )
    found.report()
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise RuntimeError(f"pytest ended with status {int(status)}")


def probe(bench: Bench) -> None:
    """Measure the parts of an update one by one."""
    from tests.tools.benchmarks.gpu.probe import run_probe

    run_probe(bench)


def measure_system(variant: str, size: Any, precision: str, kinds: Any, bench: Bench) -> None:
    """Measure one system in several ways; an error of one leaves the others."""
    from tests.tools.benchmarks.gpu.measuring import LOADS, MINIATURE, System, measure

    system, errors = System(variant, size, precision), []
    for kind in kinds:
        try:
            load = MINIATURE if bench.miniature else LOADS[system.size]
            figures = measure(system, kind, load, bench.device)
        except Exception as error:  # the other kinds come still
            errors.append(error)
            figures = {"error": one_line(error)[:300]}
        bench.say({**system._asdict(), "kind": kind, **figures})
    if errors:
        raise errors[0]


def train_for_claims(bench: Bench) -> None:
    """Re-test claims at the tier ``bench``."""
    from tests.tools.benchmarks.gpu.trainings import retest_claims

    retest_claims(bench)


def train_published(model: str, bench: Bench) -> None:
    """Train a published system on the built-in corpus."""
    from tests.tools.benchmarks.gpu.trainings import train_system

    train_system(model, bench)


def _system(variant: str, size: str, precision: str, *kinds: str, seconds: float = 100) -> Item:
    name = " ".join(["search" if kinds == ("search",) else "train", variant, size, precision])
    measured = DECODING if "search" in kinds else UPDATES
    run = partial(measure_system, variant, size, precision, kinds)
    return Item(name, seconds, (*measured, f"{HERE}/measuring.py"), run)


WAITS = "tests/gpu/test_waits.py"
LOOPS = ("one layer, additive", "one layer, general")
FILES = ("Transformer", "RNNsearch", "Luong, global", "Luong, local", "no attention")
PUBLISHED = ("transformer_base", "rnnsearch", "luong_global_dot")


def all_items() -> list[Item]:
    """Return the items: tests, where time goes, the aims, trainings, then all other systems."""
    aims = [
        _system("Transformer", "published", "bf16", "auto", "plain", seconds=150),
        *(_system(name, "published", "bf16", "auto", "loop", "plain") for name in LOOPS),
        _system("Transformer", "published", "bf16", "search", seconds=60),
        *(_system(name, "laptop", "bf16", "auto", "plain", seconds=60) for name in FILES),
        _system("Transformer big", "published", "bf16", "auto", "plain", seconds=150),
    ]
    others = []
    for precision, size in product(("bf16", "float32"), ("published", "laptop")):
        for name in FILES:
            others.append(_system(name, size, precision, "auto", "plain", seconds=150))
            others.append(_system(name, size, precision, "search"))
        others += [_system(name, size, precision, "auto", "loop", "plain") for name in LOOPS]
    known = {item.name for item in aims}
    tests = ["tests/gpu", f"--ignore={WAITS}", "-m", "gpu and not exhaustive"]
    trainings = f"{HERE}/trainings.py"
    return [
        Item("tests", 240, (*TRAINING_CODE, "tests/gpu"), partial(run_tests, tests)),
        Item(
            "waits",
            90,
            (*UPDATES, WAITS, f"{HERE}/measuring.py"),
            partial(run_tests, [WAITS, "-m", "gpu"]),
        ),
        Item("probe", 120, (*UPDATES, f"{HERE}/probe.py"), probe),
        *aims,
        Item("claims at bench scale", 540, (*TRAINING_CODE, trainings), train_for_claims),
        *(
            Item(
                f"training {name}", 240, (*TRAINING_CODE, trainings), partial(train_published, name)
            )
            for name in PUBLISHED
        ),
        *(item for item in others if item.name not in known),
    ]


def main() -> None:
    """Run one item."""
    parser = argparse.ArgumentParser(prog="tests.tools.benchmarks.gpu.items", description=__doc__)
    parser.add_argument("item")
    parser.add_argument("--lines", type=Path, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--miniature", action="store_true")
    given = parser.parse_args()
    [item] = [item for item in all_items() if item.name == given.item]

    def say(figure: dict[str, Any]) -> None:
        line = json.dumps(figure)
        print(line, flush=True)
        with given.lines.open("a", encoding="utf-8") as lines:
            lines.write(f"{line}\n")

    item.run(Bench(given.device, given.miniature, given.data, given.seconds, say))


if __name__ == "__main__":
    main()
