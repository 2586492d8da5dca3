"""CTranslate2 with the same weights, sources and lengths as the harness's searches."""

import json
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import ctranslate2

from datamodules.batching import Batch
from lightning_modules.decoding.ctranslate2_engine import write_model
from lightning_modules.variants import Transformer

SCRIPT = Path(__file__).with_name("ctranslate2_rates.py")


def rates(model: Transformer, batches: list[Batch], tokens: int, python: str) -> dict[str, float]:
    """Return sentences per second by search and type, with hypotheses of so many tokens."""
    sources = [
        [str(token) for token in row[mask].tolist()]
        for batch in batches
        for row, mask in zip(batch.src, batch.src_mask, strict=True)
    ]
    with TemporaryDirectory() as folder:
        write_model(ctranslate2, model, 512, Path(folder))
        (Path(folder) / "sources.json").write_text(json.dumps(sources))
        done = subprocess.run(
            [python, SCRIPT, folder, str(tokens)], stdout=subprocess.PIPE, check=True
        )
    figures: dict[str, float] = json.loads(done.stdout)
    return figures
