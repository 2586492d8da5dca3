"""The Transformer of Vaswani et al. 2017 (arXiv 1706.03762) and later variants."""

from lightning_modules.variants.transformer.heads import sinusoids
from lightning_modules.variants.transformer.model import Transformer
