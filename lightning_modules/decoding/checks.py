"""Check of a user's search on two small sources, before a model trains or translates with it."""

import torch

from datamodules.errors import UserError
from datamodules.tokenization import EOS, PAD, UNK
from lightning_modules.decoding.search import Search
from lightning_modules.variants.base import EncoderDecoder


def check_search(setting: str, search: Search, model: EncoderDecoder) -> None:
    """Translate two sources of different length, without a change of weights or random numbers.

    Args:
        setting: key and value of the configuration, for messages.
        search: the search to check.
        model: any variant, trained or not.

    Raises:
        UserError: for a search that raises an error, or that finds no hypothesis for a source.
    """
    name, was_training = type(search).__name__, model.training
    src = torch.tensor([[UNK, UNK, EOS], [UNK, EOS, PAD]], device=model.device)
    devices = [model.device] if model.device.type == "cuda" else []
    model.eval()
    try:
        with torch.random.fork_rng(devices):
            translated = search(model, src, src != PAD)
        counts = [len(hypotheses) for hypotheses in translated]
    except Exception as error:  # a user's class may raise anything
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise UserError(f"{setting}: {name} cannot translate: {why}") from error
    finally:
        model.train(was_training)
    if len(counts) != len(src) or 0 in counts:
        raise UserError(
            f"{setting}: {name} returns {counts} hypotheses for {len(src)} sources; "
            "return at least one hypothesis for each source"
        )
