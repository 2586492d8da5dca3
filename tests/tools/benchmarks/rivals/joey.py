"""JoeyNMT on the same text and sizes: ``python -m tests.tools.benchmarks.rivals.joey PYTHON``.

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
from tests.helpers.variants import configuration
from tests.tools.benchmarks.workloads import data_overrides

UPDATES, EVERY = 40, 10


def recurrent(attention: str, width: int) -> dict[str, Any]:
    """Return the model's settings: LSTMs, bidirectional encoder, input feeding."""
    layer = {
        "type": "recurrent",
        "rnn_type": "lstm",
        "embeddings": {"embedding_dim": width},
        "hidden_size": width,
        "num_layers": 1,
        "dropout": 0.0,
    }
    decoder = layer | {"attention": attention, "input_feeding": True, "init_hidden": "bridge"}
    return {"encoder": layer | {"bidirectional": True}, "decoder": decoder}


def transformer(width: int, hidden: int, layers: int, **settings: Any) -> dict[str, Any]:
    """Return the model's settings: as many layers on both sides, four heads."""
    side = {
        "type": "transformer",
        "embeddings": {"embedding_dim": width},
        "num_layers": layers,
        "num_heads": 4,
        "hidden_size": width,
        "ff_size": hidden,
        "dropout": 0.0,
        **settings,
    }
    return {"encoder": side, "decoder": side}


MODELS = {
    "additive, input feeding": recurrent("bahdanau", 256),
    "general, input feeding": recurrent("luong", 256),
    "Transformer": transformer(256, 1024, 3),
}


def write_text(data: TranslationData, folder: Path) -> None:
    """Write both sides of each split as numbers of subwords, and their joint vocabulary.

    Numbers, since the letters of a subword do not tell whether the subword begins a word.
    """
    numbers = "\n".join(map(str, range(len(data.tokenizers.target))))
    (folder / "vocabulary").write_text(numbers + "\n", encoding="utf-8")
    for name, split in data.encoded_corpus.encoded.items():
        for side, sequences in zip(("src", "trg"), split.sides, strict=True):
            lines = (
                " ".join(map(str, sequences.tokens[start : start + length].tolist()))
                for start, length in zip(sequences.starts, sequences.lengths, strict=True)
            )
            (folder / f"{name}.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")


def settings(model: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return a configuration of JoeyNMT 2.3 on the files of ``write_text``."""
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
