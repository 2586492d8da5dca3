"""Corpora of real text: tables, Hugging Face datasets, test sets by name, mixtures."""

from datamodules.sources.huggingface import HuggingFaceCorpus
from datamodules.sources.mixture import MixtureCorpus
