"""Values of a configuration are checked against the table of settings."""

from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

from datamodules.errors import UserError
from lightning_modules.runs.paths import CONF
from lightning_modules.runs.setting_checks import (
    check_arguments,
    check_inputs,
    check_removal,
    check_settings,
    failed_interpolation,
)
from lightning_modules.runs.setting_search import find_settings, is_known, unknown_key
from lightning_modules.runs.settings import flatten, settings
from sweeps.launch.compose import use_hydra_config

NAME = "give a name: a letter or digit, then up to 99 characters without slashes"
SEED = "give a whole number, at least 0 and at most 4,294,967,295"
TRANSLATE, TRAIN = (f"lightning_modules.tasks.{name}.{name}" for name in ("translate", "train"))
ADAM = {"_target_": "torch.optim.Adam", "lr": 0.1}


@pytest.mark.parametrize(
    "config",
    [
        {"optimizer": ADAM, "threads": None, "seed": 1},
        {"scale": 0.5, "model": {"hidden_size": "${scaled:8}"}},
        {"decoding": {"_target_": "my_search.Mine", "beam_size": 0.5, "temperature": -1}},
        {"callbacks": {"mine": {"_target_": "my.Callback", "count": "many"}}},
    ],
)
def test_what_the_table_allows(config):
    check_settings(OmegaConf.create({"task": "x.y"} | config))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"optimizer": ADAM | {"lr": "abc"}}, "optimizer.lr=abc: give a number, above 0"),
        ({"seed": {"a": 1}}, f"seed: a mapping was given; {SEED}"),
        ({"seed": -1}, f"seed=-1: {SEED}"),
        ({"threads": 0}, "threads=0: give a whole number, at least 1, or null"),
        (
            {"fine_scale": 0.5, "model": {"layers": "${fine_scale}"}},
            "model.layers=0.5: give a whole number, at least 1",
        ),
        (
            {"data": {"corpora": {"one": {"limit": 0}}}},
            "data.corpora.one.limit=0: give a whole number, at least 1, or null",
        ),
        ({"variant": "../x"}, f"variant=../x: {NAME}"),
        (
            {"trainer": {"val_check_interval": 0}},
            "trainer.val_check_interval=0: give a number above 0, or a time DD:HH:MM:SS",
        ),
        (
            {"batching": {"max_token": 5}},
            "batching.max_token: no such setting; did you mean batching.max_tokens?",
        ),
        (
            {"nothing": 1},
            "nothing: no such setting; task=settings lists all settings, find=WORD those with a "
            "word",
        ),
        ({"seed": "1"}, f"seed='1' (a text): {SEED}"),
        ({"force": "yes"}, "force=yes: give true or false"),
        ({"outputs": ""}, "outputs=: give a path"),
        (
            {"scale": 2, "fine_scale": 1, "match": {"by": "flops"}},
            "scale=2: match=flops chooses it; leave one of them out (scale=1 or match=none)",
        ),
        (
            {"model": {"attention": {"heads": 2}}},
            "model.attention.heads: this variant has no attention; choose another, such as "
            "model=bahdanau",
        ),
        (
            {"model": {"attention": {"score": "general", "start": "simple"}, "initial_range": 0.1}},
            "model.attention.start=simple: model.initial_range=0.1 draws all parameters; set "
            "model.initial_range=null or model.attention.start=random",
        ),
        (
            {"model": {"intra_attention": {"start": "simple"}, "initial_range": 0.1}},
            "model.intra_attention.start=simple: model.initial_range=0.1 draws all parameters; set "
            "model.initial_range=null or model.intra_attention.start=random",
        ),
        (
            {"model": {"attention": {"score": "general", "score_rate": 0}}},
            "model.attention.score_rate=0: give a number, above 0, or null",
        ),
    ],
)
def test_what_the_table_refuses(config, message):
    with pytest.raises(UserError) as caught:
        check_settings(OmegaConf.create({"task": "x.y"} | config))
    assert str(caught.value) == message


@pytest.fixture(scope="module")
def shipped():
    """The configuration that ``python run.py`` composes, with Hydra's node."""
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("config", return_hydra_config=True)


def test_no_setting_can_be_removed_but_what_no_run_needs():
    """Tries every key and group of the table, so that a new one is covered."""
    removable = set()
    for key in settings():
        try:
            check_removal(f"~{key}")
            removable.add(key)
        except UserError as error:
            mistake, _, remedy = str(error).partition("; ")
        if key not in removable:
            assert mistake == f"~{key}: a setting cannot be removed"
            assert key in remedy
    kept = ("resume_checkpoint", "divergence", "history", "learning_curve", "examples")
    assert removable == {f"callbacks.{name}" for name in kept}


@pytest.mark.parametrize(
    "overrides",
    [
        ["~report.sections.words"],
        ["~tuned.variants.seq2seq"],
        ["~callbacks.mine"],
        ["optimizer._target_=torch.optim.SGD", "~optimizer.betas", "~optimizer.eps"],
        ["model.attention.score=my.Score", "~model.attention.heads"],
    ],
)
def test_what_can_be_removed(overrides):
    for override in overrides:
        check_removal(override, overrides)


def test_an_interpolation_that_fails_is_told_with_its_key(shipped):
    """Tries every key of the configuration."""
    plain: Any = OmegaConf.to_container(shipped)
    del plain["hydra"]
    config = DictConfig(plain)
    for key, value in flatten(plain).items():
        for written in ("${nope}", ["a", "${nope}"]):
            OmegaConf.update(config, key, written)
            with use_hydra_config(shipped):
                line = failed_interpolation(config, [key.partition(".")[0]])
            place = key if isinstance(written, str) else f"{key}[1]"
            assert line is not None
            assert line.startswith(f"{place}=${{nope}}: Interpolation key 'nope' not found; give")
        OmegaConf.update(config, key, value, merge=False)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("${label}", "label=${label}: Recursive interpolation detected; give a value, or the key"),
        ("${oc.env:NOT_SET}", "label=${oc.env:NOT_SET}: KeyError raised while resolving"),
        ("${nothing:1}", "label=${nothing:1}: Unsupported interpolation type nothing; give"),
        ("${scaled:wide}", "label=${scaled:wide}: TypeError raised while resolving interpolation"),
    ],
)
def test_interpolations_that_fail_in_other_ways(written, shown):
    with pytest.raises(UserError) as caught:
        check_settings(OmegaConf.create({"task": "x.y", "scale": 1, "label": written}))
    assert str(caught.value).startswith(shown)


@pytest.mark.parametrize(
    ("given", "override", "meant"),
    [
        ({"label": 2026}, "label=2026", "2026"),
        ({"label": 1000.0}, "label=1e3", "1e3"),
        ({"label": 12}, "label=1_2", "1_2"),
        ({"label": True}, "label=true", "true"),
        ({"variant": 7}, None, "7"),
        ({"outputs": 2016}, "+outputs=2016", "2016"),
        ({"about": {"papers": [2017, "x"]}}, None, ["2017", "x"]),
        ({"sweep": {"name": 2026}}, "sweep.name=2026", "2026"),
        ({"data": {"corpora": {"one": {"root": 16}}}}, None, "16"),
        ({"seed": 1000.0}, "seed=1e3", 1000),
        ({"optimizer": ADAM | {"lr": 1}}, "optimizer.lr=1", 1),
    ],
)
def test_numbers_are_read_as_their_settings_mean_them(given, override, meant):
    config = OmegaConf.create({"task": "x.y"} | given)
    check_settings(config, [override] if override else [])
    [key] = [key for key in flatten(given) if not key.endswith("_target_")]
    value = OmegaConf.select(config, key)
    assert value == meant
    assert type(value) is type(meant) or isinstance(meant, list)


TEST = "lightning_modules.tasks.score.score"
EVALUATE = "sweeps.tasks.evaluate.evaluate_systems"


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"task": EVALUATE, "references": "/nowhere"}, "references"),
        ({"task": EVALUATE, "systems": {"mine": ["/", "/nowhere"]}}, "systems.mine"),
        ({"task": "sweeps.tasks.reproduce.reproduce", "run": "/nowhere"}, "run"),
        ({"task": "sweeps.tasks.compare.compare", "runs": ["/", "/nowhere"]}, "runs"),
        ({"task": "sweeps.tasks.claims.retest_claims", "learning_rates": "/nowhere"},
         "learning_rates"),
        ({"task": "sweeps.tasks.align.align", "targets": "/nowhere"}, "targets"),
        ({"task": "lightning_modules.tasks.train.train", "data": {"root": "/nowhere"}},
         "data.root"),
        ({"task": TEST, "checkpoint": "/", "data": {"root": "/nowhere"}}, "data.root"),
        ({"task": "my.task", "tokenizer": {"models": {"source": "/nowhere"}}},
         "tokenizer.models.source"),
        ({"task": "my.task", "data": {"corpora": {"one": {"root": "/nowhere"}}}},
         "data.corpora.one.root"),
    ],
)  # fmt: skip
def test_what_a_task_reads_must_be_there(config, key):
    with pytest.raises(UserError) as caught:
        check_inputs(OmegaConf.create(config), [f"{key}=/nowhere"])
    assert str(caught.value) == f"{key}=/nowhere: does not exist; correct the path"


def test_a_missing_relative_path_is_told_with_its_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=f"root=text: does not exist in {tmp_path}; correct"):
        check_inputs(OmegaConf.create({"task": "my.task", "data": {"root": "text"}}))


@pytest.mark.parametrize(
    "config",
    [
        {"task": TRANSLATE, "input": "-"},
        {"task": "sweeps.tasks.align.align", "targets": "hypothesis", "gold": None},
        {"task": TRANSLATE, "data": {"root": "/nowhere"}},  # which the task does not read
        {"task": EVALUATE, "references": "???", "systems": {"mine": "/"}},
        {"task": TEST, "checkpoint": "/", "data": {"root": "/nowhere"}},  # the run's
    ],
)
def test_what_need_not_be_there(config):
    check_inputs(OmegaConf.create(config))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("beam", "decoding.beam_size"),
        ("learning rate", "optimizer.lr"),
        ("learning_rate", "optimizer.lr"),
        ("BEAM_size", "decoding.beam_size"),
        ("vocab tokens", "tokenizer.vocabulary_size"),
    ],
)
def test_settings_are_found_by_any_part_of_key_or_meaning(text, key):
    assert key in [one.key for one in find_settings(text)]


def test_an_empty_text_finds_all_settings():
    assert find_settings("") == list(settings().values())


def test_several_files_of_a_group_are_no_choice():
    with pytest.raises(UserError, match="give one file; -m model=a,b runs a job for each"):
        check_settings(OmegaConf.create({"task": "x.y"}), ["model=[a,b]"])


@pytest.mark.parametrize(
    ("task", "override", "readers"),
    [
        (TRANSLATE, "model=transformer", "only task=train"),
        (TRANSLATE, "seed=3", "only task=train"),
        (TRANSLATE, "scoring.unit=source_tokens", "only task=train, task=test"),
        ("sweeps.tasks.evaluate.evaluate_systems", "++optimizer.lr=1", "only task=train"),
        ("sweeps.tasks.reproduce.reproduce", "optimizer.lr=1", "only task=train"),
    ],
)
def test_a_task_refuses_what_it_does_not_read(task, override, readers):
    with pytest.raises(UserError, match=f"does not read .*, {readers}"):
        check_settings(OmegaConf.create({"task": task}), [override])


def test_a_task_without_a_tracker_takes_none_alone():
    check_settings(OmegaConf.create({"task": TRANSLATE}), ["logger=none"])
    with pytest.raises(UserError, match="logger=csv: task=translate tracks nothing; leave it out"):
        check_settings(OmegaConf.create({"task": TRANSLATE}), ["logger=csv"])


@pytest.mark.parametrize(
    ("task", "overrides"),
    [
        (TRAIN, ["model=transformer", "seed=1", "comparison=quickstart", "hydra/launcher=joblib"]),
        (TRANSLATE, ["task=translate", "decoding.beam_size=2", "threads=1", "input=x"]),
        ("sweeps.tasks.reproduce.reproduce", ["outputs=x", "logger=none", "run=y"]),
        ("my_module.task", ["model=transformer", "anything=1"]),
    ],
)
def test_a_task_takes_what_it_reads(task, overrides):
    check_settings(OmegaConf.create({"task": task}), overrides)


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ("data.skip_emtpy", "did you mean data.skip_empty?"),
        ("batching.max_token", "did you mean batching.max_tokens?"),
        ("lr", "did you mean optimizer.lr?"),
        ("beam_size", "did you mean decoding.beam_size?"),
        ("decoding.beam_size", "choose decoding=beam or decoding=diverse"),
        ("budget.updates", "choose budget=updates"),
        ("input", "choose task=translate"),
        ("data.root", "choose data=canlaw or data=multi30k or data=text or data=wmt_en_de"),
        (
            "trainer.speed",
            "find=trainer. lists the settings of trainer; +trainer.speed=... gives "
            "the class a further argument",
        ),
        ("model.speed", "task=settings find=model. lists the settings of model"),
        ("zzzzzz", "task=settings lists all settings, find=WORD those with a word"),
        (
            "optimizer.learning_rate",
            "did you mean optimizer.lr?; +optimizer.learning_rate=... "
            "gives the class a further argument",
        ),
        ("learning_rate", "did you mean optimizer.lr?"),
        ("batch_size", "did you mean batching.max_tokens?"),
        ("vocab_size", "did you mean tokenizer.vocabulary_size?"),
        ("embedding_dim", "did you mean model.embedding_size?"),
        ("warmup_steps", "did you mean scheduler.warmup_updates?"),
        ("clip_norm", "did you mean trainer.gradient_clip_val?"),
        ("sampler", "did you mean sweep.sampler?"),
        (
            "trainer.lr",
            "did you mean optimizer.lr?; +trainer.lr=... gives the class a further argument",
        ),
        (
            "scheduler.mode",
            "no such setting; task=settings find=scheduler. lists the settings of scheduler",
        ),
        ("sorces", "did you mean sources?"),
    ],
)
def test_the_remedy_fits_the_key(key, remedy):
    assert unknown_key(key).endswith(remedy)
    assert unknown_key(key).startswith(f"{key}: ")


@pytest.mark.parametrize(
    ("key", "known"),
    [
        ("optimizer.lr", True),
        ("callbacks.mine.anything", True),
        ("systems.any name", True),
        ("sweep.space.optimizer.lr.low", True),
        ("batching.foo", False),
        ("foo", False),
        ("model.attention.foo", False),
    ],
)
def test_mappings_take_any_key_and_groups_only_their_own(key, known):
    assert is_known(key) == known


class Strict:
    """A class of the user with one argument."""

    def __init__(self, width: int) -> None:
        self.width = width


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"optimizer": {"_target_": ADAM["_target_"], "_partial_": True, "bettas": 1}},
            "optimizer.bettas: Adam takes no such argument; did you mean optimizer.betas?",
        ),
        (
            {"callbacks": {"mine": {"_target_": f"{__name__}.Strict", "colour": "red"}}},
            "callbacks.mine.colour: Strict takes no such argument, only width",
        ),
    ],
)
def test_what_no_class_takes_is_refused(config, message):
    with pytest.raises(UserError) as caught:
        check_arguments(OmegaConf.create(config))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "node",
    [
        {"_target_": ADAM["_target_"], "_partial_": True, "lr": 0.1, "betas": [0.9, 0.98]},
        {"_target_": f"{__name__}.Nowhere", "colour": "red"},
        {"_target_": "builtins.dict", "anything": 1},
    ],
)
def test_what_may_be_taken_passes(node):
    check_arguments(OmegaConf.create({"optimizer": node, "plain": {"colour": "red"}}))
