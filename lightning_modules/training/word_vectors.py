"""Pretrained word vectors in place of random embeddings."""

import logging
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from omegaconf import DictConfig
from torch import nn

from datamodules.errors import UserError
from datamodules.lines import read_blocks
from datamodules.tokenization import Tokenizer, Tokenizers
from lightning_modules.runs.checksums import digest
from lightning_modules.runs.schema import Coverage
from lightning_modules.variants import EmbeddedEncoderDecoder, EncoderDecoder

log = logging.getLogger(__name__)

Vector = NDArray[np.float32]
LINES = 1_000  # lines of a file that are read at once
SIDES = {"source": "src_embedding", "target": "tgt_embedding"}


def vector_files(config: DictConfig) -> dict[str, Path]:
    """Return the files of ``config.vectors`` by side."""
    return {side: Path(str(path)) for side in SIDES if (path := config.vectors[side]) is not None}


def freeze(model: EncoderDecoder, config: DictConfig) -> None:
    """If ``vectors.frozen``, switch off training of the embeddings that have a file.

    Raises ``UserError`` without a file, or for embeddings that are tied to the output layer, or for
    a model without embeddings.
    """
    if not config.vectors.frozen:
        return
    files = vector_files(config)
    if not files:
        raise UserError("vectors.frozen=true: give vectors.source=FILE or vectors.target=FILE")
    embedded = _with_tables(model)
    for side in files:
        table: nn.Embedding = getattr(embedded, SIDES[side])
        if table.weight is embedded.output.weight:
            raise UserError(
                f"vectors.frozen=true: the {side} embeddings are the output layer too, which must "
                "learn; set model.tied=none or vectors.frozen=false"
            )
        table.weight.requires_grad_(False)


def load_vectors(
    model: EncoderDecoder, tokenizers: Tokenizers, config: DictConfig
) -> dict[str, Coverage]:
    """Put the vectors of ``config.vectors`` into the embeddings; return the coverage by side.

    The files are in the text format of GloVe or word2vec, plain or compressed. Raises ``UserError``
    for a file that cannot be used.
    """
    files = vector_files(config)
    if not files:
        return {}
    width_key = "model.embedding_size" if "embedding_size" in config.model else "model.width"
    embedded = _with_tables(model)
    if embedded.src_embedding is embedded.tgt_embedding and len(set(files.values())) > 1:
        raise UserError(
            "model.tied=all: one table serves both languages; give one file as vectors.source and "
            "vectors.target, or set model.tied=output"
        )
    return {
        side: _load(embedded, getattr(tokenizers, side), side, path, width_key)
        for side, path in files.items()
    }


def _with_tables(model: EncoderDecoder) -> EmbeddedEncoderDecoder:
    if isinstance(model, EmbeddedEncoderDecoder):
        return model
    raise UserError(
        f"vectors: {type(model).__name__} has no table of embeddings for them; set "
        "vectors.source=null and vectors.target=null"
    )


def _load(
    model: EmbeddedEncoderDecoder, tokenizer: Tokenizer, side: str, path: Path, width_key: str
) -> Coverage:
    table: nn.Embedding = getattr(model, SIDES[side])
    setting = f"vectors.{side}"
    words = {token: word for token, word in enumerate(tokenizer.surfaces) if word}
    wanted = {form for word in words.values() for form in (word, word.lower())}
    vectors = read_vectors(path, wanted, table.embedding_dim, setting, width_key)
    matches: dict[int, Vector] = {}
    for token, word in words.items():
        form = word if word in vectors else word.lower()
        if form in vectors:
            matches[token] = vectors[form]
    if not matches:
        raise UserError(
            f"{setting}={path}: has none of the vocabulary's {len(words):,} tokens; give a file of "
            f"the {side} language"
        )
    with torch.no_grad():
        # The model multiplies embeddings by this scale; the product is the vector of the file.
        rows = torch.from_numpy(np.stack(list(matches.values()))) / model.embedding_scale
        table.weight[list(matches)] = rows.to(table.weight.device)
    share = f"{len(matches):,} of {len(words):,} tokens covered ({len(matches) / len(words):.1%})"
    log.info("%s: %s", setting, share)
    return Coverage(
        file=str(path),
        covered=len(matches),
        missing=len(words) - len(matches),
        fingerprint=fingerprint(path),
    )


def fingerprint(path: Path) -> str | None:
    """Return a hash of a file, twelve hexadecimal digits; None for an unreadable file."""
    try:
        return digest(path)[:12]
    except OSError:
        return None


def read_vectors(
    path: Path, wanted: set[str], width: int, setting: str, width_key: str
) -> dict[str, Vector]:
    """Return the vectors, ``(width,)`` each, of the ``wanted`` words that a file has.

    A word ends at the first space. Lines with too many fields are skipped: GloVe.840B has words
    with spaces, and no token has a space inside. If a word has several lines, the first counts.
    Raises ``UserError``, which names ``setting`` or ``width_key``.
    """
    file = f"{setting}={path}"
    vectors: dict[str, Vector] = {}
    lines = chain.from_iterable(read_blocks(path, setting, LINES))
    for number, line in enumerate(lines, 1):
        if number == 1 and _is_header(line, width, file, width_key):
            continue
        word, _, numbers = line.partition(" ")
        if word not in wanted or word in vectors:
            continue
        fields = numbers.split()
        if len(fields) <= width:
            vectors[word] = _vector(fields, width, f"{file}: line {number}")
    return vectors


def _is_header(first: str, width: int, file: str, width_key: str) -> bool:
    """Return whether the first line is a header of word2vec: number of words, then width.

    Raises ``UserError`` for another width than that of the model.
    """
    fields = first.split()
    header = len(fields) == 2 and all(field.isdigit() for field in fields)
    file_width = int(fields[1]) if header else len(fields) - 1
    if file_width < 1:
        raise UserError(f"{file}: line 1 is not a word and {width} numbers; fix the file")
    if file_width != width:
        raise UserError(
            f"{file}: its vectors have {file_width} numbers, the embeddings {width}; set "
            f"{width_key}={file_width} or give another file"
        )
    return header


def _vector(fields: list[str], width: int, where: str) -> Vector:
    try:
        vector = np.array([float(field) for field in fields], np.float32)
    except ValueError:
        vector = np.array([])
    if len(vector) != width or not np.isfinite(vector).all():
        raise UserError(f"{where} is not a word and {width} numbers; fix the file")
    return vector
