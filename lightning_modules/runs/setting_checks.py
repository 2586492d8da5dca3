"""A configuration is checked once, against ``conf/settings.yaml``, before anything is read.

Classes and models that take the values check no type and no range again; what does not fit
together stays their own error.
"""

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

import hydra.utils
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import (
    InterpolationToMissingValueError,
    MissingMandatoryValue,
    OmegaConfBaseException,
)

from datamodules.errors import UserError
from datamodules.files import STREAM, what_is
from datamodules.plugs import HARNESS
from lightning_modules.runs.paths import BEST, checkpoint_file, last_file
from lightning_modules.runs.setting_search import is_known, unknown_key, without_package
from lightning_modules.runs.settings import (
    OF_CANDIDATES,
    flatten,
    group_files,
    is_read_by,
    key_of,
    setting_of,
    settings,
    top_keys_that_affect,
    value_of,
)
from lightning_modules.runs.trunk_checks import check_trunk

PACKAGES = (*HARNESS, "torch", "pytorch_lightning")
"""Packages whose classes take the types that the table of settings says."""
ATTENTION, CHECKPOINT = "model.attention", "callbacks.checkpoint"
MISSING = "???"
NUMBER = re.compile(r"[-+]?\d[\d_]*(\.\d*)?(e[-+]?\d+)?", re.IGNORECASE)
OF_A_CORPUS = re.compile(r"^data\.corpora\.[^.]+\.")
"""Beginning of the keys of one corpus of a mixture, which has the settings of any corpus."""
CLASSES = ("_target_", "score", "window", "cell", "kind")
"""Keys that may name a user's class, which takes further keys of the group."""


def check_settings(config: DictConfig, overrides: Sequence[str] = ()) -> None:
    """Check keys, types and ranges of a composed configuration, and what its task reads.

    Numbers that stand for texts become texts in ``config``. The arguments of a user's class are
    left to the class: a name of the table may mean something else there. Raises ``UserError``,
    which names the first mistake with the setting to change.
    """
    for override in overrides:
        check_removal(override, overrides)
        _check_choice(override)
    _read_as_meant(config, overrides)
    _check_keys(flatten(OmegaConf.to_container(config)), overrides)  # type: ignore[arg-type]
    values = flatten(_without_interpolations(config))
    _check_values(values)
    _check_checkpoint(values)
    _check_attention(values)
    _check_match(values)
    check_trunk(values, tasks().get(str(config.task)))
    _check_read(str(config.task), overrides)


def check_removal(override: str, overrides: Iterable[str] = ()) -> None:
    """Raise ``UserError`` for ``~KEY`` of a setting that every run has.

    What may go: entries of mappings, callbacks that affect no weights, and arguments of a group
    whose class one of ``overrides`` changes.
    """
    key = key_of(override)
    setting, group = settings().get(key), key.rpartition(".")[0]
    if not override.startswith("~") or setting is None:
        return
    parent = settings().get(group)
    if parent is not None and parent.takes_further and setting.affects != "weights":
        return
    given = [key_of(other) for other in overrides if not other.startswith("~")]
    if any(f"{group}.{name}" in given for name in CLASSES):
        return
    files = [file.name for file in group_files() if file.group == key]
    if files:
        remedy = f"give {key}=NAME, one of {', '.join(files)}"
    elif setting.is_group:
        remedy = f"change one of its settings, which task=settings find={key}. lists"
    elif setting.type.or_null:
        remedy = f"give {key}=null"
    else:
        remedy = f"give {key}=...: {setting.type}"
    raise UserError(f"~{key}: a setting cannot be removed; {remedy}")


def _check_choice(override: str) -> None:
    """Raise ``UserError`` for several files of a group, which would be mixed: ``model=[a,b]``."""
    key, value = key_of(override), value_of(override) or ""
    if value.startswith("[") and any(file.group == key for file in group_files()):
        names = value.strip("[] ")
        raise UserError(f"{override}: give one file; -m {key}={names} runs a job for each")


def _read_as_meant(config: DictConfig, overrides: Iterable[str]) -> None:
    """Turn numbers of texts into texts, as written in an override, and 1e6 into a whole number."""
    written = {key_of(each): value_of(each) for each in overrides}
    for key, value in flatten(OmegaConf.to_container(config)).items():  # type: ignore[arg-type]
        setting = settings().get(_listed(key))
        if setting is not None and not isinstance(value, str | dict | None):
            meant = setting.type.meant(value, written.get(key))
            if meant is not value:
                OmegaConf.update(config, key, meant)


def _without_interpolations(config: DictConfig) -> dict[str, Any]:
    written: Any = OmegaConf.to_container(config)
    return {key: _resolved(config, key, value) for key, value in written.items()}


def _resolved(config: DictConfig, key: str, written: Any) -> Any:
    """Return the value of a key at the top without interpolations; as written without a value.

    Raises ``UserError`` with the key of an interpolation that fails.
    """
    try:
        value = config[key]
        return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value
    except (MissingMandatoryValue, InterpolationToMissingValueError):
        return written  # which the task names
    except OmegaConfBaseException as error:
        if isinstance(error.__context__, UserError):
            raise error.__context__ from None
        if "HydraConfig was not set" in str(error):  # a planned run, which is no job of Hydra yet
            return written
        raise UserError(failed_interpolation(config, [key]) or f"{key}: {error}") from None


def failed_interpolation(config: DictConfig, keys: Iterable[str]) -> str | None:
    """Return the error of the first interpolation below these keys at the top that fails."""
    written: Any = OmegaConf.to_container(config)
    return next(filter(None, (_failed(config, written[key], key) for key in keys)), None)


def _failed(node: Any, written: Any, name: Any, parent: str = "") -> str | None:
    """Return the error of the first interpolation in ``node[name]`` that fails, or None."""
    key = f"{parent}[{name}]" if isinstance(name, int) else f"{parent}.{name}".lstrip(".")
    try:
        value = node[name]
    except (MissingMandatoryValue, InterpolationToMissingValueError):
        return None
    except OmegaConfBaseException as error:
        why = " ".join(str(error).splitlines()[0].split())
        return f"{key}={written}: {why}; give a value, or the key of another setting"
    if isinstance(written, dict):
        inside: Iterable[tuple[Any, Any]] = written.items()
    else:
        inside = enumerate(written) if isinstance(written, list) else ()
    return next(filter(None, (_failed(value, each, part, key) for part, each in inside)), None)


def _check_keys(values: Mapping[str, Any], overrides: Iterable[str]) -> None:
    open_groups = tuple(_groups_of_classes(values, HARNESS))
    for key in values:
        if not key.startswith(open_groups) and not is_known(key):
            of_file = not any(key_of(each).startswith(key) for each in overrides)
            raise UserError((of_file and without_package(key)) or unknown_key(key))


def _check_values(values: Mapping[str, Any]) -> None:
    own = tuple(_groups_of_classes(values, PACKAGES, ("_target_",)))
    for key, value in values.items():
        _check_parent(key)
        setting = settings().get(_listed(key))
        if setting is None or (isinstance(value, str) and (value == MISSING or "${" in value)):
            continue
        if key.startswith(own) and not key.endswith("._target_"):
            continue
        if not setting.type.allows(value):
            raise UserError(f"{key}={_shown(value)}: give {setting.type}")


def _listed(key: str) -> str:
    """Return the key whose entry describes a key, which may be of a corpus of a mixture."""
    return OF_CANDIDATES.sub("decoding.", OF_A_CORPUS.sub("data.", key))


def _shown(value: Any) -> str:
    """Return a value as Hydra reads it: a text of digits has quotes."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    is_number = isinstance(value, str) and NUMBER.fullmatch(value)
    return f"'{value}' (a text)" if is_number else str(value)


def _check_parent(key: str) -> None:
    """Raise ``UserError`` for a mapping where one value is wanted: ``checkpoint={a: 1}``."""
    parent = key
    while parent := parent.rpartition(".")[0]:
        setting = settings().get(parent)
        if setting is not None and setting.type.kind not in ("mapping", "any"):
            raise UserError(f"{parent}: a mapping was given; give {setting.type}")


def _groups_of_classes(
    values: Mapping[str, Any], packages: Iterable[str], names: Iterable[str] = CLASSES
) -> Iterable[str]:
    """Yield the groups, with a dot, that name a class outside ``packages``."""
    for key, value in values.items():
        group, _, name = key.rpartition(".")
        package, dot, _ = str(value).partition(".")
        if name in names and dot and package not in packages and group:
            yield f"{group}."


def _check_checkpoint(values: Mapping[str, Any]) -> None:
    """Raise ``UserError`` for settings that would keep other checkpoints than the one best."""
    for key, value in values.items():
        renamed = key == f"{CHECKPOINT}.filename" and value != Path(BEST).stem
        if renamed or (key.startswith(f"{CHECKPOINT}.") and key not in settings()):
            raise UserError(
                f"{key}: a run keeps one checkpoint, {BEST}; for others add a callback, "
                "+callbacks.NAME={_target_: pytorch_lightning.callbacks.ModelCheckpoint, "
                "dirpath: DIR, …}"
            )


def _check_attention(values: Mapping[str, Any]) -> None:
    """Raise ``UserError`` for options of attention in a variant that has no attention.

    Also for a start that the draw of all parameters would undo.
    """
    options = [key for key in values if key.startswith(f"{ATTENTION}.")]
    if options and f"{ATTENTION}.score" not in values:
        raise UserError(
            f"{options[0]}: this variant has no attention; choose another, such as model=bahdanau"
        )
    drawn = values.get("model.initial_range")
    for key in (f"{ATTENTION}.start", "model.intra_attention.start"):
        if drawn is not None and values.get(key) == "simple":
            raise UserError(
                f"{key}=simple: model.initial_range={drawn} draws all parameters; set "
                f"model.initial_range=null or {key}=random"
            )


def _check_match(values: Mapping[str, Any]) -> None:
    """Raise ``UserError`` for a scale beside ``match``, which would choose it."""
    found = any(key.startswith("match.found.") for key in values)  # by this run, before a restart
    for name in () if found or values.get("match.by") is None else ("scale", "fine_scale"):
        if values[name] != 1:
            raise UserError(
                f"{name}={values[name]}: match={values['match.by']} chooses it; leave one of them "
                f"out ({name}=1 or match=none)"
            )


def check_inputs(config: DictConfig, overrides: Iterable[str] = ()) -> None:
    """Raise ``UserError`` for the first file or folder that the task reads and that is missing.

    A task that starts from a run reads only what the command gives: the rest is of the run. Claims
    choose what they train on.
    """
    name = tasks().get(str(config.task), "train")
    in_part = "checkpoint" in config or name == "claims"
    given = tuple(map(key_of, overrides)) if in_part else ("",)
    for key, value in flatten(_without_interpolations(config)).items():
        setting = setting_of(OF_A_CORPUS.sub("data.", key))
        if setting is None or not setting.exists or not _reads(name, key):
            continue
        if not key.startswith(given):
            continue
        for path in value if isinstance(value, list) else [value]:
            if isinstance(path, str) and path not in (MISSING, STREAM, *setting.type.choices):
                _check_there(key, Path(path))
    if name == "train" and config.get("continue") is not None:
        last_file(config["continue"])
    if name == "train" and config.get("init_from") is not None:
        checkpoint_file(config.init_from, "init_from")


def _check_there(key: str, path: Path) -> None:
    if not path.exists():
        place = "" if path.is_absolute() else f" in {Path.cwd()}"
        raise UserError(f"{key}={path}: {what_is(path)}{place}; correct the path")


UNTRACKED = ("translate", "align", "contrast", "explore")
"""Tasks that have no tracker, and take ``logger=none`` alone."""


def _check_read(task: str, overrides: Iterable[str]) -> None:
    """Raise ``UserError`` for an override that the task would ignore."""
    name = tasks().get(task)
    if name is None:  # a study or a user's own function
        return
    for override in overrides:
        key = key_of(override)
        if not _reads(name, key):
            setting = setting_of(key)
            readers = ", ".join(f"task={reader}" for reader in setting.tasks) if setting else ""
            raise UserError(
                f"{override}: task={name} does not read {key}, only {readers}; leave it out"
            )
        if name in UNTRACKED and key.startswith("logger") and override != "logger=none":
            raise UserError(f"{override}: task={name} tracks nothing; leave it out")


def _reads(task: str, key: str) -> bool:
    setting = setting_of(key)
    if setting is None or "launch" in setting.tasks or is_read_by(key, task):
        return True
    if any(name.startswith(f"{key}.") and task in one.tasks for name, one in settings().items()):
        return True
    if task == "reproduce":  # trains from the record of a run, into other folders
        return key.partition(".")[0] in top_keys_that_affect(["presentation", "nothing"])
    if task in ("settings", "claims", "study"):  # explain settings of trainings, or pass them on
        return _reads("train", key)
    return task == "train" and "study" in setting.tasks


@cache
def tasks() -> Mapping[str, str]:
    """Return the names of the tasks by the dotted paths of their functions."""
    return {file.values["task"]: file.name for file in group_files() if file.group == "task"}


MADE_AT_ONCE = ("data", "logger")
"""Groups whose objects are made before the training anyway, with errors of their own."""
NO_ARGUMENTS = {"decoding": ("replace_unknown", "dictionary")}
"""Keys of groups that are no arguments of the group's class, but read beside the class."""


def check_arguments(config: DictConfig) -> None:
    """Raise ``UserError`` for an argument that the class or function of its group does not take.

    Classes that cannot be imported are refused where they are used, by the setting that names them.
    """
    plain: Any = OmegaConf.to_container(config)
    for group, node in _nodes({key: plain[key] for key in plain if key not in MADE_AT_ONCE}, ""):
        try:
            taker = hydra.utils.get_object(node["_target_"])
            signature = inspect.signature(getattr(taker, "options_class", taker))
        except Exception:  # a user's module may raise anything
            continue
        others = NO_ARGUMENTS.get(group, ())
        for name in node:
            if not name.startswith("_") and name not in others:
                _check_argument(group, name, node["_target_"], signature)


def _check_argument(group: str, name: str, taker: str, signature: inspect.Signature) -> None:
    try:
        signature.bind_partial(**{name: None})
    except TypeError:
        known, kind = signature.parameters, taker.rpartition(".")[2]
        near = get_close_matches(name, known, 1)
        remedy = f"; did you mean {group}.{near[0]}?" if near else f", only {', '.join(known)}"
        raise UserError(f"{group}.{name}: {kind} takes no such argument{remedy}") from None


def _nodes(config: Mapping[str, Any], parent: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the groups that name a class, by dotted key."""
    if isinstance(config.get("_target_"), str):
        yield parent, config
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from _nodes(value, f"{parent}.{name}" if parent else name)
