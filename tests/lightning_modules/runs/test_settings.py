"""The table of settings: complete, true to ``conf/`` and to the classes that take the values."""

from inspect import signature
from typing import Any

import pytest
import yaml
from omegaconf import OmegaConf
from pydantic import TypeAdapter, ValidationError

from datamodules.batching import Batching
from datamodules.grammar import GrammarCorpus
from datamodules.grammar.knobs import Knobs
from datamodules.huggingface import HuggingFaceCorpus
from datamodules.mixture import MixtureCorpus
from datamodules.text import TextCorpus
from datamodules.tokenization import TokenizerSettings
from lightning_modules.decoding import (
    BeamSearch,
    DiverseBeamSearch,
    GreedySearch,
    MinimumBayesRisk,
    SamplingSearch,
    Search,
)
from lightning_modules.runs.paths import CONF
from lightning_modules.runs.settings import (
    ValueType,
    choice_files,
    effect_of,
    flatten,
    key_of,
    labelling_overrides,
    overrides_that_affect,
    settings,
)
from lightning_modules.testing.scoring import Scoring
from lightning_modules.training import schedules
from lightning_modules.training.process import Seeds
from lightning_modules.training.teacher_forcing import TeacherForcing
from sweeps.launch.resolvers import NAMED
from sweeps.studies.settings import Sweep

TAKERS = [
    ("seeds", Seeds),
    ("scoring", Scoring), ("sweep", Sweep), ("batching", Batching),
    ("tokenizer", TokenizerSettings), ("teacher_forcing", TeacherForcing),
    ("data", GrammarCorpus), ("data", Knobs), ("data", TextCorpus),
    ("data", HuggingFaceCorpus), ("data", MixtureCorpus), ("decoding", BeamSearch),
    ("decoding", GreedySearch), ("decoding", DiverseBeamSearch), ("decoding", MinimumBayesRisk),
    ("decoding", SamplingSearch), ("decoding", Search), ("scheduler", schedules.linear),
    ("scheduler", schedules.halving), ("scheduler", schedules.inverse_sqrt),
]  # fmt: skip
"""Classes and functions that take the values of a group."""
SAMPLES: dict[str, list[object]] = {
    "bool": [True, False, None],
    "int": [-1, 0, 1, 2, 5, 0.5, "abc", None],
    "float": [-1, 0, 0.5, 1, 2, float("inf"), "abc", None],
    "text": ["abc", "words", "copy", "sum", "none", None],
}
"""Values by kind, without those that pydantic converts."""


@pytest.fixture(scope="module")
def values_of_all_files():
    """The values of each key in all files of ``conf/``."""
    values: dict[str, list] = {}
    for file in [CONF / "config.yaml", *choice_files()]:
        group = file.parent.name
        if group == "hydra":
            continue
        content: Any = OmegaConf.to_container(OmegaConf.load(file))
        is_global = group == "conf" or "@package _global_" in file.read_text(encoding="utf-8")
        for key, value in flatten(content if is_global else {group: content}).items():
            if not {"defaults", "hydra"} & set(key.split(".")):
                values.setdefault(key, []).append(value)
    return values


def entry_of(key: str) -> str | None:
    """Return the entry that describes a key itself, or the mapping that holds the key."""
    while key and key not in settings():
        key = key.rpartition(".")[0]
        if key in settings() and settings()[key].type.kind not in ("mapping", "any"):
            return None
    return key if key and not settings()[key].is_group else None


def test_every_key_has_an_entry(values_of_all_files):
    missing = [
        key
        for key in values_of_all_files
        if entry_of(key) is None and key not in ("logger", "model.attention")  # {} and null
    ]
    assert missing == []


def test_every_entry_has_a_key(values_of_all_files):
    groups = {file.parent.name for file in choice_files()}
    keys = {*values_of_all_files, *groups, *NAMED, "hydra"}
    stale = [
        entry
        for entry in settings()
        if not any(key == entry or key.startswith(f"{entry}.") for key in keys)
    ]
    assert stale == []


def test_every_value_of_a_file_is_allowed(values_of_all_files):
    refused = [
        f"{key}={value}"
        for key, values in values_of_all_files.items()
        for value in values
        if key in settings()
        and not (isinstance(value, str) and ("${" in value or value == "???"))
        and not settings()[key].type.allows(value)
        and (key, value) != ("logger", {})
    ]
    assert refused == []


def test_every_entry_says_what_it_affects_for_which_tasks():
    tasks = {file.stem for file in (CONF / "task").glob("*.yaml")} | {"study", "launch"}
    for setting in settings().values():
        assert setting.affects in ("weights", "test", "presentation", "nothing"), setting
        assert setting.tasks, setting
        assert set(setting.tasks) <= tasks, setting
        assert setting.meaning.endswith("."), setting


def test_the_file_has_only_fields_that_are_read():
    """A misspelt field would be ignored."""
    known = {
        *("type", "least", "above", "most", "below", "choices", "open", "of", "further", "exists"),
        *("affects", "by", "condition", "tasks", "meaning", "settings"),
    }

    def check(entries):
        for name, entry in entries.items():
            assert entry.keys() <= known, name
            check(entry.get("settings", {}))

    check(yaml.safe_load((CONF / "settings.yaml").read_text(encoding="utf-8")))


def accepted(adapter: TypeAdapter, value: object) -> bool:
    try:
        adapter.validate_python(value)
    except ValidationError:
        return False
    return True


def parameters(taker) -> dict[str, Any]:
    """Return the annotations of what a class or function takes."""
    return {name: each.annotation for name, each in signature(taker).parameters.items()}


@pytest.mark.parametrize(("group", "taker"), TAKERS, ids=lambda one: getattr(one, "__name__", one))
def test_a_class_takes_every_value_that_the_table_allows(group, taker):
    """The table has types and ranges, the classes have types alone."""
    compared = 0
    for name, annotation in parameters(taker).items():
        entry = settings().get(f"{group}.{name}".lstrip("."))
        if entry is None or entry.is_group or entry.type.kind not in SAMPLES:
            continue
        if entry.type.kind == "text" and (entry.type.is_open or not entry.type.choices):
            continue  # any text, or a plug, which is looked up in another place
        adapter: TypeAdapter[Any] = TypeAdapter(annotation)
        for value in [*SAMPLES[entry.type.kind], *entry.type.choices]:
            if value is None and name == "total_updates":
                continue  # the training puts its number of updates in
            if entry.type.allows(value):
                assert accepted(adapter, value), (entry.key, value)
                compared += 1
    assert compared


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("optimizer.lr=1", "optimizer.lr"), ("+model.attention.heads=4", "model.attention.heads"),
        ("~logger", "logger"), ("hydra/launcher=joblib", "hydra.launcher"),
        ("++a.b={c:d}", "a.b"),
        ("optimizer@x=adam", "optimizer"),
        ("~model.tied=none", "model.tied"),
    ],
)  # fmt: skip
def test_the_key_of_an_override(override, key):
    assert key_of(override) == key


def test_a_key_without_an_entry_counts_as_its_group_does():
    assert effect_of("optimizer.weight_decay") == "weights"
    assert effect_of("decoding.temperature") == "test"
    assert effect_of("logger.entity") == "presentation"
    assert effect_of("hydra.job.name") == "nothing"
    assert effect_of("a_key_of_mine") == "weights"


def test_overrides_that_tell_systems_apart():
    given = [
        *("model=bahdanau", "variant=bahdanau", "seed=3", "optimizer.lr=1", "decoding=greedy"),
        *("logger=none", "outputs=x", "task=train", "comparison=family", "hydra/launcher=basic"),
    ]
    assert labelling_overrides(given, "bahdanau") == ["optimizer.lr=1", "decoding=greedy"]
    assert labelling_overrides(given, "mine")[:2] == ["model=bahdanau", "variant=bahdanau"]
    assert overrides_that_affect(given, ["presentation"]) == ["logger=none"]


@pytest.mark.parametrize(
    ("entry", "allowed", "refused", "text"),
    [
        ({"type": "float", "above": 0, "below": 1}, [0.5], [0, 1, "a", None, True],
         "a number, above 0 and below 1"),
        ({"type": "int or null", "least": 1}, [1, None], [0, 1.0], "a whole number, at least 1"),
        ({"type": "text", "choices": ["a", "b"], "open": True}, ["a", "my.Class"], ["c", 1],
         "one of a, b, or a dotted path"),
        ({"type": "list", "of": "int"}, [[], [1]], [1, [1.5]], "a list of whole numbers"),
        ({"type": "path"}, ["x", 2016], [None, []], "a path"),
        ({"type": "paths"}, ["x", ["x", "y"]], [None, [None]], "a path or a list of paths"),
        ({"type": "any"}, [None, 1, []], [], "any value"),
    ],
)  # fmt: skip
def test_types_and_ranges(entry, allowed, refused, text):
    kind = ValueType.of(entry, is_group=False)
    assert all(map(kind.allows, allowed))
    assert not any(map(kind.allows, refused))
    assert str(kind).startswith(text)
