"""Task: score and compare text files of any translation system, and past runs beside them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from datamodules.errors import UserError
from lightning_modules.metrics.systems import Output, System, TestSet
from lightning_modules.run_folder import BrokenFileError, read_result
from lightning_modules.settings import build_scoring
from sweeps.comparison import Comparison
from sweeps.evaluation.evaluation import evaluate
from sweeps.evaluation.files import OPTIONS, REFERENCES, read_file_system, read_test_set
from sweeps.evaluation.runs import TestSets, read_output
from sweeps.findings import find
from sweeps.publishing import tell, write_all

BY_NAME = ("systems", "word_labels", "log_likelihoods")
"""Options that take a file for each system, under its name."""


def evaluate_systems(config: DictConfig) -> None:
    """Evaluate ``config.systems``: each a file, a run folder, or a list of either (its seeds).

    Raises ``UserError`` for files that cannot be used.
    """
    scoring = build_scoring(config)
    given = {option: _places(config, option) for option in BY_NAME}
    if not given["systems"]:
        raise UserError("nothing to evaluate: name systems, like systems.NAME=FILE")
    test = _test_set(config, given["word_labels"].pop(REFERENCES, []))
    tests = TestSets(test, scoring.ter)
    for option, places in given.items():
        for name in places.keys() - given["systems"].keys():
            raise UserError(f"{option}.{name}: there is no system of this name")
    _check_labels(test, given["word_labels"])
    systems = [
        _system(name, {option: places.get(name, []) for option, places in given.items()}, tests)
        for name in given["systems"]
    ]
    try:
        evaluation = evaluate(systems, scoring)
    except ValueError as error:
        raise UserError(f"scoring.unit={scoring.unit}: {error}; give sources=FILE") from None
    out = Path(HydraConfig.get().runtime.output_dir)
    findings = find(out.name, evaluation, Comparison([], [], []))
    write_all(findings, out)
    tell(findings, out, config.logger)


def _places(config: DictConfig, option: str) -> dict[str, list[str]]:
    """The files or folders given for each name."""
    if not isinstance(config[option], DictConfig):
        raise UserError(f"{option}={config[option]}: give each a name, like {option}.NAME=FILE")
    named: Any = OmegaConf.to_container(config[option], resolve=True)
    found = {}
    for name, given in named.items():
        places = [given] if isinstance(given, str) else given
        if (
            not places
            or not isinstance(places, list)
            or not all(isinstance(place, str) for place in places)
        ):
            folder = ", a run folder" if option == "systems" else ""
            raise UserError(f"{option}.{name}={given}: give a file{folder}, or a list of them")
        repeated = [place for place in places if places.count(place) > 1]
        if repeated:
            raise UserError(f"{option}.{name}: {repeated[0]} stands there twice; give each once")
        found[str(name)] = places
    return found


def _check_labels(test: TestSet | None, of_systems: Mapping[str, list[str]]) -> None:
    """Labels are of use only where both sides have them."""
    of_references = test is not None and test.word_labels is not None
    if of_systems and not of_references:
        raise UserError(
            f"word_labels.{next(iter(of_systems))}: needs word_labels.{REFERENCES}=FILE"
        )
    if of_references and not of_systems:
        raise UserError(f"word_labels.{REFERENCES}: needs word_labels.NAME=FILE for a system")


def _test_set(config: DictConfig, word_labels: list[str]) -> TestSet | None:
    given = {option: config[option] for option in OPTIONS if config[option] is not None}
    if word_labels:
        given[f"word_labels.{REFERENCES}"] = (
            word_labels[0] if len(word_labels) == 1 else word_labels
        )
    for option, file in given.items():
        if not isinstance(file, str):
            raise UserError(f"{option}={file}: give one file")
        if REFERENCES not in given:
            raise UserError(f"{option}={file}: needs references=FILE; runs bring their own text")
    return read_test_set(given) if given else None


def _system(name: str, given: Mapping[str, list[str]], tests: TestSets) -> System:
    """Read the outputs of one system, and what was ``given`` beside them by options."""
    places = given["systems"]
    beside = {option: files for option, files in given.items() if files and option != "systems"}
    folders = [Path(place) for place in places if Path(place).is_dir()]
    if folders and len(folders) < len(places):
        raise UserError(f"systems.{name}: has both run folders and files; name two systems")
    for option, files in beside.items():
        if folders:
            raise UserError(f"{option}.{name}: is for files, and systems.{name} is a run")
        if len(files) != len(places):
            raise UserError(f"{option}.{name}: {len(files)} files for {len(places)} of the system")
    if folders:
        return _run_system(name, folders, tests)
    if tests.given is None:
        raise UserError(f"systems.{name}={places[0]}: needs references=FILE to be scored against")
    return read_file_system(name, places, beside, tests.given, tests.ter)


def _run_system(name: str, folders: Sequence[Path], tests: TestSets) -> System:
    outputs: list[Output] = []
    found = tests.given
    for folder in folders:
        try:
            result = read_result(folder)
            if result is None:
                raise UserError(f"systems.{name}={folder}: is no folder of a finished run")
            own, output = read_output(folder, result, tests)
        except BrokenFileError as error:
            raise UserError(f"systems.{name}={folder}: {error}") from None
        if output.seed in [other.seed for other in outputs]:
            raise UserError(
                f"systems.{name}={folder}: seed {output.seed} is there already; give each seed once"
            )
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
