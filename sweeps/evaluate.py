"""Task: score and compare text files of any translation system, and past runs beside them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from datamodules.errors import UserError
from lightning_modules.metrics.systems import System, TestSet
from lightning_modules.run_folder import BrokenFileError, read_result
from lightning_modules.settings import build_scoring
from sweeps.compare import REPORT, publish
from sweeps.comparison import Comparison
from sweeps.evaluation.evaluation import evaluate
from sweeps.evaluation.reading import TestSets, read_file_system, read_output, read_test_set
from sweeps.findings import find
from sweeps.summary import print_findings

REFERENCES = "references"
"""What ``word_labels`` calls the references."""


def evaluate_systems(config: DictConfig) -> None:
    """Evaluate ``config.systems``: each a file, a run folder, or a list of either (its seeds).

    Raises ``UserError`` for files that cannot be used.
    """
    scoring = build_scoring(config)
    places, labels = (_places(config, option) for option in ("systems", "word_labels"))
    if not places:
        raise UserError("nothing to evaluate: name systems, like systems.NAME=FILE")
    test = _test_set(config, labels.pop(REFERENCES, []))
    tests = TestSets([] if test is None else [test], scoring.ter)
    systems = [
        _system(name, given, labels.pop(name, []), test, tests) for name, given in places.items()
    ]
    for name in labels:
        raise UserError(f"word_labels.{name}: there is no system of this name")
    try:
        evaluation = evaluate(systems, scoring)
    except ValueError as error:
        raise UserError(f"scoring.unit={scoring.unit}: {error}; give sources=FILE") from None
    out = Path(HydraConfig.get().runtime.output_dir)
    findings = publish(find(out.name, evaluation, Comparison([], [], [])), out)
    print_findings(findings, out / REPORT, Console())


def _places(config: DictConfig, option: str) -> dict[str, list[str]]:
    """The files or folders given for each name."""
    named: Any = OmegaConf.to_container(config[option], resolve=True)
    found = {}
    for name, given in named.items():
        places = [given] if isinstance(given, str) else given
        if (
            not places
            or not isinstance(places, list)
            or not all(isinstance(place, str) for place in places)
        ):
            raise UserError(f"{option}.{name}={given}: give a path, or a list of paths")
        found[name] = places
    return found


def _test_set(config: DictConfig, word_labels: list[str]) -> TestSet | None:
    if config.references is None:
        return None
    return read_test_set(
        config.references,
        config.sources,
        config.alignments,
        config.train_sources,
        config.train_references,
        config.sentence_labels,
        word_labels[0] if word_labels else None,
    )


def _system(
    name: str,
    places: Sequence[str],
    labels: Sequence[str],
    test: TestSet | None,
    tests: TestSets,
) -> System:
    folders = [Path(place) for place in places if Path(place).is_dir()]
    if folders and len(folders) < len(places):
        raise UserError(f"systems.{name}: has both run folders and files; name two systems")
    if folders and labels:
        raise UserError(f"word_labels.{name}: is for files, and systems.{name} is a run")
    if folders:
        return _run_system(name, folders, test, tests)
    if test is None:
        raise UserError(f"systems.{name}={places[0]}: needs references=FILE to be scored against")
    if labels and len(labels) != len(places):
        raise UserError(f"word_labels.{name}: {len(labels)} files for {len(places)} of the system")
    return read_file_system(name, places, labels or [None] * len(places), test, tests.ter)


def _run_system(
    name: str, folders: Sequence[Path], test: TestSet | None, tests: TestSets
) -> System:
    outputs, found = [], test
    for folder in folders:
        try:
            result = read_result(folder)
            if result is None:
                raise UserError(f"systems.{name}={folder}: is no folder of a finished run")
            own, output = read_output(folder, result, tests)
        except BrokenFileError as error:
            raise UserError(f"systems.{name}={folder}: {error}") from None
        found = own if found is None else found
        if own is not found:
            raise UserError(
                f"systems.{name}={folder}: {_difference(own, found)}; compare systems on one test "
                "set only"
            )
        outputs.append(output)
    assert found is not None
    return System(name, found, outputs)


def _difference(own: TestSet, other: TestSet) -> str:
    """Where two test sets part, in words."""
    if len(own.references) != len(other.references):
        return f"its test set has {len(own.references)} sentences, not {len(other.references)}"
    pairs = enumerate(zip(own.references, other.references, strict=True), start=1)
    line = next((number for number, (mine, theirs) in pairs if mine != theirs), None)
    if line is not None:
        return f"its reference {line} is another"
    return "its source sentences are others (give sources=FILE, or leave references= out)"
