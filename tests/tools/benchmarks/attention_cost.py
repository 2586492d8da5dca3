"""What global attention costs a two-layer RNN whose whole target is decoded in one pass.

``python -m tests.tools.benchmarks.attention_cost``: the models take turns, one thread, medians.
"""

import time
from collections.abc import Callable
from statistics import median

import torch

from lightning_modules.training.factories import build_model
from lightning_modules.variants import EncoderDecoder
from tests.helpers.variants import configuration

VOCABULARY = 8000
BATCH, SRC, TGT = 64, 30, 30
ROUNDS = 15
SETTINGS = ["model.layers=2", "model.input_feeding=false", "model.hidden_size=256"]
SETTINGS += ["model.encoder.hidden_size=128", "model.embedding_size=256", "model.readout.size=256"]
MODELS = {
    "no attention": ["model=luong_global", *SETTINGS, "model.attention=null"],
    "global dot": ["model=luong_global", *SETTINGS],
    "global general": ["model=luong_general", *SETTINGS],
    "local-m general": ["model=luong_local", *SETTINGS],
    "local-p general": ["model=luong_predictive", *SETTINGS],
    "global dot, input feeding": ["model=luong_global", *SETTINGS, "model.input_feeding=true"],
}


def passes(model: EncoderDecoder) -> dict[str, Callable[[], None]]:
    """Return the passes to time: teacher forcing alone, with its gradient, and a whole update."""
    src = torch.randint(4, VOCABULARY, (BATCH, SRC))
    mask = torch.ones_like(src, dtype=torch.bool)
    tgt = torch.randint(4, VOCABULARY, (BATCH, TGT))

    def forward() -> None:
        with torch.no_grad():
            model.decode(model.encode(src, mask), tgt)

    def backward() -> None:
        model.decode(model.encode(src, mask), tgt).features.sum().backward()

    def whole() -> None:
        features = model.decode(model.encode(src, mask), tgt).features
        logits = model.logits(features).flatten(0, 1)
        torch.nn.functional.cross_entropy(logits, tgt.flatten()).backward()

    return {"forward": forward, "and backward": backward, "with the output layer": whole}


def seconds(run: Callable[[], None]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    models = {
        name: passes(build_model(configuration(*overrides), VOCABULARY, VOCABULARY).train())
        for name, overrides in MODELS.items()
    }
    times: dict[tuple[str, str], list[float]] = {}
    for number in range(ROUNDS + 2):
        for name, runs in models.items():
            for kind, run in runs.items():
                taken = seconds(run)
                if number >= 2:  # the first rounds warm up
                    times.setdefault((name, kind), []).append(taken)
    for name, runs in models.items():
        cells = []
        for kind in runs:
            taken, bare = median(times[name, kind]), median(times["no attention", kind])
            cells.append(f"{kind} {1000 * taken:7.1f} ms {taken / bare:5.2f} ×")
        print(f"{name:26}", "   ".join(cells))


if __name__ == "__main__":
    main()
