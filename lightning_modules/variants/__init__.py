"""The variants under comparison, one package for each family, behind one interface."""

from lightning_modules.variants.base import EncoderDecoder
from lightning_modules.variants.recurrent import Recurrent
from lightning_modules.variants.transformer import Transformer

__all__ = ["EncoderDecoder", "Recurrent", "Transformer"]
