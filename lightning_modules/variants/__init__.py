"""The variants under comparison, one file for each family, behind one interface."""

from lightning_modules.variants.bahdanau import Bahdanau
from lightning_modules.variants.base import EncoderDecoder
from lightning_modules.variants.luong import Luong
from lightning_modules.variants.seq2seq import Seq2Seq
from lightning_modules.variants.transformer import Transformer

__all__ = ["Bahdanau", "EncoderDecoder", "Luong", "Seq2Seq", "Transformer"]
