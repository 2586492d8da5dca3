"""Build objects from the configuration; a mistake becomes one line that names the override."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from logging import getLogger
from typing import Any

import hydra.utils
import numpy as np
import torch
from hydra.errors import InstantiationException
from omegaconf import DictConfig, OmegaConf
from pydantic import ValidationError
from pytorch_lightning.callbacks import Callback, EarlyStopping, ModelCheckpoint
from pytorch_lightning.utilities.exceptions import MisconfigurationException
from torch.optim import Optimizer
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.checkpoint import checkpoint

from datamodules.batching import EncodedPairs
from datamodules.corpus import Corpus, Split, check_names
from datamodules.errors import UserError, first_mistake
from datamodules.plugs import HARNESS, find_plug, in_own_file
from datamodules.tokenization import Tokenizer, is_tag
from datamodules.translation_data import TranslationData
from lightning_modules.decoding import Search
from lightning_modules.decoding.search import try_model
from lightning_modules.kernels.choice import (
    Choice,
    Kernels,
    KernelSettings,
    Work,
    kernels_of_search,
    kernels_of_training,
)
from lightning_modules.kernels.precision import is_scaled
from lightning_modules.ranks.devices import on_gpus, processes, visible_gpus, world_size
from lightning_modules.runs.setting_checks import NO_ARGUMENTS
from lightning_modules.training.budgets import is_open, read_budget
from lightning_modules.training.validations import IMPROVEMENTS, MODES, VAL_LOSS
from lightning_modules.variants import EncoderDecoder, count_parameters

log = getLogger(__name__)
_FULL_KEY = re.compile(r"full_key: (\S+)")  # the part of a configuration that Hydra could not build
PLUGS = (
    *("model._target_", "model.cell", "model.attention.score", "model.attention.window"),
    "model.intra_attention.score",
)
"""Settings of a model that may name classes of the user."""
SMALL_VOCABULARY = 8
"""Tokens of the vocabularies of a model that is built only to see what fits together."""


def build(config: DictConfig, key: str, **arguments: Any) -> Any:
    """Instantiate the node ``key`` of a configuration, with further arguments.

    Raises ``UserError`` for values that the class of the node refuses, and for any error inside a
    user's file.
    """
    try:
        return hydra.utils.instantiate(OmegaConf.select(config, key), _convert_="all", **arguments)
    except InstantiationException as error:
        cause = error.__cause__
        inside = _FULL_KEY.search(str(error))
        part = inside[1] if inside else key  # the corpus of a mixture, for example
        if isinstance(cause, UserError):
            raise cause if part == key else UserError(f"{part}: {cause}") from None
        if isinstance(cause, ValidationError):
            raise UserError(first_mistake(cause, part)) from None
        target = str(OmegaConf.select(config, f"{part}._target_"))
        if cause is not None and (why := in_own_file(cause)):
            raise UserError(f"{part}._target_={target}: {why}") from None
        if isinstance(cause, ValueError):
            ours = target.partition(".")[0] in HARNESS  # whose messages name the setting
            # A search for candidates names its settings as any search does.
            named = str(cause) if part == key else str(cause).replace(f"{key}.", f"{part}.")
            line = named if ours else f"{part}: {cause}; correct {part}.KEY=VALUE"
            raise UserError(line) from None
        # A wrong type or argument, or a package that another accelerator needs.
        if isinstance(cause, TypeError | MisconfigurationException | ModuleNotFoundError):
            raise UserError(f"{part}: {cause}") from None
        raise


def build_data(config: DictConfig) -> TranslationData:
    """Build the corpus and its batches. Raises ``UserError``; reads no text yet."""
    try:
        return TranslationData(
            cleaning=build(config, "cleaning"),
            tokenizer=build(config, "tokenizer"),
            batching=build(config, "batching"),
            corpus=build_corpus(config),
            val_sentences=config.val_sentences,
            seed=config.seeds.data_order,
            cache_dir=config.cache_dir,
        )
    except ValidationError as error:
        raise UserError(first_mistake(error)) from None


def build_corpus(config: DictConfig) -> Corpus:
    """Build the corpus, of the harness or of the user. Raises ``UserError``; reads no text yet."""
    find_plug("data._target_", str(config.data.get("_target_")), {}, Corpus)
    corpus: Corpus = build(config, "data")
    check_names(corpus)
    return corpus


def check_classes(config: DictConfig) -> None:
    """Raise ``UserError`` for a budget, trainer, callback, variant or search of the wrong kind."""
    if not is_open(config) and read_budget(config).plateau is not None:
        _check_plateau(config)
    check_trainer(config)
    check_callbacks(config)
    find_plug("model._target_", str(config.model._target_), {}, EncoderDecoder)
    for key in ("decoding._target_", "decoding.candidates._target_"):
        if (name := OmegaConf.select(config, key)) is not None:
            find_plug(key, str(name), {}, Search)


def _check_plateau(config: DictConfig) -> None:
    """Raise ``UserError`` where nothing measures the loss that ``budget.plateau`` looks at."""
    setting = f"budget.plateau={config.budget.plateau}"
    if "learning_curve" not in config.callbacks:
        raise UserError(f"{setting}: needs callbacks.learning_curve, which the command leaves out")
    if config.trainer.get("limit_val_batches") == 0:
        raise UserError(f"{setting}: needs validations; leave out trainer.limit_val_batches=0")


INSTEAD = {
    "accumulate_grad_batches": "set batching.pieces={} instead, which computes an update's batch "
    "piece by piece",
    "limit_train_batches": "a resumed training needs whole epochs; give a smaller budget, such as "
    "budget=updates budget.updates=N, or a shorter text",
    "overfit_batches": "validation has a text of its own; train on a short text, such as "
    "data=grammar_tiny",
    "num_sanity_val_steps": "the first validation is after trainer.val_check_interval updates",
    "enable_progress_bar": "the terminal shows the progress itself",
    "logger": "choose logger=NAME",
    "callbacks": "give +callbacks.NAME._target_=CLASS",
    "plugins": "the training has a plugin of its own, for checkpoints",
    "min_steps": "a training ends when its budget is spent; give a larger budget",
    "min_epochs": "a training ends when its budget is spent; give a larger budget",
}
"""Arguments of Lightning's trainer that do not fit this training, and what to do instead."""


def check_trainer(config: DictConfig) -> None:
    """Raise ``UserError`` for an argument of Lightning's trainer that does not fit."""
    for name, remedy in INSTEAD.items():
        if value := config.trainer.get(name):
            raise UserError(f"trainer.{name}={value}: {remedy.format(value)}")


def check_callbacks(config: DictConfig) -> None:
    """Raise ``UserError`` for a callback without a class, or one that does not fit."""
    for name, node in config.callbacks.items():
        setting = f"callbacks.{name}"
        if not isinstance(node, DictConfig) or "_target_" not in node:
            raise UserError(f"{setting}: give its class, +{setting}._target_=CLASS")
        if node._target_.endswith(".GradientAccumulationScheduler"):
            raise UserError(f"{setting}: set batching.pieces=N instead")
        kind = find_plug(f"{setting}._target_", node._target_, {}, Callback)
        if node.get("monitor") is not None and issubclass(kind, ModelCheckpoint | EarlyStopping):
            _check_monitor(setting, node)


def _check_monitor(setting: str, node: DictConfig) -> None:
    """Raise ``UserError`` for a callback that watches no number, or watches it the wrong way."""
    mode = MODES.get(node.monitor)
    if mode is None and not node.monitor.startswith("train/"):
        raise UserError(f"{setting}.monitor={node.monitor}: give one of {', '.join(MODES)}")
    if mode not in (None, node.get("mode", "min")):
        raise UserError(
            f"{setting}.monitor={node.monitor}: its best is its {mode}imum; set "
            f"{setting}.mode={mode}"
        )
    if node.monitor == IMPROVEMENTS and node.get("min_delta"):
        raise UserError(
            f"{setting}.min_delta={node.min_delta}: {IMPROVEMENTS} counts in ones; watch "
            f"{setting}.monitor={VAL_LOSS} with {setting}.mode=min"
        )


def build_optimizer(config: DictConfig) -> Callable[..., Optimizer]:
    """Return what makes the optimizer. Raises ``UserError``.

    ``optimizer.fused=null`` is true, except with float16's gradient scaler: a fused optimizer
    unscales gradients only in its step, after they have been clipped.
    """
    make: Callable[..., Optimizer] = build(config, "optimizer")
    if "fused" in config.optimizer and config.optimizer.fused is None:
        return partial(make, fused=not is_scaled(config.trainer.precision))
    return make


def check_optimizer(optimizer: Callable[..., Any], scheduler: Callable[..., Any]) -> None:
    """Make optimizer and scheduler once on one number, to refuse wrong settings before training.

    Raises ``UserError`` that names the group with the wrong value.
    """
    name = "optimizer"
    try:
        made = optimizer([torch.nn.Parameter(torch.zeros(1))])
        name = "scheduler"
        schedule = scheduler(made)
    except ValidationError as error:
        raise UserError(first_mistake(error, name)) from None
    except (TypeError, ValueError) as error:
        raise UserError(f"{name}: {error}; correct {name}.KEY=VALUE") from None
    if isinstance(schedule, ReduceLROnPlateau) and schedule.mode != MODES[IMPROVEMENTS]:
        raise UserError(
            f"scheduler.mode={schedule.mode}: the schedule watches {IMPROVEMENTS}, which rises; "
            "choose scheduler=plateau"
        )


def build_model(config: DictConfig, src_vocabulary: int, tgt_vocabulary: int) -> EncoderDecoder:
    """Build a variant, of the harness or of the user, for vocabularies of these sizes.

    Classes of the user are tried once. Raises ``UserError``.
    """
    find_plug("model._target_", str(config.model._target_), {}, EncoderDecoder)
    if OmegaConf.select(config, "model.tied") == "all" and not config.tokenizer.shared:
        raise UserError("model.tied=all: needs one vocabulary; set tokenizer.shared=true")
    sizes = {"src_vocabulary": src_vocabulary, "tgt_vocabulary": tgt_vocabulary}
    model: EncoderDecoder = build(config, "model", **sizes)
    for part, device in model.placement:
        if device is not None and torch.device(device).type == "meta":
            raise UserError(
                f"model.placement.{part}={device}: holds no numbers; write cpu or cuda:N"
            )
    names = ((key, str(OmegaConf.select(config, key))) for key in PLUGS)
    own = [f"{key}={name}" for key, name in names if is_own(name)]
    if own and model.device.type != "meta":  # else a model whose sizes alone matter
        try_model(", ".join(own), model)
    return model


def is_own(name: str) -> bool:
    """Return whether a setting has the dotted path of a user's class."""
    return "." in name and not name.startswith("lightning_modules.")


def build_search(config: DictConfig, model: EncoderDecoder, target: Tokenizer) -> Search:
    """Build a search; try a user's search with ``model`` first. Raises ``UserError``.

    ``target`` cuts the text of the target language.
    """
    name = config.decoding._target_
    others = NO_ARGUMENTS["decoding"]
    decoding: Any = OmegaConf.to_container(config.decoding, resolve=True)
    settings = {key: value for key, value in decoding.items() if key not in others}
    own = OmegaConf.create({"decoding": settings})
    if is_own(name):
        try_model(f"decoding._target_={name}", model, build(own, "decoding"), target)
    search: Search = build(own, "decoding")
    search.prepare(model, target)
    return search


def _device(config: DictConfig) -> torch.device:
    """Return the kind of device on which ``trainer`` computes. Raises ``UserError``."""
    return torch.device("cuda" if on_gpus(config.trainer, len(visible_gpus())) else "cpu")


def search_kernels(config: DictConfig) -> Kernels:
    """Return the kernels of a test on the trainer's device. Raises ``UserError``."""
    return kernels_of_search(config.kernels, _device(config))


def check_kernels(config: DictConfig, data: TranslationData) -> None:
    """Raise ``UserError`` for ``packed=true`` or ``capture=true`` where it does not fit."""
    if config.packed or config.capture:
        with torch.device("meta"):
            model = build_model(config, SMALL_VOCABULARY, SMALL_VOCABULARY)
        choose_kernels(config, model, data)


def choose_kernels(config: DictConfig, model: EncoderDecoder, data: TranslationData) -> Choice:
    """Return the kernels that fit a model, its batches and the trainer's device.

    Raises ``UserError`` for ``packed``, ``capture``, ``kernels`` or ``compile`` that do not fit.
    """
    asked = KernelSettings(config.kernels, config.packed, config.capture, config.compile)
    against_both = _not_forced(config) or _recomputed(config)
    work = Work(
        compiles=any(True for _ in model.layers()),
        # Six for each parameter and token: Kaplan et al. 2020 (arXiv 2001.08361), section 2.1.
        flops=6.0 * count_parameters(model) * config.batching.max_tokens,
        against_packing=against_both or data.cannot_pack() or model.cannot_pack(),
        against_capture=against_both or _divided(config) or model.cannot_capture(),
    )
    return kernels_of_training(asked, _device(config), work)


def _not_forced(config: DictConfig) -> str | None:
    """Return why the inputs of an update are not known before it, in words."""
    forcing = config.teacher_forcing
    return None if forcing.start == forcing.end == 1 else "teacher forcing below 1"


def _recomputed(config: DictConfig) -> str | None:
    """Return why a layer is more than its operators, in words."""
    if config.activation_checkpointing:
        return "activation_checkpointing=true runs the layers twice"
    return None


def _divided(config: DictConfig) -> str | None:
    """Return why forward and backward pass of an update are not one piece of work, in words."""
    trainer, pieces = config.trainer, config.batching.pieces
    if (
        world_size() > 1
        or processes(trainer, len(visible_gpus())) * trainer.get("num_nodes", 1) > 1
    ):
        return "several ranks share an update"
    if (pieces or 1) > 1:
        return f"batching.pieces={pieces} adds up the gradients of an update"
    if trainer.get("strategy", "auto") != "auto":
        return "trainer.strategy takes part in the backward pass"
    if is_scaled(trainer.precision):
        return f"trainer.precision={trainer.precision} scales the loss"
    return None


def compile_blocks(model: EncoderDecoder, mode: str | None) -> None:
    """Compile the blocks of a model with ``torch.compile``, for any sentence length.

    Raises ``UserError`` if ``torch.compile`` fails, for example without a C++ compiler.
    """
    if mode is None:
        return
    try:
        torch.compile(torch.neg, mode=mode)(torch.zeros(1))
    except RuntimeError as error:
        why = str(error).strip().splitlines()[0]
        raise UserError(f"compile={mode}: {why}; fix it, or set compile=null") from None
    torch.compiler.reset()  # kernels of an earlier job in this process count against the limit
    model.compile_blocks(mode=mode)


def recompute_layers(model: EncoderDecoder) -> None:
    """Keep only the inputs of each layer; recompute its activations in the backward pass."""
    layers = list(model.layers())
    if not layers:
        name = type(model).__name__.lower()
        log.info("activation_checkpointing=true: changes nothing for a %s", name)
    for layer in layers:  # torch's own wrapper would be a module, and rename the parameters
        layer.forward = partial(checkpoint, layer.forward, use_reentrant=False)


Text = Mapping[str, EncodedPairs] | Mapping[Split, EncodedPairs]
"""Sentence pairs by the name of their text in messages, such as ``train``."""


def check_text(config: DictConfig, model: EncoderDecoder, source: Tokenizer, text: Text) -> None:
    """Raise ``UserError`` for text that ``model``, of a run with ``config``, cannot read."""
    check_lengths(model, text)
    check_tags(config, source, text)


def check_lengths(model: EncoderDecoder, text: Text) -> None:
    """Raise ``UserError`` for sentences longer than the limit of ``model``."""
    limit = model.limit()
    if limit is None:
        return
    most_of = {"src": ("source", limit.src_tokens), "tgt": ("target", limit.tgt_tokens)}
    for part, (side, most) in most_of.items():
        lengths = {name: getattr(pairs, part).lengths for name, pairs in text.items()}
        longest, name = max((int(each.max(initial=0)) + 1, name) for name, each in lengths.items())
        if most is not None and longest > most:
            pairs = dict(text.items())[name]
            number = int(pairs.ids[np.argmax(lengths[name])]) + 1
            raise UserError(
                f"{limit.setting}={most}: the longest {name} {side} has {longest} tokens "
                f"(sentence {number} of those kept); train "
                f"with {limit.setting}={longest} or more, or shorten the text"
            )


def check_tags(config: DictConfig, source: Tokenizer, text: Text) -> None:
    """Raise ``UserError`` if the query uses the target language and a source has no language tag.

    A tag that training has not seen does not count.
    """
    if not OmegaConf.select(config, "model.query.language"):
        return
    tags = np.array([is_tag(surface) for surface in source.surfaces])
    for name, pairs in text.items():
        first = pairs.src.tokens[pairs.src.starts[pairs.src.lengths > 0]]
        without = len(pairs) - int(tags[first].sum())
        if without:
            raise UserError(
                f"model.query.language=true: {without:,} of {len(pairs):,} {name} sources do not "
                "begin with a tag of the target language that training knows, such as <2fr>; write "
                "one before each, or train with model.query.language=false"
            )
