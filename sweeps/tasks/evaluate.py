"""``task=evaluate``: score and compare text files of any translation system, and past runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, ListConfig, OmegaConf

from datamodules.errors import UserError, validated
from lightning_modules.metrics.systems import EvalSet, Output, System
from lightning_modules.runs.files import BrokenFileError, find_runs, read_run
from lightning_modules.testing.scoring import Scoring
from sweeps.comparison.collect import Comparison
from sweeps.comparison.evaluation import Evaluation, evaluate
from sweeps.comparison.outputs import (
    OPTIONS,
    EvalSetCache,
    read_file_system,
    read_output,
    read_test_set,
)
from sweeps.comparison.record import origin_of
from sweeps.launch.live import shown_phases
from sweeps.report.findings import Findings
from sweeps.report.publish import publish, write_report
from sweeps.report.report import ReportSettings, make_report


def evaluate_systems(config: DictConfig) -> None:
    """Task: evaluate ``config.systems``, each a file, a run folder, or a list of these (its seeds).

    Raises ``UserError`` for files that cannot be used.
    """
    out = Path(HydraConfig.get().runtime.output_dir)
    scoring = validated(Scoring, config.scoring, "scoring")
    places = _places(config.systems)
    if not places:
        raise UserError("nothing to evaluate: name systems, like systems.NAME=FILE")
    with shown_phases() as enter:
        enter(f"reading {len(places)} systems")
        tests = EvalSetCache(_eval_set(config, scoring), scoring, scoring.metrics)
        systems = [_system(name, given, tests) for name, given in places.items()]
        enter("scoring, with intervals and tests")
        evaluation = _evaluated(systems, scoring)
        findings = Findings(out.name, evaluation, Comparison([], [], []), origin=origin_of(out))
        report = make_report(findings, validated(ReportSettings, config.report, "report"))
        enter("writing the page")
        write_report(report, out)
    publish(report, out, config.logger)


def _evaluated(systems: Sequence[System], scoring: Scoring) -> Evaluation:
    try:
        return evaluate(systems, scoring)
    except ValueError as error:
        other = scoring.unit.replace("source", "reference")
        raise UserError(
            f"scoring.unit={scoring.unit}: {error}; give sources=FILE, or scoring.unit={other}"
        ) from None


def _places(systems: Any) -> dict[str, list[str]]:
    """Return the files or folders given for each system, by names or in a file of names."""
    named: Any
    if isinstance(systems, str):
        named = _read_names(Path(systems))
    elif isinstance(systems, DictConfig):
        named = OmegaConf.to_container(systems, resolve=True)
    else:
        raise UserError(f"systems={systems}: give each a name, like systems.NAME=FILE")
    by_name = {}
    for name, given in named.items():
        places = [given] if isinstance(given, str) else given
        if (
            not places
            or not isinstance(places, list)
            or not all(isinstance(place, str) for place in places)
        ):
            raise UserError(f"systems.{name}={given}: give a file, a run folder, or a list of them")
        repeated = [place for place in places if places.count(place) > 1]
        if repeated:
            raise UserError(f"systems.{name}: {repeated[0]} is listed twice; give each once")
        by_name[str(name)] = places
    return by_name


def _read_names(file: Path) -> dict[str, Any]:
    """Read names in any letters from a YAML file, with the translations of each."""
    wanted = f"systems={file}: give a YAML file with a line NAME: FILE for each system"
    try:
        text = file.read_text(encoding="utf-8-sig")
        content = yaml.load(text, yaml.BaseLoader)  # all texts
        names = [key.value for key, _ in getattr(yaml.compose(text), "value", ())]
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UserError(f"{wanted} ({' '.join(str(error).split())})") from None
    if not isinstance(content, dict):
        raise UserError(f"{wanted}, or systems.NAME=FILE")
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f"systems={file}: {twice[0]} is named twice; give each name once")
    return content


def _eval_set(config: DictConfig, scoring: Scoring) -> EvalSet | None:
    given: dict[str, list[str]] = {}
    for option in OPTIONS:
        if (plain := config[option]) is None:
            continue
        files = list(map(str, plain if isinstance(plain, ListConfig) else [plain]))
        if not files:
            raise UserError(f"{option}=[]: give a file")
        repeated = [file for file in files if files.count(file) > 1]
        if repeated:
            raise UserError(f"{option}: {repeated[0]} is listed twice; give each once")
        given[option] = files
    if given and "references" not in given:
        option, [file] = next(iter(given.items()))
        raise UserError(f"{option}={file}: needs references=FILE; runs bring their own text")
    return read_test_set(given, scoring.rules()) if given else None


def _system(name: str, places: Sequence[str], tests: EvalSetCache) -> System:
    """Read the outputs of one system."""
    folders = [Path(place) for place in places if Path(place).is_dir()]
    if folders and len(folders) < len(places):
        raise UserError(f"systems.{name}: has both run folders and files; name two systems")
    if folders:
        return _run_system(name, folders, tests)
    if tests.given is None:
        raise UserError(f"systems.{name}={places[0]}: needs references=FILE to be scored against")
    return read_file_system(name, places, tests.given, tests.metrics)


def _not_a_run(name: str, folder: Path) -> str:
    first, *_ = [*find_runs(folder), folder]
    if first == folder:
        return "is not the folder of a finished run"
    return (
        f"holds several runs; name one, such as systems.{name}={first}, or a list of the seeds of "
        "one system"
    )


def _run_system(name: str, folders: Sequence[Path], tests: EvalSetCache) -> System:
    outputs: list[Output] = []
    test = tests.given
    for folder in folders:
        try:
            scores = read_run(folder)
            if scores is None:
                raise UserError(f"systems.{name}={folder}: {_not_a_run(name, folder)}")
            run = read_output(folder, scores, tests)
        except BrokenFileError as error:
            raise UserError(f"systems.{name}={folder}: {error}") from None
        seed = run.output.seed
        if seed in [other.seed for other in outputs]:
            raise UserError(
                f"systems.{name}={folder}: seed {seed} is there already; give each seed once"
            )
        test = run.test if test is None else test
        if run.test is not test:
            raise UserError(
                f"systems.{name}={folder}: {_difference(run.test, test)}; compare systems on one "
                "test set only"
            )
        outputs.append(run.output)
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
    if [*map(list, test.further_references)] != [*map(list, other.further_references)]:
        return "its further references differ"
    return "its source sentences differ (give sources=FILE, or leave references= out)"
