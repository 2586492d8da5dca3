"""The Transformer family: Vaswani et al. 2017 (arXiv 1706.03762) and what varies it."""

from lightning_modules.variants.transformer.model import Transformer
from lightning_modules.variants.transformer.positions import sinusoids

__all__ = ["Transformer", "sinusoids"]
