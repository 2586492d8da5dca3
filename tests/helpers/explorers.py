"""Systems with random weights, whose vocabularies have words that a careless page would run."""

from pathlib import Path

import torch
from omegaconf import DictConfig, OmegaConf

from datamodules.tokenization import Tokenizers
from datamodules.tokenization.word_pieces import Words
from lightning_modules.training.checkpoints import TrainedModel
from lightning_modules.training.factories import build_model
from sweeps.explorer.page import Example, Explorer, ExplorerSystem
from sweeps.explorer.tracer import Tracer
from tests.helpers.pages import HOSTILE
from tests.helpers.variants import configuration

SOURCES = [" ".join(["the", "cat", "sees", *HOSTILE[:count]]) for count in (2, 3, 6, 1)]
"""Sentences that the systems know."""
SHORT = ["decoding.max_ratio=1", "decoding.max_extra=3", "decoding.beam_size=3"]
"""A search of few steps."""


def explore_config(*overrides: str) -> DictConfig:
    """The configuration of the task."""
    return configuration("task=explore", *SHORT, *overrides)


def trained_model(model: str, *overrides: str) -> TrainedModel:
    """A model of fixed random weights, as if a run had trained it."""
    words = Words.train(SOURCES, 100, 1)
    tokenizers = Tokenizers(words, words)
    config = configuration(f"model={model}", "scale=0.25", "tokenizer.shared=true", *overrides)
    OmegaConf.update(config, "languages", ["en", "fr"], force_add=True)
    torch.manual_seed(1)
    built = build_model(config, len(words), len(words))
    for parameter in built.parameters():  # larger weights make differences visible
        parameter.data.mul_(2)
    return TrainedModel(built.eval(), tokenizers, config, Path("run"))


def tracer(model: str, *overrides: str) -> Tracer:
    return Tracer(trained_model(model), explore_config(*overrides))


def explorer(*models: str) -> Explorer:
    """Systems side by side; the second has a hostile label."""
    labels = ["Bahdanau", HOSTILE[0], "Transformer"]
    systems = [
        ExplorerSystem(model, label, tracer(model))
        for model, label in zip(models, labels, strict=False)
    ]
    examples = [
        Example(10 * place, source, f"reference {place} {HOSTILE[0]}")
        for place, source in enumerate(SOURCES)
    ]
    return Explorer(systems, examples, "BeamSearch (beam_size 3)")
