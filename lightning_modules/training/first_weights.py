"""The first weights of a training, from another run, and the parameters that keep them."""

import hashlib
import logging
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

import torch
from omegaconf import DictConfig
from torch import Tensor, nn

from datamodules.errors import UserError
from datamodules.tokenization import SPECIALS, Tokenizer, Tokenizers
from lightning_modules.runs.paths import TOKENIZERS, checkpoint_file
from lightning_modules.runs.schema import FirstWeights
from lightning_modules.training.checkpoints import load_tokenizers, model_weights, read_checkpoint
from lightning_modules.variants import EmbeddedEncoderDecoder, EncoderDecoder

log = logging.getLogger(__name__)

TABLES = {
    "source": ("src_embedding.weight",),
    "target": ("tgt_embedding.weight", "output.weight", "output.bias"),
}
"""Tensors with a row for each token, by the side of its vocabulary."""
SHOWN = 5  # names in a line


class Source(NamedTuple):
    """The weights of a run, and the vocabularies of their rows."""

    weights: Mapping[str, Tensor]
    tokenizers: Tokenizers

    @property
    def fingerprint(self) -> str:
        """Return a hash of the weights and their names, twelve hexadecimal digits."""
        found = hashlib.sha256()
        for name, tensor in sorted(self.weights.items()):
            found.update(f"{name} {tuple(tensor.shape)} ".encode())
            found.update(tensor.flatten().contiguous().view(torch.uint8).numpy().tobytes())
        return found.hexdigest()[:12]


def read_source(path: str) -> Source:
    """Read the best weights of a run. Raises ``UserError`` for files that cannot be used."""
    file = checkpoint_file(path, "init_from")
    content = read_checkpoint(file)
    kind = content["hyper_parameters"]["tokenizer"]["kind"]
    return Source(model_weights(content), load_tokenizers(file.parents[1] / TOKENIZERS, kind))


def take_weights(
    model: EncoderDecoder, tokenizers: Tokenizers, config: DictConfig
) -> FirstWeights | None:
    """Put the weights of ``config.init_from`` into a model; return what was taken, None without.

    A tensor takes the weights of the same name and shape; a table of embeddings and the output
    layer take the rows of the tokens that both vocabularies have. All else stays random. Raises
    ``UserError`` if nothing fits.
    """
    if config.init_from is None:
        return None
    source = read_source(config.init_from)
    tied = set(_names(model)) - {name for name, _ in model.named_parameters()}
    own = {name: tensor for name, tensor in model.state_dict().items() if name not in tied}
    rows = _rows(model, tokenizers, source.tokenizers)
    taken, tokens = set[str](), dict[str, tuple[int, int]]()
    for name in own.keys() & source.weights.keys():
        here, given = own[name], source.weights[name]
        if name in rows and given.shape[1:] == here.shape[1:]:
            ours, theirs = rows[name]
            here[ours] = given[theirs].to(here)
            tokens[name] = len(ours), len(here)
        elif name not in rows and given.shape == here.shape:
            here.copy_(given)
        else:
            continue
        taken.add(name)
    if not taken:
        raise UserError(
            f"init_from={config.init_from}: none of its weights fits this model; give a run of a "
            "model with equal sizes"
        )
    found = FirstWeights(
        run=str(config.init_from),
        fingerprint=source.fingerprint,
        taken=len(taken),
        at_random=sorted(own.keys() - taken),
        left=sorted(source.weights.keys() - taken - tied),
        tokens=dict(sorted(tokens.items())),
    )
    log.info("init_from=%s: %s", found.run, _in_words(found))
    return found


def _rows(
    model: EncoderDecoder, ours: Tokenizers, theirs: Tokenizers
) -> dict[str, tuple[list[int], list[int]]]:
    """Return the rows of the tokens that both vocabularies have, here and there, by table."""
    if not isinstance(model, EmbeddedEncoderDecoder):
        return {}
    sides = zip(TABLES.values(), ours, theirs, strict=True)
    return {name: _shared(*tokenizers) for names, *tokenizers in sides for name in names}


def _shared(own: Tokenizer, other: Tokenizer) -> tuple[list[int], list[int]]:
    specials = list(range(len(SPECIALS)))
    pieces = [piece for piece in own.numbers if piece in other.numbers]
    return (
        specials + [own.numbers[piece] for piece in pieces],
        specials + [other.numbers[piece] for piece in pieces],
    )


def _in_words(found: FirstWeights) -> str:
    parts = [f"{found.taken} of {found.taken + len(found.at_random)} parameters start from it"]
    for name, (rows, count) in found.tokens.items():
        if rows < count:
            parts.append(f"{name} for {rows:,} of {count:,} tokens")
    if found.at_random:
        parts.append(f"at random: {_listed(found.at_random)}")
    if found.left:
        parts.append(f"not used: {_listed(found.left)}")
    return "; ".join(parts)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def freeze(model: nn.Module, patterns: Sequence[str]) -> None:
    """Switch off the training of parameters by names, beginnings of names or patterns.

    Raises ``UserError`` for a pattern that fits no name, and if nothing is left to train.
    """
    names = _names(model)
    for pattern in patterns:
        fitting = [
            name
            for name in names
            if fnmatchcase(name, pattern) or name.startswith(f"{pattern.rstrip('.')}.")
        ]
        if not fitting:
            raise UserError(
                f"freeze={pattern}: fits no parameter of this model; its names are "
                f"{_listed(sorted(names))}"
            )
        for name in fitting:
            names[name].requires_grad_(False)
    if patterns and not any(parameter.requires_grad for parameter in names.values()):
        raise UserError(f"freeze=[{','.join(patterns)}]: leaves nothing to train; freeze less")


def _names(model: nn.Module) -> dict[str, nn.Parameter]:
    """Return the parameters by all of their names: a shared table has several."""
    return dict(model.named_parameters(remove_duplicate=False))
