"""Recurrent encoder-decoders with and without attention, as published since 2014."""

from lightning_modules.variants.recurrent.cells import RecurrentCell
from lightning_modules.variants.recurrent.model import Recurrent
