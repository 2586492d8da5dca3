"""The settings of a trained run, from which the tasks that use the run start.

``task=test checkpoint=RUN decoding.beam_size=5`` composes conf/, then what the checkpoint of the
run has recorded, then the overrides of the command. The record is a file of Hydra's own group
``hydra/record``, so that it appears in no list of overrides, and a choice such as
``decoding=greedy`` replaces the recorded group whole.
"""

import hashlib
import json
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hydra.utils
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig
from typing_extensions import override

from lightning_modules.runs.paths import RESULT, checkpoint_file, unfinished
from lightning_modules.runs.settings import key_of

TASKS = ("test", "translate", "align", "contrast", "explore")
"""Tasks that use a trained run."""
GROUPS = ("data", "cleaning", "tokenizer", "batching", "decoding")
"""Groups that these tasks take from the run; others, such as ``trainer``, are of the machine."""
VALUES = ("variant", "label", "seed", "seeds", "scoring", "products", "matmul_precision", "kernels")
"""Further keys at the top."""


def record_overrides(overrides: Sequence[str]) -> list[str]:
    """Return what a command with these overrides must add, so that Hydra reads the run's record.

    Nothing for a task that uses no run, or without ``checkpoint``. Of several runs, the first
    counts. Raises ``UserError`` for a checkpoint that does not exist, and for a test of a training
    that has not ended.
    """
    written = {key_of(each): each for each in overrides}
    task = written.get("task", "").partition("=")[2]
    named = _first(written["checkpoint"]) if "checkpoint" in written else None
    if task not in TASKS or named is None:
        return []
    file = checkpoint_file(named)
    if task == "test" and not (file.parent.parent / RESULT).is_file():
        raise unfinished(named)
    settings = _recorded(file)
    if not settings:
        return []
    content = json.dumps(settings, sort_keys=True).encode()
    name = f"_{hashlib.sha256(content).hexdigest()[:12]}"  # errors name no such choice
    store = ConfigStore.instance()
    groups = [group for group in GROUPS if group in settings]
    for group in groups:
        store.store(group=group, name=name, node=settings[group])
    values: dict[str, Any] = {key: settings[key] for key in VALUES if key in settings}
    values["trainer"] = {"precision": settings["trainer"]["precision"]}
    values["defaults"] = [*({f"override /{group}": name} for group in groups), "_self_"]
    store.store(group="hydra/record", name=name, node=values, package="_global_")
    return [f"+hydra/record={name}"]


def check_text(config: DictConfig) -> None:
    """Raise ``UserError`` for test sets or contrastive pairs that the corpus of a run lacks.

    The check comes before the import of the task, which takes seconds. Faults of the corpus itself
    are left to the task.
    """
    sets, writes_pairs = config.get("test_sets"), "pairs" in config and config.pairs is None
    if sets is None and not writes_pairs:
        return
    from datamodules.corpus import Corpus, no_pairs  # pydantic is not for --help

    try:
        corpus = hydra.utils.instantiate(config.data, _convert_="all")
    except HydraException:
        return
    if sets is not None:
        from datamodules.real_corpus import set_corpus

        set_corpus(corpus, sets).text_files()
    elif type(corpus).contrastive_pairs is Corpus.contrastive_pairs:
        raise no_pairs(corpus, "pairs=null", "pairs=FILE")


def _first(override: str) -> str | None:
    """Return the first path of ``checkpoint=``; None where Hydra cannot read the override."""
    try:
        parsed = OverridesParser.create().parse_override(override)
    except HydraException:  # Hydra's own composition says why
        return None
    value = next(parsed.sweep_iterator()) if parsed.is_sweep_override() else parsed.value()
    first = next(iter(value), None) if isinstance(value, list) else value
    return None if first is None else str(first)


class _WithoutWeights(pickle.Unpickler):
    """Reader of a checkpoint's plain values: torch, which takes seconds to import, is not needed.

    It makes no object of another class, so that a hostile file can do nothing.
    """

    @override
    def find_class(self, module: str, name: str) -> Any:
        return OrderedDict if (module, name) == ("collections", "OrderedDict") else _nothing

    @override
    def persistent_load(self, pid: Any) -> None:
        """Leave out the numbers of a tensor."""


def _nothing(*arguments: Any) -> None:
    """Stand for a tensor."""


def _recorded(file: Path) -> dict[str, Any]:
    """Return the settings in a checkpoint.

    Nothing for a damaged file: the task, which reads it whole, says what is wrong.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            [name] = [each for each in archive.namelist() if each.endswith("/data.pkl")]
            with archive.open(name) as content:
                settings: dict[str, Any] = _WithoutWeights(content).load()["hyper_parameters"]
        _relocate(settings["data"], settings["cache_dir"])
    except Exception:  # damaged files raise many types
        return {}
    return settings


def _relocate(data: dict[str, Any], cache_dir: str) -> None:
    """Let a corpus, and those of a mixture, use the cache of this command."""
    for key, value in data.items():
        if isinstance(value, dict):
            _relocate(value, cache_dir)
        elif key == "cache_dir" and value == cache_dir:
            data[key] = "${cache_dir}"
