"""``task=explore``: type a sentence, and see how trained runs translate it."""

import logging
from collections import Counter
from collections.abc import Sequence

from omegaconf import DictConfig

from datamodules.errors import UserError
from datamodules.files import STREAM, check_outputs, write_text
from lightning_modules.runs.files import BrokenFileError, read_predictions, read_result
from lightning_modules.runs.job import label_of, label_with_changes, run_label, search_in_words
from lightning_modules.runs.paths import PREDICTIONS
from lightning_modules.runs.setting_checks import check_arguments
from lightning_modules.tasks.progress import sentence_count
from lightning_modules.training.checkpoints import TrainedModel, load_trained
from lightning_modules.training.process import prepare_process
from sweeps.explorer.page import Example, Explorer, ExplorerSystem
from sweeps.explorer.tracer import Tracer

log = logging.getLogger(__name__)


def explore(config: DictConfig) -> None:
    """Task: serve the explorer until Ctrl-C, or write it to ``config.export``.

    Raises ``UserError`` for runs that cannot be used, a port that is taken, a file that cannot be
    written, or without the library of the server.
    """
    if config.export == STREAM:
        raise UserError("export=-: give the name of a file, such as export=explorer.html")
    check_outputs({"export": config.export}, {})
    prepare_process(config)
    check_arguments(config)
    if config.export is None:
        _serve(config)
    else:
        _export(config)


def _serve(config: DictConfig) -> None:
    try:
        from sweeps.explorer.server import ExplorerApp, make_explorer_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "werkzeug":
            raise
        raise UserError(
            "task=explore: the library of its server is not installed; run pip install "
            "'attention-bench[explore]', or give export=FILE"
        ) from None
    app = ExplorerApp(make_explorer(config), config.request_seconds)
    server = make_explorer_server(app, config.port)
    address = f"http://localhost:{server.port}/"
    log.info("the explorer: %s (for this machine alone; Ctrl-C ends it)", address)
    server.serve_forever()


def _export(config: DictConfig) -> None:
    explorer = make_explorer(config)
    if not explorer.examples:
        raise UserError(
            f"export={config.export}: the test set of the first run is not in its folder "
            f"({PREDICTIONS}); leave export out, and type sentences"
        )
    total = len(explorer.examples) * len(explorer.systems)
    with sentence_count("translating", total) as advance:
        page = explorer.file_page(advance)
    write_text(config.export, page)
    log.info("the explorer of %d sentences: %s", len(explorer.examples), config.export)


def make_explorer(config: DictConfig) -> Explorer:
    """Load the runs of ``config.checkpoint``, and take sentences from the first one's test set.

    Raises ``UserError`` for no run, for a run that cannot be used, or for runs of other languages.
    """
    given = config.checkpoint
    paths = [given] if isinstance(given, str) else list(given)
    if not paths:
        raise UserError("checkpoint=[]: give the folder of a run")
    runs = [load_trained(path) for path in paths]
    for path, run in zip(paths, runs, strict=True):
        if run.languages != runs[0].languages:
            here, there = ("-".join(each.languages) for each in (run, runs[0]))
            raise UserError(
                f"checkpoint={path}: translates {here}, but {paths[0]} {there}; give runs with the "
                "same languages"
            )
    systems = [
        ExplorerSystem(name, label, Tracer(run, config))
        for run, (name, label) in zip(runs, names_of(runs), strict=True)
    ]
    search = search_in_words(config.decoding)
    return Explorer(systems, examples_of(runs[0], config.test_sentences), search)


def names_of(runs: Sequence[TrainedModel]) -> list[tuple[str, str]]:
    """Return a name and a label for each run, no two of them equal.

    Where labels are equal, the seed tells runs apart, and else the folder.
    """
    labels = [_label(run) for run in runs]
    for told_apart in (_with_seed, _with_folder):
        counts = Counter(labels)
        labels = [
            told_apart(label, run) if counts[label] > 1 else label
            for label, run in zip(labels, runs, strict=True)
        ]
    [(most, count)] = Counter(labels).most_common(1)
    if count > 1:
        raise UserError(f"checkpoint=: {most} is given twice; leave one of them out")
    variants = [str(run.config.variant) for run in runs]
    return [
        (label if variants.count(variant) > 1 else variant, label)
        for variant, label in zip(variants, labels, strict=True)
    ]


def _with_seed(label: str, run: TrainedModel) -> str:
    return run_label(label, run.config.seed)


def _with_folder(label: str, run: TrainedModel) -> str:
    return f"{label} ({run.folder})"


def _label(run: TrainedModel) -> str:
    result = read_result(run.folder)
    overrides = [] if result is None else result.overrides
    return label_with_changes(label_of(run.config.variant, overrides, run.config), overrides)


def examples_of(run: TrainedModel, count: int) -> list[Example]:
    """Return at most ``count`` sentences of a run's test set, evenly spread over it."""
    try:
        predictions = read_predictions(run.folder)
    except BrokenFileError as error:
        log.warning("%s", error)
        return []
    count = min(count, len(predictions))
    chosen = (predictions[place * len(predictions) // count] for place in range(count))
    return [Example(each.id, each.source, each.reference) for each in chosen]
