"""Corpora of real text: tables, Hugging Face datasets, test sets by name, mixtures."""

from datamodules.huggingface import HuggingFaceCorpus
from datamodules.mixture import MixtureCorpus
