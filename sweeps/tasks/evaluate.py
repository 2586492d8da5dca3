"""``task=evaluate``: score and compare text files of any translation system, and past runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from datamodules.errors import UserError, validated
from lightning_modules.metrics.systems import EvalSet, Output, System
from lightning_modules.runs.files import BrokenFileError, read_result
from lightning_modules.testing.scoring import Scoring
from sweeps.comparison.collect import Comparison
from sweeps.comparison.evaluation import evaluate
from sweeps.comparison.outputs import (
    OPTIONS,
    REFERENCES,
    TestSetCache,
    read_file_system,
    read_output,
    read_test_set,
)
from sweeps.comparison.record import origin_of
from sweeps.report.findings import Findings
from sweeps.report.publish import publish, write_all
from sweeps.report.report import ReportSettings, make_report

BY_NAME = ("systems", "word_labels", "log_likelihoods")
"""Options that take a file for each system, under its name."""


def evaluate_systems(config: DictConfig) -> None:
    """Task: evaluate ``config.systems``, each a file, a run folder, or a list of these (its seeds).

    Raises ``UserError`` for files that cannot be used.
    """
    out = Path(HydraConfig.get().runtime.output_dir)
    scoring = validated(Scoring, config.scoring, "scoring")
    given = {option: _places(config, option) for option in BY_NAME}
    if not given["systems"]:
        raise UserError("nothing to evaluate: name systems, like systems.NAME=FILE")
    test = _test_set(config, given["word_labels"].pop(REFERENCES, []))
    tests = TestSetCache(test, scoring.metrics)
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
    nothing = Comparison([], [], [])
    findings = Findings(out.name, evaluation, nothing, origin=origin_of(out))
    report = make_report(findings, validated(ReportSettings, config.report, "report"))
    write_all(report, out)
    publish(report, out, config.logger)


def _places(config: DictConfig, option: str) -> dict[str, list[str]]:
    """Return the files or folders given for each name."""
    if not isinstance(config[option], DictConfig):
        raise UserError(f"{option}={config[option]}: give each a name, like {option}.NAME=FILE")
    named: Any = OmegaConf.to_container(config[option], resolve=True)
    by_name = {}
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
        by_name[str(name)] = places
    return by_name


def _check_labels(test: EvalSet | None, system_labels: Mapping[str, list[str]]) -> None:
    """Raise ``UserError`` if only the references, or only systems, have labels."""
    references_labelled = test is not None and test.word_labels is not None
    if system_labels and not references_labelled:
        raise UserError(
            f"word_labels.{next(iter(system_labels))}: needs word_labels.{REFERENCES}=FILE"
        )
    if references_labelled and not system_labels:
        raise UserError(f"word_labels.{REFERENCES}: needs word_labels.NAME=FILE for a system")


def _test_set(config: DictConfig, word_labels: list[str]) -> EvalSet | None:
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


def _system(name: str, given: Mapping[str, list[str]], tests: TestSetCache) -> System:
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
    return read_file_system(name, places, beside, tests.given, tests.metrics)


def _run_system(name: str, folders: Sequence[Path], tests: TestSetCache) -> System:
    outputs: list[Output] = []
    test = tests.given
    for folder in folders:
        try:
            result = read_result(folder)
            if result is None:
                raise UserError(f"systems.{name}={folder}: is no folder of a finished run")
            run_test, output = read_output(folder, result, tests)
        except BrokenFileError as error:
            raise UserError(f"systems.{name}={folder}: {error}") from None
        if output.seed in [other.seed for other in outputs]:
            raise UserError(
                f"systems.{name}={folder}: seed {output.seed} is there already; give each seed once"
            )
        test = run_test if test is None else test
        if run_test is not test:
            raise UserError(
                f"systems.{name}={folder}: {_difference(run_test, test)}; compare systems on one "
                "test set only"
            )
        outputs.append(output)
    assert test is not None
    return System(name, test, outputs)


def _difference(test: EvalSet, other: EvalSet) -> str:
    """Describe the first difference between two test sets."""
    if len(test.references) != len(other.references):
        return f"its test set has {len(test.references)} sentences, not {len(other.references)}"
    pairs = enumerate(zip(test.references, other.references, strict=True), start=1)
    line = next((number for number, (one, another) in pairs if one != another), None)
    if line is not None:
        return f"its reference {line} differs"
    return "its source sentences differ (give sources=FILE, or leave references= out)"
