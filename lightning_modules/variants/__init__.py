"""The variants under comparison: one package for each family, all with one interface."""

from lightning_modules.variants.base import EmbeddedEncoderDecoder, EncoderDecoder, count_parameters
from lightning_modules.variants.ensemble import Ensemble
from lightning_modules.variants.recurrent.cells import RecurrentCell
from lightning_modules.variants.recurrent.model import Recurrent
from lightning_modules.variants.transformer.model import Transformer
