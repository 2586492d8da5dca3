"""JoeyNMT on the same text and sizes: ``python -m tests.benchmarks.rivals.joey PYTHON``.

``PYTHON`` is the interpreter of an environment of its own in which ``pip install joeynmt
importlib_metadata`` has run. Prints real target tokens per second from JoeyNMT's log, medians after
the first lines.
"""

import argparse
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from datamodules.translation_data import TranslationData
from lightning_modules.training.factories import build_data
from tests.benchmarks.workloads import data_overrides
from tests.helpers.variants import configuration

UPDATES, EVERY = 40, 10
RNN: dict[str, Any] = {
    "type": "recurrent",
    "rnn_type": "lstm",
    "embeddings": {"embedding_dim": 256},
    "hidden_size": 256,
    "num_layers": 1,
    "dropout": 0.0,
}
TRANSFORMER: dict[str, Any] = {
    "type": "transformer",
    "embeddings": {"embedding_dim": 256},
    "num_layers": 3,
    "num_heads": 4,
    "hidden_size": 256,
    "ff_size": 1024,
    "dropout": 0.0,
}


def recurrent(attention: str) -> dict[str, Any]:
    """Return the model's settings: bidirectional encoder, input feeding."""
    decoder = RNN | {"attention": attention, "input_feeding": True, "init_hidden": "bridge"}
    return {"encoder": RNN | {"bidirectional": True}, "decoder": decoder}


MODELS = {
    "additive, input feeding": recurrent("bahdanau"),
    "general, input feeding": recurrent("luong"),
    "Transformer": {"encoder": TRANSFORMER, "decoder": TRANSFORMER},
}


def write_text(data: TranslationData, folder: Path) -> None:
    """Write both sides of training and validation as subwords, and their joint vocabulary."""
    _, target = data.tokenizers
    known = dict.fromkeys(surface.replace(" ", "▁") for surface in target.surfaces if surface)
    (folder / "vocabulary").write_text("\n".join(known) + "\n", encoding="utf-8")
    encoded = data.encoded_corpus.encoded
    for split in (encoded["train"], encoded["val"]):
        name = "train" if split is encoded["train"] else "val"
        for side, sequences, tokenizer in (
            ("src", split.src, data.tokenizers.source),
            ("trg", split.tgt, data.tokenizers.target),
        ):
            words = [surface.replace(" ", "▁") for surface in tokenizer.surfaces]
            lines = (
                " ".join(words[token] for token in sequences.tokens[start : start + length])
                for start, length in zip(sequences.starts, sequences.lengths, strict=True)
            )
            (folder / f"{name}.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")


def settings(model: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return a configuration of JoeyNMT 2.3."""
    side = {"level": "word", "lowercase": False, "max_length": 200}
    side |= {"voc_file": str(folder / "vocabulary")}
    return {
        "name": "benchmark",
        "joeynmt_version": "2.3.0",
        "model_dir": str(folder / "model"),
        "use_cuda": False,
        "random_seed": 1,
        "data": {
            "train": str(folder / "train"),
            "dev": str(folder / "val"),
            "dataset_type": "plain",
            "src": side | {"lang": "src"},
            "trg": side | {"lang": "trg"},
        },
        "testing": {"beam_size": 1, "batch_size": 10, "batch_type": "sentence"},
        "training": {
            "optimizer": "adam",
            "scheduling": "exponential",
            "decrease_factor": 1.0,
            "learning_rate": 0.001,
            "normalization": "tokens",
            "label_smoothing": 0.1,
            "clip_grad_norm": 1.0,
            "batch_size": 2048,
            "batch_type": "token",
            "loss": "crossentropy",
            "updates": UPDATES,
            "epochs": 10,
            "validation_freq": 100_000,
            "logging_freq": EVERY,
            "overwrite": True,
            "shuffle": True,
        },
        "model": {"initializer": "xavier_uniform", "bias_initializer": "zeros", **model},
    }


def rate(python: str, model: dict[str, Any], folder: Path) -> float:
    """Train and return the median of the logged rates."""
    file = folder / "config.yaml"
    file.write_text(json.dumps(settings(model, folder)))  # JSON is YAML too
    command = [python, "-m", "joeynmt", "train", str(file), "--skip-test"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    output = done.stdout + done.stderr
    rates = [float(digits) for digits in re.findall(r"Tokens per Sec:\s+(\d+)", output)]
    if len(rates) < 3:
        raise RuntimeError(output[-3000:])
    return median(rates[1:])


def main() -> None:
    """Print a line for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python")
    options = parser.parse_args()
    data = build_data(configuration(*data_overrides()))
    with tempfile.TemporaryDirectory() as name:
        write_text(data, Path(name))
        for title, model in MODELS.items():
            speed = rate(options.python, model, Path(name))
            print(f"{title}: {speed:,.0f} tokens/s", flush=True)


if __name__ == "__main__":
    main()
