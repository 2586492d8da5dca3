"""Recurrent encoder-decoders: with and without attention, from 2014 to Luong and beyond."""

from lightning_modules.variants.recurrent.model import Recurrent

__all__ = ["Recurrent"]
