"""How fast CTranslate2 translates: ``PYTHON ctranslate2_rates.py FOLDER TOKENS`` (JSON).

This file imports nothing of the harness, so that ``PYTHON`` may be the interpreter of an
environment of its own in which ``pip install ctranslate2`` has run. ``FOLDER`` has a model and the
file ``sources.json``; every hypothesis has ``TOKENS`` tokens.
"""

import json
import sys
import time
from pathlib import Path
from statistics import median

import ctranslate2

BEAMS = {"greedy": 1, "beam": 5}
TYPES = {"float32": "float32", "int8": "int8_float32"}
BATCH_TOKENS = 2048
"""Tokens of a batch, sorted by length: faster here than 8,192 with integers, and as fast in
float32."""


def rate(
    translator: ctranslate2.Translator, sources: list[list[str]], beam: int, tokens: int
) -> float:
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
    return median(measured)


def main() -> None:
    folder, tokens = Path(sys.argv[1]), int(sys.argv[2])
    sources = json.loads((folder / "sources.json").read_text())
    rates = {}
    for kind, name in TYPES.items():
        translator = ctranslate2.Translator(
            str(folder), compute_type=name, inter_threads=1, intra_threads=1
        )
        for search, beam in BEAMS.items():
            rates[f"{search}, {kind}"] = rate(translator, sources, beam, tokens)
    print(json.dumps(rates))


if __name__ == "__main__":
    main()
