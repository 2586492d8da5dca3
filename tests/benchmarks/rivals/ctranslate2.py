"""CTranslate2 with the same weights, sources and lengths as the harness's searches."""

import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import ctranslate2

from datamodules.batching import Batch
from lightning_modules.decoding.ctranslate2_model import write_model
from lightning_modules.variants.transformer import Transformer

BEAMS = {"greedy": 1, "beam": 5}
TYPES = {"float32": "float32", "int8": "int8_float32"}
BATCH_TOKENS = 2048
"""Tokens of a batch, sorted by length: faster here than 8,192 with integers, and as fast in
float32."""


def rates(model: Transformer, batches: list[Batch], tokens: int) -> dict[str, float]:
    """Return sentences per second by search and type, with hypotheses of so many tokens."""
    sources = [
        [str(token) for token in row[mask].tolist()]
        for batch in batches
        for row, mask in zip(batch.src, batch.src_mask, strict=True)
    ]
    figures = {}
    with TemporaryDirectory() as folder:
        write_model(ctranslate2, model, 512, Path(folder))
        for kind, name in TYPES.items():
            translator = ctranslate2.Translator(
                folder, compute_type=name, inter_threads=1, intra_threads=1
            )
            for search, beam in BEAMS.items():
                measured = []
                for _ in range(3):
                    started = time.perf_counter()
                    results = translator.translate_batch(
                        sources,
                        beam_size=beam,
                        max_batch_size=BATCH_TOKENS,
                        batch_type="tokens",
                        min_decoding_length=tokens,
                        max_decoding_length=tokens,
                    )
                    measured.append(len(sources) / (time.perf_counter() - started))
                    assert all(len(result.hypotheses[0]) == tokens for result in results)
                figures[f"{search}, {kind}"] = median(measured)
    return figures
